/** The format of scenario files, and their reader. Each file contains one attack and its promises. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import type { Bytes } from './bytes.js'
import { inTests } from '../helpers/paths.js'

export interface Scenario {
  /** The action as a sentence. The sentence is the name of the test. */
  readonly name: string
  /** RFC, CWE or advisory, and the consequence when a gateway does not comply. */
  readonly why: string
  readonly gateway: GatewayPart
  readonly agent: AgentPart
  readonly client: readonly Step[]
  /** Number of clients that perform the steps at the same time; default 1. */
  readonly clients: number
  readonly promise: Promised
}

/**
 * Configuration of the gateway. Placeholders in all texts: `{agent}` and `{gateway}` are URLs, `{cardFile}` is a file with the agent's
 * plain card.
 */
export interface GatewayPart {
  /** More keys of the agent. */
  readonly agent?: Readonly<Record<string, unknown>>
  /** More root keys. */
  readonly root?: Readonly<Record<string, unknown>>
  /** The complete list of agents, instead of one agent in front of the raw agent. */
  readonly agents?: readonly unknown[]
}

export interface AgentPart {
  /** Responses to requests for the card, one after another. The last response repeats. Default: a plain card. */
  readonly cards?: readonly CardReply[]
  /** Response to every call except the healthy calls. */
  readonly answer?: Reply
}

export interface Reply {
  /** The whole response, head and body. */
  readonly raw?: Bytes
  readonly status?: number
  /** Header lines; default content-type: application/json. */
  readonly headers?: readonly Bytes[]
  readonly body?: Bytes
  /** Default: length. */
  readonly framing?: 'length' | 'chunked' | 'none'
  /**
   * Bytes that the agent sends repeatedly after the rest, as fast as the gateway reads them. Each repetition is a chunk when the framing is
   * chunked.
   */
  readonly forever?: Bytes
  /** Milliseconds between two repetitions of `forever`. */
  readonly every?: number
  /** The agent closes the connection after the response. */
  readonly close?: boolean
  /** The agent sends nothing. */
  readonly hang?: boolean
}

export interface CardReply extends Reply {
  /** Members that replace those of the plain card. */
  readonly members?: Readonly<Record<string, unknown>>
  /** More members as text with a leading comma, for values that `Bytes` generates. */
  readonly text?: Bytes
}

export type Step =
  | { readonly send: Bytes }
  /** Sends the bytes one by one, or `size` bytes at a time, every `every` ms, until all are sent or the connection is closed. */
  | { readonly trickle: Bytes, readonly every: number, readonly size?: number }
  /** Waits until the agent has this many requests. */
  | { readonly agentGot: number }
  /** Waits until this many responses have arrived. */
  | { readonly answered: number }
  /** Waits until the gateway has read nothing more from the agent for a while. */
  | { readonly agentStuck: true }
  | { readonly reading: boolean }
  /** Closes the sending half of the connection. */
  | { readonly end: true }
  | { readonly abort: true }

export interface Promised {
  /** Exactly these responses arrive, for each client, in this order. */
  readonly answers: readonly PromisedAnswer[]
  /** True when the gateway closes the connection. Without this key, both are allowed. */
  readonly closed?: boolean
  /**
   * Exactly these requests arrive at the agent, in this order; with several clients, these arrive from each client. `any`: the number is
   * not promised.
   */
  readonly agent: 'any' | readonly PromisedRequest[]
  /** Maximum number of card requests that the agent receives. */
  readonly cardRequests?: number
  /** The gateway closes the connection of the call to the agent. */
  readonly agentClosed?: boolean
  /** Maximum number of bytes that the agent could send. */
  readonly agentSent?: number
  readonly metrics?: readonly { readonly sample: string, readonly is?: number, readonly atLeast?: number }[]
  /** Maximum seconds until the response of any other call, at all times. */
  readonly stall?: number
  /** Maximum growth of the process in MiB, including test and agent. */
  readonly memory?: number
  /** The gateway has no card and reports this text about it. */
  readonly noCard?: string
  /** Extensions that healthy calls declare when the card requires some. */
  readonly healthy?: string
  /** Seconds for the whole scenario; default 30. */
  readonly within?: number
}

