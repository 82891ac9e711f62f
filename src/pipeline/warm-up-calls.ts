/**
 * Calls for the warm-up of a process (server/warm-up/), made of what the agent's card and policies declare: their interfaces, required
 * extensions, media types and schemas. Most of the calls are accepted, as in traffic; some are rejected.
 */
import { methodOfOperation } from '#a2a/operations.js'
import type { Operation } from '#a2a/operations.js'
import type { MappedInterface } from '#a2a/card/map.js'
import type { AgentConfig } from '#config/model/model.js'
import { sampleOf } from '#jsonschema/sample.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import type { AgentState } from './agent-snapshot.js'

export interface WarmUpCall {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The agent's response to the call. */
  readonly response: { readonly contentType: string, readonly body: string }
}

/** Schemas of one agent that the calls name; the calls of an agent with more would take the whole budget. */
const MAX_SCHEMAS = 8
/** Interfaces of one agent that get calls. */
const MAX_INTERFACES = 4
const TEXT = 'Please order these – and say “when”: the first shelf is empty since Monday.\n'.repeat(3)
const ID = 'warm-up'

/** @returns calls in the order in which they should be made, over and over */
export function warmUpCalls (config: AgentConfig, state: AgentState): WarmUpCall[] {
  // The calls are sent over HTTP/1.1.
  return state.interfaces.filter(mappedInterface => mappedInterface.binding !== 'GRPC').slice(0, MAX_INTERFACES).flatMap(mappedInterface => callsOf(config, state, mappedInterface))
}

function callsOf (config: AgentConfig, state: AgentState, mappedInterface: MappedInterface): WarmUpCall[] {
  const { required } = state.policy[mappedInterface.version]
  const uris = required.map(({ uri }) => uri)
  const data = samples(config, state, mappedInterface)
  const make = (operation: Operation, message: readonly object[], extensions = uris): WarmUpCall =>
    callOf(config, mappedInterface, { operation, extensions, parts: message, reply: data.parts })
  const text = [part(mappedInterface, { text: TEXT })]
  return [
    make('SendMessage', [...text, ...data.parts]),
    make('SendStreamingMessage', [...text, ...data.parts]),
    make('SendMessage', text),
    make('GetTask', []),
    ...data.parts.map(sample => make('SendMessage', [sample, ...text])),
    ...data.broken.map(sample => make('SendMessage', [...text, sample])),
    // Without the extensions that the agent requires; without what every message needs.
    make('SendMessage', text, []),
    make('SendMessage', [{}])
  ]
}

/** DataParts of the media types that policies select: some that follow the card's schemas, some that do not. */
function samples (
  config: AgentConfig, state: AgentState, mappedInterface: MappedInterface
): { readonly parts: object[], readonly broken: object[] } {
  const schemas = [...schemasIn(state.loaded.byVersion[mappedInterface.version].card.raw)].slice(0, MAX_SCHEMAS)
  const types = new Set(
    config.policies.flatMap(({ policy }) => policy.request ?? []).flatMap(({ select }) => select.part?.mediaType ?? [])
  )
  const parts: object[] = []
  const broken: object[] = []
  for (const type of types) {
    for (const [name, schema] of type.includes('*') ? schemas : []) {
      const mediaType = type.replace('*', name)
      parts.push(part(mappedInterface, { data: sampleOf(schema), mediaType }))
      broken.push(part(mappedInterface, { data: { warmUp: [null] }, mediaType }))
    }
  }
  return { parts, broken }
}

/** Members named `schemas` at the places where cards have them: at the root, and in the params of extensions. */
function * schemasIn (card: JsonObject): Iterable<[string, unknown]> {
  if (isObject(card.schemas)) yield * Object.entries(card.schemas)
  const capabilities = isObject(card.capabilities) ? card.capabilities : {}
  for (const extension of Array.isArray(capabilities.extensions) ? capabilities.extensions : []) {
    const params = isObject(extension) ? extension.params : null
    if (isObject(params) && isObject(params.schemas)) yield * Object.entries(params.schemas)
  }
}

interface PartContent { readonly text?: string, readonly data?: unknown, readonly mediaType?: string }

function part ({ version }: MappedInterface, { text, data, mediaType }: PartContent): object {
  if (version === '1.0') return text === undefined ? { data, mediaType } : { text }
  return text === undefined ? { kind: 'data', data, metadata: { mimeType: mediaType } } : { kind: 'text', text }
}

interface Content {
  readonly operation: Operation
  readonly extensions: readonly string[]
  readonly parts: readonly object[]
  /** Parts of the response. */
  readonly reply: readonly object[]
}

function callOf (config: AgentConfig, mappedInterface: MappedInterface, { operation, extensions, parts, reply }: Content): WarmUpCall {
  const { version, binding } = mappedInterface
  const isNew = version === '1.0'
  const streams = operation === 'SendStreamingMessage'
  const reads = operation === 'GetTask'
  const message = { messageId: ID, role: isNew ? 'ROLE_USER' : 'user', parts, ...(isNew ? {} : { kind: 'message' }) }
  const params = reads ? { id: ID } : { message }
  const rpc = binding === 'JSONRPC'
  const base = config.path + mappedInterface.publicPath
  const rest = `${base.replace(/\/$/, '')}${isNew || base.endsWith('/v1') ? '' : '/v1'}${reads ? `/tasks/${ID}` : `/message:${streams ? 'stream' : 'send'}`}`
  const envelope = (result: object): string => JSON.stringify(rpc ? { jsonrpc: '2.0', id: ID, result } : result)
  const task = taskOf(isNew, reply)
  const whole = isNew && !reads ? { task } : task
  return {
    method: reads && !rpc ? 'GET' : 'POST',
    path: rpc ? base || '/' : rest,
    headers: {
      host: config.host ?? 'localhost',
      accept: streams ? 'text/event-stream' : 'application/json',
      ...(reads && !rpc ? {} : { 'content-type': 'application/json' }),
      ...(isNew ? { 'a2a-version': '1.0' } : {}),
      ...(extensions.length === 0 ? {} : { [isNew ? 'a2a-extensions' : 'x-a2a-extensions']: extensions.join(', ') })
    },
    body: rpc
      ? JSON.stringify({ jsonrpc: '2.0', id: ID, method: methodOfOperation(operation, version), params })
      : reads ? null : JSON.stringify(params),
    response: streams
      ? {
          contentType: 'text/event-stream',
          body: [...Array<object>(3).fill(updateOf(isNew)), whole].map(event => `data: ${envelope(event)}\n\n`).join('')
        }
      : { contentType: 'application/json', body: envelope(whole) }
  }
}

function taskOf (isNew: boolean, reply: readonly object[]): object {
  const artifacts = [{ artifactId: ID, parts: reply.length === 0 ? [isNew ? { text: TEXT } : { kind: 'text', text: TEXT }] : reply }]
  return isNew
    ? { id: ID, contextId: ID, status: { state: 'TASK_STATE_COMPLETED' }, artifacts }
    : { kind: 'task', id: ID, contextId: ID, status: { state: 'completed' }, artifacts }
}

function updateOf (isNew: boolean): object {
  const ids = { taskId: ID, contextId: ID }
  return isNew
    ? {
        statusUpdate: {
          ...ids, status: { state: 'TASK_STATE_WORKING', message: { messageId: ID, role: 'ROLE_AGENT', parts: [{ text: TEXT }] } }
        }
      }
    : {
        kind: 'status-update',
        ...ids,
        final: false,
        status: { state: 'working', message: { kind: 'message', messageId: ID, role: 'agent', parts: [{ kind: 'text', text: TEXT }] } }
      }
}
