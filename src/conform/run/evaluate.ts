/** Evaluates the checks of a case. Each check gives the lines of its failure, or null. */
import { gunzipSync } from 'node:zlib'
import { GrpcDeframer } from '#wire/grpc/deframer.js'
import { valueOf } from '../http1.js'
import { unfilled } from '../mark.js'
import type { Case, Check, Exchange, Line, Receipt, ErrorShape, Transport, Version } from '../model.js'
import { CALL } from '../model.js'
import type { CaseRun, Way } from './card-rules.js'
import { cardProblem } from './card-rules.js'
import { difference, eventsOf, headerProblem, jsonOf, printable, shapeOf } from './compare.js'
import { isObject, own } from '#wire/json/object.js'

type Lines = string[] | null

/** @returns the lines of all checks that fail; empty: the case passes */
export async function evaluateChecks (caseRun: CaseRun, checks: readonly Check[] = caseRun.case.expect): Promise<string[]> {
  const problems: string[] = []
  for (const check of checks) problems.push(...await problemOf(check, caseRun) ?? [])
  return problems
}

async function problemOf (check: Check, caseRun: CaseRun): Promise<Lines> {
  const { direct, through, context } = caseRun
  const { exchange } = through
  switch (check.check) {
    case 'calls': return callsProblem(check, through)
    case 'request': return requestProblem(check.part, caseRun)
    case 'request-header': {
      const receipt = through.receipts.at(-1)
      if (receipt === undefined) return ['the request did not reach the agent']
      return headerProblem(
        'request header', check, { direct: marked(direct?.receipts.at(-1)?.headers, direct), through: marked(receipt.headers, through) }
      )
    }
    case 'status': return statusProblem(check.is, direct, exchange)
    case 'body': return bodyProblem(check.as, caseRun)
    case 'messages': return answered(exchange) ?? sameMessages('the messages of the response', direct?.exchange.body, exchange.body, caseRun)
    case 'response-header': return answered(exchange) ??
      headerProblem(
        'response header', check, { direct: marked(direct?.exchange.headers, direct), through: marked(exchange.headers, through) }
      )
    case 'trailer': return answered(exchange) ??
      headerProblem('trailer', check, { direct: marked(direct?.exchange.trailers, direct), through: marked(exchange.trailers, through) })
    case 'error': return errorProblem(check, { ...exchange, body: unfilled(exchange.body, through.name) }, caseRun.case, idOf(caseRun.case))
    case 'not-html': {
      const type = valueOf(exchange.headers, 'content-type') ?? ''
      const isHtml = /html/i.test(type) || /^\s*<(?:!doctype|html)/i.test(exchange.body.toString('latin1', 0, 64))
      return answered(exchange) ?? (isHtml
        ? [`the response is HTML (${type})`, `  through:  status ${exchange.status}, ${printable(exchange.body.subarray(0, 120))}`]
        : null)
    }
    case 'timely': return answered(exchange) ?? (exchange.late.length === 0
      ? null
      : [`the proxy holds events back: events ${exchange.late.join(', ')} came only after later ones`])
    case 'cancelled': return await context.control.until(through.name, receipt => receipt.left, 3_000)
      ? null
      : ['the agent did not see that the client had left']
    case 'end': return endProblem(check.is, exchange)
    case 'no-fetch': {
      const fetched = await context.control.traps(through.name)
      return fetched.length === 0
        ? null
        : [`the proxy has fetched ${fetched.map(target => target.replaceAll(through.name, CALL)).join(', ')}`]
    }
    case 'card': return await cardProblem(check.rule, caseRun)
    case 'trace': return traceProblem(direct, through)
    case 'either': return await eitherProblem(check.of, caseRun)
  }
}

const marked = (headers: readonly Line[] | undefined, way: Way | null): Line[] =>
  (headers ?? []).map(([name, value]) => [name, way === null ? value : value.replaceAll(way.name, CALL)] as const)

const answered = (exchange: Exchange): Lines => exchange.status === 0
  ? [`no response: ${exchange.problem ?? 'the connection ended'}`]
  : null

/** An HTTP request without a body that names the call has no id. */
function idOf ({ request }: Case): string | null {
  return request.kind === 'http' ? requestId(request.raw ?? request.body) : null
}

function callsProblem ({ least, most }: { readonly least: number, readonly most: number }, { receipts, exchange }: Way): Lines {
  if (receipts.length >= least && receipts.length <= most) return null
  const expected = least === most ? String(least) : `${least} to ${most}`
  const said = exchange.status === 0
    ? exchange.problem ?? 'no response'
    : `status ${exchange.status}, ${printable(exchange.body.subarray(0, 120))}`
  return [`the agent got ${receipts.length} requests instead of ${expected}`, `  through:  ${said}`]
}

