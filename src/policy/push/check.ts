/**
 * `push`: limits the URLs to which clients let an agent send push notifications (A2A 1.0 §13.2: webhook URLs and server-side request
 * forgery). The agent sends the notifications itself, so the gateway checks each URL where a client sets it.
 */
import { isObject } from '#wire/json/object.js'
import type { UrlPattern } from '#wire/url-pattern.js'
import { compileUrlPattern } from '#wire/url-pattern.js'
import { Fields, FieldSet } from '#a2a/fields.js'
import { ANY } from '#a2a/json-types.js'
import type { Call } from '#a2a/message/call.js'
import type { Mode, PushConfig } from '#config/model/model.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import type { Violation } from '../violation.js'
import { addViolation, GATEWAY, violation } from '../violation.js'
import type { PushConfigFields } from './configs.js'
import { pushConfigsOf } from './configs.js'
import { isInternal, readPushUrl } from './url.js'

export interface CompiledPush {
  readonly mode: Mode
  readonly require: PushConfig['require']
  /** Null: every public host. */
  readonly allow: readonly UrlPattern[] | null
  readonly perTask: PushConfig['perTask']
  readonly onUnknown: PushConfig['onUnknown']
  readonly resolve: boolean
}

/** @returns null when nothing is checked */
export function compilePush (push: PushConfig | null, agentMode: Mode): CompiledPush | null {
  if (push === null || push.mode === 'off' || agentMode === 'off') return null
  return {
    mode: agentMode === 'observe' ? 'observe' : push.mode,
    require: push.require,
    allow: push.allow.length === 0 ? null : push.allow.map(pattern => compileUrlPattern(pattern)).filter(pattern => pattern !== null),
    perTask: push.perTask,
    onUnknown: push.onUnknown,
    resolve: push.resolve
  }
}

/** Steps of one configuration: reading its URL and comparing it with each pattern. */
const CONFIG = 4

export function checkPush (push: CompiledPush, call: Call, violations: Violation[]): void {
  const configs = pushConfigsOf(call)
  if (configs === null) return
  if (configs.length === 0) addPushViolation(push, call.request?.path === 'params' ? 'params.url' : 'url', 'is required', violations)
  for (const config of configs) {
    spendBudget(CONFIG + (push.allow?.length ?? 0))
    const url = config.get('url')
    const problem = typeof url === 'string' ? urlProblem(push, url) : 'is required'
    if (problem !== null) addPushViolation(push, config.pathOf('url'), problem, violations)
    for (const problem of credentialProblems(push, config)) addPushViolation(push, problem.path, problem.message, violations)
  }
}

export function addPushViolation ({ mode }: CompiledPush, path: string, message: string, violations: Violation[]): void {
  addViolation(violations, violation({ mode, reason: 'PUSH_URL_NOT_ALLOWED', extension: GATEWAY, rule: 'push', path, message }))
}

function urlProblem ({ require, allow }: CompiledPush, text: string): string | null {
  const read = readPushUrl(text)
  if ('problem' in read) return read.problem
  const { url } = read
  if (require.https && url.protocol !== 'https:') return 'must be an https URL'
  const allowedBy = allow?.filter(pattern => pattern.matches(url)) ?? null
  if (allowedBy?.length === 0) return 'is not one of the URLs that the operator of this gateway allows for push notifications'
  if (allowedBy?.some(pattern => pattern.namesHost) === true) return null
  return isInternal(url) ? 'must not name a private, local or reserved address' : null
}

const AUTHENTICATION = new FieldSet({ scheme: ANY, schemes: ANY, credentials: ANY })
/** A receiver would read a line break in a credential as another header. */
// eslint-disable-next-line no-control-regex
const CONTROL = /[\x00-\x1f\x7f]/

function * credentialProblems ({ require }: CompiledPush, config: PushConfigFields): Generator<{ path: string, message: string }> {
  const token = config.get('token')
  const object = config.get('authentication')
  const authentication = isObject(object) ? Fields.read(object, AUTHENTICATION, config.pathOf('authentication'), []) : null
  const scheme = authentication?.get('scheme')
  const schemes = authentication?.get('schemes')
  const texts: [string, unknown][] = [[config.pathOf('token'), token]]
  if (authentication !== null) {
    for (const name of ['scheme', 'credentials'] as const) texts.push([authentication.pathOf(name), authentication.get(name)])
    if (Array.isArray(schemes)) schemes.forEach((scheme, i) => texts.push([`${authentication.pathOf('schemes')}[${i}]`, scheme]))
  }
  for (const [path, text] of texts) {
    if (typeof text === 'string' && CONTROL.test(text)) yield { path, message: 'must not contain control characters' }
  }
  const named = isText(scheme) || (Array.isArray(schemes) && schemes.some(isText))
  if (require.authentication && !isText(token) && !named) {
    yield {
      path: config.pathOf('authentication'),
      message: 'is required: name the scheme with which the agent authenticates at the URL, or send a token'
    }
  }
}

function isText (value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
