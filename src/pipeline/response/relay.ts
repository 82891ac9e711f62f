/** Forwards a response that nothing reads. */
import { isEventStream, valueOf } from '../response-head.js'
import type { Body, ResponseDriver } from './driver.js'

export function relayed (driver: ResponseDriver, status: number, headers: string[], shown: readonly string[]): RelayedBody {
  return new RelayedBody(driver, status, headers, isEventStream(valueOf(headers, 'content-type')), shown)
}

/** Forwards the agent's bytes as they arrive. */
export class RelayedBody implements Body {
  private readonly driver: ResponseDriver
  /** Bytes of the body, from the head; -1 when unknown. */
  private readonly length: number
  private whole: Buffer | null = null

  constructor (driver: ResponseDriver, status: number, headers: string[], stream: boolean, shown: readonly string[]) {
    this.driver = driver
    this.length = stream ? -1 : Number(valueOf(headers, 'content-length') ?? -1)
    driver.begin(status, headers, stream, shown)
  }

  chunk (bytes: Buffer): boolean {
    if (bytes.length !== this.length) return this.driver.write(bytes)
    // The whole body in one chunk goes out together with the end.
    this.whole = bytes
    return true
  }

  end (): void {
    const { driver, whole } = this
    if (whole === null) return driver.finish([])
    driver.schedule('respond', () => { if (!driver.gone) driver.finish([whole]) })
  }

  failed (report: () => void): void {
    report()
  }
}
