/** Builds cases from rows: one case for each binding and version of a row, each with an id of its own. */
import type { Case, Check, Claim, Group, HttpRequest, Level, Line, Script, Transport, Version } from '../model.js'
import { CALL } from '../model.js'
import type { Operation } from '../protocol.js'
import { httpRequest, jsonType, requestOf, responseOf, resultText } from '../protocol.js'

export type Place = readonly [transport: Transport, version: Version]

export const HTTP: readonly Place[] = [['jsonrpc', '1.0'], ['rest', '1.0'], ['jsonrpc', '0.3'], ['rest', '0.3']]
export const HTTP_1_0: readonly Place[] = [['jsonrpc', '1.0'], ['rest', '1.0']]
export const JSONRPC_1_0: readonly Place[] = [['jsonrpc', '1.0']]
export const REST_1_0: readonly Place[] = [['rest', '1.0']]
export const GRPC: readonly Place[] = [['grpc', '1.0'], ['grpc', '0.3']]
export const GRPC_1_0: readonly Place[] = [['grpc', '1.0']]
export const CARD: readonly Place[] = [['card', '1.0']]

export interface Row {
  readonly id: string
  readonly name: string
  readonly group: Group
  readonly level: Level
  readonly spec: string
  readonly register?: string
  readonly on: readonly Place[]
  readonly operation: Operation | 'card' | 'raw'
  readonly request?: (place: Place) => Case['request']
  readonly agent?: (place: Place) => Script
  readonly expect: readonly Check[] | ((place: Place) => readonly Check[])
  readonly claims?: readonly Claim[]
  readonly direct?: boolean
}

/** One case for each place of the row. */
export function casesOf (rows: readonly Row[]): Case[] {
  return rows.flatMap(row => row.on.map(place => {
    const [transport, version] = place
    const { id, name, group, level, spec, register, operation, agent, expect, claims, direct } = row
    const ordinary = (): Case['request'] => operation === 'card' || operation === 'raw'
      ? CARD_REQUEST
      : requestOf(operation, transport, version)
    return {
      id: transport === 'card' ? id : `${id}-${transport}-${version}`,
      name,
      group,
      level,
      spec_ref: spec,
      ...register === undefined ? {} : { register },
      transport,
      version,
      operation,
      request: row.request?.(place) ?? ordinary(),
      ...agent === undefined ? {} : { agent: agent(place) },
      expect: typeof expect === 'function' ? expect(place) : expect,
      ...claims === undefined ? {} : { claims },
      ...direct === undefined ? {} : { direct }
    }
  }))
}

export const CARD_REQUEST: HttpRequest = {
  kind: 'http', method: 'GET', target: '/.well-known/agent-card.json', headers: [['Accept', 'application/json']], body: null
}

/** The ordinary request of an operation, with further header lines. */
export const withHeaders = (operation: Operation, ...lines: readonly Line[]) => ([transport, version]: Place): HttpRequest => {
  const request = httpRequest(operation, transport, version)
  return { ...request, headers: [...request.headers, ...lines] }
}

/** The ordinary request, with header lines instead of those of the same name. */
export const replacing = (operation: Operation, ...lines: readonly Line[]) => ([transport, version]: Place): HttpRequest => {
  const request = httpRequest(operation, transport, version)
  const names = new Set(lines.map(([name]) => name.toLowerCase()))
  return {
    ...request,
    headers: [...request.headers.filter(([name]) => !names.has(name.toLowerCase())), ...lines.filter(([, value]) => value !== '')]
  }
}

export type BodyChange = (place: Place, ordinary: string) => string
/** The ordinary request with another body. */
export const withBody = (operation: Operation, body: BodyChange, changes: Partial<HttpRequest> = {}) => (place: Place): HttpRequest => {
  const request = httpRequest(operation, place[0], place[1])
  return { ...request, ...changes, body: body(place, request.body ?? '') }
}

type Answer = (place: Place) => Script
/** The ordinary response with further header lines, or other members. */
export const answering = (
  operation: Operation,
  headers: readonly Line[],
  changes: Partial<Script> = {}
): Answer => ([transport, version]) => {
  const script = responseOf(operation, transport, version)
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  return { ...script, headers: [...(script.headers ?? []).filter(([name]) => !names.has(name.toLowerCase())), ...headers], ...changes }
}

/** A response with a text of JSON as its result. */
export const resulting = (result: (place: Place) => string, changes: Partial<Script> = {}) => (place: Place): Script => ({
  status: 200,
  headers: [['Content-Type', jsonType(place[0], place[1])]],
  pieces: [resultText(place[0], result(place))],
  ...changes
})

export const ONCE: Check = { check: 'calls', least: 1, most: 1 }
export const NEVER: Check = { check: 'calls', least: 0, most: 0 }
export const SAME_BODY: Check = { check: 'request', part: 'body' }
export const SAME_TARGET: Check = { check: 'request', part: 'target' }
export const SAME_STATUS: Check = { check: 'status' }
export const SAME_BYTES: Check = { check: 'body', as: 'bytes' }
export const COMPLETE: Check = { check: 'end', is: 'complete' }

export { CALL }