export interface PromisedAnswer {
  readonly status: number | readonly number[]
  /** Rule in `gateway-decision`; null: the gateway did not make the response itself. */
  readonly rule?: string | null
  /** Text in the body. */
  readonly says?: string
  /** Text that appears nowhere in the response. */
  readonly hides?: string
  readonly body?: Bytes
  /** Code of the JSON-RPC error. */
  readonly code?: number
  /** Values of headers; null: the header is absent. */
  readonly headers?: Readonly<Record<string, string | null>>
}

export interface PromisedRequest {
  readonly line?: string
  readonly body?: Bytes
  /** Values; a list for several lines; null: the header is absent. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | null>>
}

const FOLDER = inTests('hostile', 'scenarios')

const closed = (required: readonly string[], properties: Record<string, unknown>): object => ({
  type: 'object',
  required,
  properties,
  additionalProperties: false
})
const bytes = { $ref: '#/$defs/bytes' }
const text = { type: 'string', minLength: 1 }
const count = { type: 'integer', minimum: 0 }
const flag = { type: 'boolean' }
const lines = { type: 'array', items: bytes }
const anything = { type: 'object' }
const framing = { enum: ['length', 'chunked', 'none'] }
const reply = {
  raw: bytes,
  status: { type: 'integer', minimum: 100, maximum: 999 },
  headers: lines,
  body: bytes,
  framing,
  forever: bytes,
  every: count,
  close: { const: true },
  hang: { const: true }
}
const value = { type: ['string', 'null'] }

const SCHEMA = {
  ...closed(['name', 'why', 'promise'], {
    name: text,
    why: { type: 'string', pattern: '(RFC|CWE|CVE|GHSA|ECMA|JSON|A2A|SSE|UTR)' },
    gateway: closed([], { agent: anything, root: anything, agents: { type: 'array', items: anything, minItems: 1 } }),
    agent: closed([], {
      cards: { type: 'array', minItems: 1, items: closed([], { ...reply, members: anything, text: bytes }) },
      answer: closed([], reply)
    }),
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
        items: closed(['status'], {
          status: { anyOf: [count, { type: 'array', items: count }] },
          rule: value,
          says: text,
          hides: text,
          body: bytes,
          code: { type: 'integer' },
          headers: { type: 'object', additionalProperties: value }
        })
      },
      closed: flag,
      agent: {
        anyOf: [
          { const: 'any' },
          {
            type: 'array',
            items: closed([], {
              line: text,
              body: bytes,
              headers: { type: 'object', additionalProperties: { anyOf: [value, { type: 'array', items: { type: 'string' } }] } }
            })
          }
        ]
      },
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
        closed(['message'], {
          message: closed([], { binding: { enum: ['JSONRPC', 'HTTP+JSON'] }, parts: bytes, members: bytes, beside: bytes })
        }),
        closed(['call'], {
          call: closed([], {
            line: bytes,
            headers: lines,
            without: { type: 'array', items: { enum: ['host', 'version', 'type'] } },
            framing,
            body: bytes
          })
        })
      ]
    }
  }
}

const validate = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allowUnionTypes: true }).compile(SCHEMA)

/** @throws Error that names the place of anything that the format does not allow */
export function readScenario (yaml: string): Scenario {
  const value: unknown = parse(yaml)
  if (!validate(value)) {
    // The deepest error is the most specific one. The errors above it only report that no alternative matches.
    const errors = [...validate.errors ?? []].sort((a, b) => b.instancePath.length - a.instancePath.length)
    throw new Error(
      errors
        .slice(0, 3)
        .map(({ instancePath, message, params }) => `${instancePath === '' ? '/' : instancePath} ${message} ${JSON.stringify(params)}`)
        .join('; ')
    )
  }
  return { gateway: {}, agent: {}, client: [], clients: 1, ...value as Partial<Scenario> } as Scenario
}

/** @returns file name without its extension, and text */
export function scenarioFiles (): [name: string, text: string][] {
  return readdirSync(FOLDER).sort().map(file => [file.replace(/\.yaml$/, ''), readFileSync(join(FOLDER, file), 'utf8')])
}