function requestProblem (part: 'method' | 'target' | 'body' | 'messages', caseRun: CaseRun): Lines {
  const { direct, through } = caseRun
  const before = direct?.receipts.at(-1)
  const after = through.receipts.at(-1)
  if (after === undefined) {
    const { exchange } = through
    return [
      'the request did not reach the agent',
      `  through:  ${exchange.status === 0
? exchange.problem ?? 'no response'
: `status ${exchange.status}, ` +
        `${printable(exchange.body.subarray(0, 120))}`}`
    ]
  }
  if (before === undefined || direct === null) return ['the request did not reach the agent directly']
  const bytes = (receipt: Receipt, way: Way): Buffer => unfilled(decoded(Buffer.from(receipt.body, 'base64'), receipt.headers), way.name)
  switch (part) {
    case 'method': return before.method === after.method ? null : [`the method is ${after.method} instead of ${before.method}`]
    case 'target': return difference(
      'the target of the request', Buffer.from(before.target.replaceAll(direct.name, CALL)),
      Buffer.from(after.target.replaceAll(through.name, CALL))
    )
    case 'body': return difference('the body of the request', bytes(before, direct), bytes(after, through))
    case 'messages': return sameMessages(
      'the messages of the request', Buffer.from(before.body, 'base64'), Buffer.from(after.body, 'base64'), caseRun
    )
  }
}

/** The content of a compressed body: compressed, the names of two calls have other bytes. */
function decoded (body: Buffer, headers: readonly Line[]): Buffer {
  if (valueOf(headers, 'content-encoding') !== 'gzip') return body
  try {
    return gunzipSync(body)
  } catch {
    return body
  }
}

function statusProblem (is: readonly number[] | undefined, direct: Way | null, exchange: Exchange): Lines {
  if (exchange.status === 0) return answered(exchange)
  const expected = is ?? [direct?.exchange.status ?? 0]
  return expected.includes(exchange.status)
    ? null
    : [`the status is ${exchange.status} instead of ${expected.join(' or ')}`, `  through:  ${printable(exchange.body.subarray(0, 120))}`]
}

function bodyProblem (as: 'bytes' | 'events' | 'json', { direct, through, context }: CaseRun): Lines {
  const missing = answered(through.exchange)
  if (missing !== null || direct === null) return missing
  const before = unfilled(decoded(direct.exchange.body, direct.exchange.headers), direct.name)
  const after = unfilled(decoded(through.exchange.body, through.exchange.headers), through.name)
  if (!context.scripted) {
    const [first, second] = [before, after].map(body => shapeOf(jsonOf(body)))
    return first === second ? null : difference('the shape of the response', Buffer.from(first ?? ''), Buffer.from(second ?? ''))
  }
  if (as === 'bytes') return difference('the body of the response', before, after)
  const text = (body: Buffer): Buffer => Buffer.from(as === 'events' ? eventsOf(body) : JSON.stringify(jsonOf(body)))
  return difference(as === 'events' ? 'the stream of events' : 'the value of the response', text(before), text(after))
}

function messagesOf (body: Buffer): Buffer[] {
  return new GrpcDeframer(64 * 1024 * 1024).feed(body).map(({ frame }) => frame)
}

function sameMessages (what: string, before: Buffer | undefined, after: Buffer, { direct, through, context }: CaseRun): Lines {
  if (before === undefined || direct === null || !context.scripted) return null
  const messages = (body: Buffer, way: Way): Buffer => unfilled(Buffer.concat(messagesOf(body)), way.name)
  return difference(what, messages(before, direct), messages(after, through))
}

function endProblem (is: 'complete' | 'broken', { end, problem, trailers }: Exchange): Lines {
  const status = valueOf(trailers, 'grpc-status')
  const isBroken = end === 'broken' || (status !== null && status !== '0')
  if (is === 'broken') return isBroken ? null : [`the client cannot see that the response is incomplete (${end})`]
  return end === 'complete' ? null : [`the response is not complete: ${problem ?? end}`]
}

function traceProblem (direct: Way | null, through: Way): Lines {
  const of = (way: Way | null): string | null => valueOf(way?.receipts.at(-1)?.headers ?? [], 'traceparent')
  const [before, after] = [of(direct), of(through)]
  if (after === null) return ['request header traceparent is missing']
  const pattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
  const [, trace] = pattern.exec(after) ?? []
  const [, expected] = pattern.exec(before ?? '') ?? []
  return trace !== undefined && trace === expected
    ? null
    : ['the trace does not go on', `  directly: ${before ?? 'no line'}`, `  through:  ${after}`]
}

async function eitherProblem (of: readonly (readonly Check[])[], caseRun: CaseRun): Promise<Lines> {
  const problems: string[][] = []
  for (const checks of of) {
    const lines = await evaluateChecks(caseRun, checks)
    if (lines.length === 0) return null
    problems.push(lines)
  }
  return problems.flatMap((lines, i) => [`${i === 0 ? 'either' : 'or'}:`, ...lines.map(line => `  ${line}`)])
}

