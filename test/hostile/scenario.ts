/** Scenario files: what they may say, and how they are read. One attack a file, with what is promised. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import type { Bytes } from './bytes.js'
import { inTests } from '../helpers/paths.js'

export interface Scenario {
  /** What is done, as a sentence; the name of the test. */
  readonly name: string
  /** RFC, CWE or advisory, and what goes wrong where it is not held. */
  readonly why: string
  readonly gateway: GatewayPart
  readonly agent: AgentPart
  readonly client: readonly Step[]
  /** So many clients do it at once; default 1. */
  readonly clients: number
  readonly promise: Promised
}

/** Placeholders in all texts: `{agent}` and `{gateway}` their URLs, `{cardFile}` a file with the agent's plain card. */
export interface GatewayPart {
  /** More keys of the agent. */
  readonly agent?: Readonly<Record<string, unknown>>
  /** More root keys. */
  readonly root?: Readonly<Record<string, unknown>>
  /** The agents altogether, instead of one in front of the raw agent. */
  readonly agents?: readonly unknown[]
}

export interface AgentPart {
  /** Answers to requests for the card, one after the other; the last one stays. Default: a plain card. */
  readonly cards?: readonly CardReply[]
  /** To every call but the healthy ones. */
  readonly answer?: Reply
}

export interface Reply {
  /** All of the answer, head and body. */
  readonly raw?: Bytes
  readonly status?: number
  /** Lines; default content-type: application/json. */
  readonly headers?: readonly Bytes[]
  readonly body?: Bytes
  /** Default length. */
  readonly framing?: 'length' | 'chunked' | 'none'
  /** Sent after the rest again and again, as fast as it is taken, each a chunk where the framing is chunked. */
  readonly forever?: Bytes
  /** ms between two pieces of `forever`. */
  readonly every?: number
  /** The agent closes the connection after it. */
  readonly close?: boolean
  /** The agent says nothing. */
  readonly hang?: boolean
}

export interface CardReply extends Reply {
  /** Members laid over those of the plain card. */
  readonly members?: Readonly<Record<string, unknown>>
  /** More members as text, where values are to be made: with a leading comma. */
  readonly text?: Bytes
}

export type Step =
  | { readonly send: Bytes }
  /** Byte by byte, or by `size`, `every` so many ms, until all is sent or the connection is closed. */
  | { readonly trickle: Bytes, readonly every: number, readonly size?: number }
  /** Until the agent has so many requests. */
  | { readonly agentGot: number }
  /** Until so many answers have come. */
  | { readonly answered: number }
  /** Until nothing more of what the agent sends has been taken for a while. */
  | { readonly agentStuck: true }
  | { readonly reading: boolean }
  /** Half closed: nothing more will be sent. */
  | { readonly end: true }
  | { readonly abort: true }

export interface Promised {
  /** Exactly these, for each client, in this order. */
  readonly answers: readonly PromisedAnswer[]
  /** Whether the gateway closes the connection. Left out: either. */
  readonly closed?: boolean
  /** Exactly these arrive, in this order; with several clients, from each. `any`: how many is nobody's promise. */
  readonly agent: 'any' | readonly PromisedRequest[]
  /** Requests for a card that the agent got at the most. */
  readonly cardRequests?: number
  /** The connection of the call to the agent is closed by the gateway. */
  readonly agentClosed?: boolean
  /** Bytes that the agent could send at the most. */
  readonly agentSent?: number
  readonly metrics?: readonly { readonly sample: string, readonly is?: number, readonly atLeast?: number }[]
  /** Seconds in which any other call is answered, all the time. */
  readonly stall?: number
  /** MiB by which the process grows at the most, test and agent included. */
  readonly memory?: number
  /** The gateway has no card, and says this of it. */
  readonly noCard?: string
  /** Extensions that healthy calls ask for, where the card requires some. */
  readonly healthy?: string
  /** Seconds for all of it; default 30. */
  readonly within?: number
}

export interface PromisedAnswer {
  readonly status: number | readonly number[]
  /** Rule in `gateway-decision`; null: the answer is not the gateway's own. */
  readonly rule?: string | null
  /** Text in the body. */
  readonly says?: string
  /** Text that is nowhere in the answer. */
  readonly hides?: string
  readonly body?: Bytes
  /** Code of the JSON-RPC error. */
  readonly code?: number
  /** Values of headers; null: there is none. */
  readonly headers?: Readonly<Record<string, string | null>>
}

