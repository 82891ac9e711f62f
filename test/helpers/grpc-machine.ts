/** Drives the machine for gRPC responses by hand, and records its effects. */
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { Operation } from '#a2a/operations.js'
import type { Version } from '#a2a/versions.js'
import type { GrpcResponseDriver } from '#pipeline/response/grpc-driver.js'
import type { EvaluationPlan, ResponseDriver, ResponsePlan } from '#pipeline/response/driver.js'
import type { EchoPlan } from '#pipeline/echo.js'
import { GrpcResponseMachine } from '#pipeline/grpc-response.js'
import { GrpcDeframer, grpcFrame } from '#wire/grpc/deframer.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { NO_POLICY, STILL } from './response-driver.js'

export const ECHO: EchoPlan = { policy: NO_POLICY, headerName: 'a2a-extensions', requested: [], outbound: [], injected: [], active: [], forbidden: null }
export const HEAD = [':status', '200', 'content-type', 'application/grpc']
export const OK = ['grpc-status', '0']

export interface Recorded {
  readonly machine: GrpcResponseMachine
  /** Effects in order, with the values that tests compare. */
  readonly done: string[]
  head: string[]
  trailers: string[]
  /** Bytes that the client gets. */
  readonly sent: Buffer
  /** The messages that the client gets, as ProtoJSON. */
  readonly messages: unknown[]
  /** A frame of the agent. */
  frame (value: Record<string, unknown>): Buffer
}

export interface DriveOptions {
  readonly operation?: Operation
  readonly version?: Version
  readonly plan?: Partial<Omit<ResponsePlan, 'evaluation'>>
  readonly evaluator?: EvaluationPlan['evaluator']
  readonly limits?: EvaluationPlan['limits']
  readonly driver?: Partial<ResponseDriver>
}

const LIMITS = { depth: 100, members: 10_000 }

export function drive ({ operation = 'SendMessage', version = '1.0', plan, evaluator, limits, driver: own }: DriveOptions = {}): Recorded {
  const method = grpcMethodFor(operation, version)
  if (method === null) throw new Error(`${version} has no ${operation}`)
  const written: Buffer[] = []
  const done: string[] = []
  const driver: GrpcResponseDriver = {
    ...STILL,
    begin: (status, headers, stream) => { done.push(`begin ${status}${stream ? ' stream' : ''}`); recorded.head = headers },
    write: bytes => { done.push('write'); written.push(bytes); return true },
    finish: () => { done.push('finish') },
    trailers: (rest, trailers, code) => {
      done.push(`trailers ${code}`)
      written.push(...rest)
      recorded.trailers = trailers
    },
    trailersOnly: (headers, code) => { done.push(`only ${code}`); recorded.head = headers },
    reject: ({ rule }) => { done.push(`reject ${rule}`) },
    unusable: (why, status) => { done.push(`${why} ${status}`) },
    resume: () => { done.push('resume') },
    echoed: (_plan, echoed) => { done.push(`echoed ${echoed.join(' ')}`) },
    unreadable: reason => { done.push(`unreadable ${reason}`) },
    fault: error => { done.push(`fault ${error instanceof Error ? error.name : ''}`) },
    ...own
  }
  const full: ResponsePlan = {
    echo: ECHO,
    card: null,
    evaluation: evaluator === undefined ? null : { evaluator, limits: limits ?? { response: 10_000, event: 10_000 } },
    anyPage: false,
    ...plan
  }
  const recorded: Recorded = {
    machine: new GrpcResponseMachine(full, driver, method),
    done,
    head: [],
    trailers: [],
    get sent () { return Buffer.concat(written) },
    get messages () {
      return new GrpcDeframer(1_000_000).feed(Buffer.concat(written)).map(({ bytes }) => {
        const read = readProtobuf(bytes, method.response, LIMITS, true)
        return read.ok ? read.value : read.problem.message
      })
    },
    frame: value => grpcFrame(writeProtobuf(value, method.response))
  }
  return recorded
}
