/** The interface between the machine for gRPC responses and the front that drives it. */
import type { ResponseDriver } from './driver.js'

/**
 * Effects of the machine. `begin` always has status 200. `finish` is never called. `reject` and `unusable` may follow `begin`: the front
 * then ends the response with the trailers of the rejection.
 */
export interface GrpcResponseDriver extends ResponseDriver {
  /**
   * Ends the response.
   * @param rest its last bytes
   * @param trailers flat list of lower-case names and values, with `grpc-status`
   * @param code the value of `grpc-status`
   */
  trailers (rest: readonly Buffer[], trailers: string[], code: number): void
  /** Sends a response without messages: one HEADERS frame that ends the stream. @param headers with `grpc-status` */
  trailersOnly (headers: string[], code: number): void
}

/** Handles the messages after the head. */
export interface GrpcBody {
  /** @returns false to pause the agent */
  chunk (bytes: Buffer): boolean
  /** The agent's trailers have arrived; the envelope has them. */
  end (): void
  /** @param report ends the call; called once, at once or when all that came before has gone out */
  failed (report: () => void): void
}