export interface PromisedRequest {
  readonly line?: string
  readonly body?: Bytes
  /** Values; a list for several lines; null: there is none. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | null>>
}

const FOLDER = inTests('hostile', 'scenarios')

const closed = (required: readonly string[], properties: Record<string, unknown>): object => ({ type: 'object', required, properties, additionalProperties: false })
const bytes = { $ref: '#/$defs/bytes' }
const text = { type: 'string', minLength: 1 }
const count = { type: 'integer', minimum: 0 }
const flag = { type: 'boolean' }
const lines = { type: 'array', items: bytes }
const anything = { type: 'object' }
const framing = { enum: ['length', 'chunked', 'none'] }
const reply = { raw: bytes, status: { type: 'integer', minimum: 100, maximum: 999 }, headers: lines, body: bytes, framing, forever: bytes, every: count, close: { const: true }, hang: { const: true } }
const value = { type: ['string', 'null'] }

const SCHEMA = {
  ...closed(['name', 'why', 'promise'], {
    name: text,
    why: { type: 'string', pattern: '(RFC|CWE|CVE|GHSA|ECMA|JSON|A2A|SSE|UTR)' },
    gateway: closed([], { agent: anything, root: anything, agents: { type: 'array', items: anything, minItems: 1 } }),
    agent: closed([], { cards: { type: 'array', minItems: 1, items: closed([], { ...reply, members: anything, text: bytes }) }, answer: closed([], reply) }),
    clients: { type: 'integer', minimum: 1, maximum: 1_000 },
    client: {
      type: 'array',
      items: {
        oneOf: [
          closed(['send'], { send: bytes }),
          closed(['trickle', 'every'], { trickle: bytes, every: count, size: { type: 'integer', minimum: 1 } }),
          closed(['agentGot'], { agentGot: count }),
          closed(['answered'], { answered: count }),
          closed(['agentStuck'], { agentStuck: { const: true } }),
          closed(['reading'], { reading: flag }),
          closed(['end'], { end: { const: true } }),
          closed(['abort'], { abort: { const: true } })
        ]
      }
    },
    promise: closed(['answers', 'agent'], {
      answers: {
        type: 'array',
        items: closed(['status'], { status: { anyOf: [count, { type: 'array', items: count }] }, rule: value, says: text, hides: text, body: bytes, code: { type: 'integer' }, headers: { type: 'object', additionalProperties: value } })
      },
      closed: flag,
      agent: { anyOf: [{ const: 'any' }, { type: 'array', items: closed([], { line: text, body: bytes, headers: { type: 'object', additionalProperties: { anyOf: [value, { type: 'array', items: { type: 'string' } }] } } }) }] },
      cardRequests: count,
      agentClosed: { const: true },
      agentSent: count,
      metrics: { type: 'array', items: closed(['sample'], { sample: text, is: { type: 'number' }, atLeast: { type: 'number' } }) },
      stall: { type: 'number' },
      memory: { type: 'number' },
      noCard: text,
      healthy: text,
      within: { type: 'number' }
    })
  }),
  $defs: {
    bytes: {
      anyOf: [
        { type: 'string' },
        { type: 'array', items: bytes },
        closed(['hex'], { hex: { type: 'string', pattern: '^(?:\\s*[0-9a-fA-F]{2})*\\s*$' } }),
        closed(['repeat', 'times'], { repeat: bytes, times: count }),
        closed(['count', 'times'], { count: text, times: count, step: count, join: { type: 'string' } }),
        closed(['gzip'], { gzip: bytes }),
        closed(['deflate'], { deflate: bytes }),
        closed(['brotli'], { brotli: bytes }),
        closed(['chunk'], { chunk: bytes, size: text }),
        closed(['message'], { message: closed([], { binding: { enum: ['JSONRPC', 'HTTP+JSON'] }, parts: bytes, members: bytes, beside: bytes }) }),
        closed(['call'], { call: closed([], { line: bytes, headers: lines, without: { type: 'array', items: { enum: ['host', 'version', 'type'] } }, framing, body: bytes }) })
      ]
    }
  }
}

const validate = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allowUnionTypes: true }).compile(SCHEMA)

/** @throws Error that names the place, for what no scenario may say */
export function readScenario (yaml: string): Scenario {
  const value: unknown = parse(yaml)
  if (!validate(value)) {
    // The deepest one says most: those above only that none of their alternatives fits.
    const errors = [...validate.errors ?? []].sort((a, b) => b.instancePath.length - a.instancePath.length)
    throw new Error(errors.slice(0, 3).map(({ instancePath, message, params }) => `${instancePath === '' ? '/' : instancePath} ${message} ${JSON.stringify(params)}`).join('; '))
  }
  return { gateway: {}, agent: {}, client: [], clients: 1, ...value as Partial<Scenario> } as Scenario
}

/** @returns file name without its ending, and text */
export function scenarioFiles (): [name: string, text: string][] {
  return readdirSync(FOLDER).sort().map(file => [file.replace(/\.yaml$/, ''), readFileSync(join(FOLDER, file), 'utf8')])
}