/* Whether a response is an error in the binding of the caller (spec 1.0.1 §9.5, §10.6 and §11.6; 0.3.0 §8). */

interface Place { readonly transport: Transport, readonly version: Version }
type Value = Readonly<Record<string, unknown>>

/** @returns the problem, or null. @param id the id that a JSON-RPC error repeats; null: none */
function errorProblem (shape: ErrorShape, exchange: Exchange, { transport, version }: Place, id: string | null): string[] | null {
  if (exchange.status === 0) return [`no response: ${exchange.problem ?? 'the connection ended'}`]
  const missing = (shape.mentions ?? []).find(text => !mentions(exchange, text))
  if (missing !== undefined) return [`the error does not name ${missing}`, `  through:  ${start(exchange)}`]
  if (transport === 'grpc') return grpcProblem(shape, exchange)
  const type = valueOf(exchange.headers, 'content-type') ?? 'none'
  const value = jsonOf(bodyOf(exchange, type))
  if (!isObject(value)) {
    return [
    `an error of ${transport} is a JSON object; the response has status ${exchange.status} and content type ${type}`,
    `  through:  ${start(exchange)}`
    ]
  }
  return transport === 'jsonrpc' ? jsonrpcProblem(shape, exchange, value, id) : restProblem(shape, exchange, value, version)
}

function mentions ({ body, trailers }: Exchange, text: string): boolean {
  const details = valueOf(trailers, 'grpc-status-details-bin') ?? ''
  const all = `${body.toString('utf8')} ${decodeURIComponent((valueOf(trailers, 'grpc-message') ?? '').replaceAll(/%(?![0-9a-f]{2})/gi, '%25'))} ${Buffer.from(details, 'base64').toString('latin1')}`
  return all.includes(text)
}

/** An error may be the only event of a stream. */
function bodyOf ({ body }: Exchange, type: string): Buffer {
  if (!/^text\/event-stream\b/i.test(type)) return body
  return Buffer.from(/^data: ?(.*)$/m.exec(body.toString('utf8'))?.[1] ?? '')
}

function jsonrpcProblem ({ codes = [], anyId = false }: ErrorShape, exchange: Exchange, value: Value, id: string | null): string[] | null {
  const error = own(value, 'error')
  const code = isObject(error) ? own(error, 'code') : undefined
  if (own(value, 'jsonrpc') !== '2.0' || typeof code !== 'number' || !isObject(error) || typeof own(error, 'message') !== 'string') {
    return ['an error of JSON-RPC has the members jsonrpc and error, with code and message', `  through:  ${start(exchange)}`]
  }
  if (id !== null && !anyId && own(value, 'id') !== id) {
    return [
      'the error does not repeat the id of the request', `  through:  ${start(exchange)}`
    ]
  }
  return codes.length === 0 || codes.includes(code)
    ? null
    : [`the error has the code ${code}, not ${codes.join(' or ')}`, `  through:  ${start(exchange)}`]
}

function restProblem ({ statuses = [] }: ErrorShape, exchange: Exchange, value: Value, version: Version): string[] | null {
  const error = own(value, 'error')
  const isShaped = isObject(error)
    ? typeof own(error, 'message') === 'string' && (version === '0.3' || typeof own(error, 'status') === 'string')
    : version === '0.3' && typeof own(value, 'message') === 'string'
  if (!isShaped) {
    return [
      'an error of HTTP+JSON is an object that has the member error, with code, status and message', `  through:  ${start(exchange)}`
    ]
  }
  if (exchange.status < 400) return [`an error of HTTP+JSON has a status of 400 or above; the response has ${exchange.status}`]
  return statuses.length === 0 || statuses.includes(exchange.status)
    ? null
    : [`the error has the status ${exchange.status}, not ${statuses.join(' or ')}`, `  through:  ${start(exchange)}`]
}

function grpcProblem ({ grpc = [] }: ErrorShape, exchange: Exchange): string[] | null {
  const status = valueOf(exchange.trailers, 'grpc-status')
  if (status === null) {
    return [
    `an error of gRPC has the trailer grpc-status; the response has HTTP status ${exchange.status}`, `  through:  ${start(exchange)}`
    ]
  }
  if (status === '0') return ['the call has the status OK']
  return grpc.length === 0 || grpc.includes(Number(status)) ? null : [`the call has the status ${status}, not ${grpc.join(' or ')}`]
}

function start ({ status, body }: Exchange): string {
  return `status ${status}, ${printable(body.subarray(0, 160))}${body.length > 160 ? '…' : ''}`
}

/** The id in the request of a case: the mark, unless the request is no JSON-RPC. */
function requestId (body: string | null): string | null {
  return body?.includes(`"id":"${CALL}"`) === true ? CALL : null
}
