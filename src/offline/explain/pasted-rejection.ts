/**
 * Reads a rejection as its reader has it: the error that a client got (the response, or its body), a decision copied from the console, or
 * an audit line. None of them has data of the request.
 */
import { ERROR_INFO_TYPE, GATEWAY_DOMAIN, PROTOCOL_DOMAIN } from '#a2a/errors.js'
import { isObject } from '#wire/json/object.js'
import type { JsonObject } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import type { RecordedResponse } from '../recording/recorded-response.js'
import { readResponse } from '../recording/recorded-response.js'

export interface PastedViolation { readonly rule: string | null, readonly path: string, readonly message: string }

export interface PastedRejection {
  readonly source: 'error' | 'decision' | 'audit'
  readonly decision: 'rejected' | 'edited' | 'observed' | 'forwarded' | 'failed'
  /** Name of the agent; null if the source does not have it. */
  readonly agent: string | null
  /** Operation, binding and version, as far as they are known. */
  readonly call: string | null
  /** Policy or URI, and rule, of the rule that decided. */
  readonly extension: string | null
  readonly rule: string | null
  readonly reason: string | null
  readonly message: string | null
  readonly violations: readonly PastedViolation[]
  /** URIs that the request has to name. */
  readonly missingExtensions: readonly string[]
  /** Ids with which the log, the audit trail and traces have more. */
  readonly ids: Readonly<Record<string, string>>
}

/** @returns null for anything else, such as a request, a result, or text that is not JSON */
export function readRejection (bytes: Buffer): PastedRejection | null {
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '').trim()
  if (/^HTTP\/\d/.test(text)) return ofResponse(bytes)
  const value = jsonOf(text.replace(/^data:\s?/, ''))
  if (!isObject(value)) return null
  if (value.audit === true && typeof value.decision === 'string') return ofAudit(value)
  if (value.outcome !== undefined && value.requestId !== undefined) return ofDecision(value)
  return value.method === undefined ? ofError(value, null) : null
}

/** Describes an HTTP response that contains no error of A2A. Null for anything else. */
export function foreignResponse (bytes: Buffer): { readonly what: string, readonly remedy: string } | null {
  if (!/^HTTP\/\d/.test(bytes.toString('utf8').replace(/^\uFEFF/, '').trim())) return null
  const { status, body } = responseIn(bytes)
  const json = jsonOf(body.toString('utf8').trim().replace(/^data:\s?/, '')) !== undefined
  return {
    what: `this is a response with status ${status}${json ? '' : ` and ${body.length === 0 ? 'no body' : 'a body that is not JSON'}`}, ` +
      'but no error of A2A',
    remedy: status < 400
      ? 'explain the request, and give the response with --answer FILE'
      : "the gateway's errors are JSON: a proxy in front of the gateway may have sent this one; explain the request instead"
  }
}

function responseIn (bytes: Buffer): RecordedResponse {
  return readResponse(Buffer.from(bytes.toString('latin1').trimStart(), 'latin1'), 'the response')
}

function ofResponse (bytes: Buffer): PastedRejection | null {
  const { headers, body } = responseIn(bytes)
  const value = jsonOf(body.toString('utf8').trim().replace(/^data:\s?/, ''))
  const at = headers.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'gateway-decision')
  return isObject(value) ? ofError(value, at < 0 ? null : headers[at + 1] ?? null) : null
}

/** @param header value of `gateway-decision`, which names the policy */
function ofError (value: JsonObject, header: string | null): PastedRejection | null {
  const error = isObject(value.error) ? value.error : typeof value.code === 'number' ? value : null
  if (error === null) return null
  const details = [error.data, error.details, isObject(error.data) ? error.data.details : undefined].find(member => Array.isArray(member))
  const list = Array.isArray(details) ? details.filter(isObject) : []
  const infoOf = (domain: string): JsonObject | undefined => list.find(part => part['@type'] === ERROR_INFO_TYPE && part.domain === domain)
  // The gateway's own reason is the more precise one.
  const info = infoOf(GATEWAY_DOMAIN) ?? infoOf(PROTOCOL_DOMAIN)
  const metadata = isObject(info?.metadata) ? info.metadata : {}
  const fields = list.flatMap(detail => Array.isArray(detail.fieldViolations) ? detail.fieldViolations : []).filter(isObject)
  const named = /^reject;rule="(.*)\/([^/"]+)"$/.exec(header ?? '')
  return {
    source: 'error',
    decision: info === undefined ? 'failed' : 'rejected',
    agent: null,
    call: null,
    extension: named?.[1] ?? textOf(metadata.extension),
    rule: named?.[2] ?? textOf(metadata.rule),
    reason: textOf(info?.reason),
    message: textOf(error.message),
    violations: fields.map(field => ({ rule: null, path: textOf(field.field) ?? '', message: textOf(field.description) ?? '' })),
    missingExtensions: (textOf(metadata.missingExtensions) ?? '').split(',').filter(uri => uri !== ''),
    ids: {}
  }
}

const OUTCOMES = ['rejected', 'edited', 'observed', 'forwarded'] as const

function ofDecision (value: JsonObject): PastedRejection {
  const [, extension = null, rule = null] = /^(.*)\/([^/]+)$/.exec(textOf(value.rule) ?? '') ?? []
  const correction = isObject(value.correction) ? value.correction : {}
  const headers = Array.isArray(correction.headers) ? correction.headers.filter(isObject) : []
  const lines = headers.filter(header => /^(?:x-)?a2a-extensions$/i.test(textOf(header.name) ?? ''))
  return {
    source: 'decision',
    decision: OUTCOMES.find(outcome => outcome === value.outcome) ?? 'failed',
    agent: textOf(value.agent),
    call: callOf(value),
    extension,
    rule,
    reason: textOf(value.reason),
    message: textOf(value.message),
    violations: violationsOf(value.violations),
    missingExtensions: lines.flatMap(line => (textOf(line.value) ?? '').split(',')).filter(uri => uri !== ''),
    ids: idsOf({ request_id: value.requestId, trace_id: value.traceId })
  }
}

function ofAudit (value: JsonObject): PastedRejection {
  const violations = violationsOf(value.violations)
  const missing = /^must name the required extension (\S+)$/
  return {
    source: 'audit',
    decision: OUTCOMES.find(outcome => outcome === value.decision) ?? 'forwarded',
    agent: textOf(value.agent),
    call: callOf(value),
    extension: textOf(value.extension),
    rule: textOf(value.rule),
    reason: textOf(value.reason),
    message: null,
    violations,
    missingExtensions: violations.flatMap(({ message }) => missing.exec(message)?.[1] ?? []),
    ids: idsOf({ request_id: value.request_id, trace_id: value.trace_id })
  }
}

function callOf ({ operation, binding, version }: JsonObject): string | null {
  const texts = [operation, binding, version].map(textOf).filter(text => text !== null)
  return texts.length === 0 ? null : texts.join(' ')
}

function violationsOf (list: unknown): PastedViolation[] {
  return !Array.isArray(list)
    ? []
    : list.filter(isObject).map(entry => ({
      rule: textOf(entry.extension) === null ? textOf(entry.rule) : `${String(entry.extension)}/${String(entry.rule)}`,
      path: textOf(entry.path) ?? '',
      message: textOf(entry.message) ?? ''
    }))
}

function idsOf (ids: JsonObject): Record<string, string> {
  return Object.fromEntries(Object.entries(ids).flatMap(([name, value]) => typeof value === 'string' ? [[name, value]] : []))
}

function textOf (value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function jsonOf (text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
