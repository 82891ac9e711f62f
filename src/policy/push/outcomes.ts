/** The decisions about the push notification URLs of a request, for `push_urls_total`. */
import type { Call } from '#a2a/message/call.js'
import type { Decision } from '../request/decision.js'
import { GATEWAY } from '../violation.js'
import { pushConfigsOf } from './configs.js'

/** `observe`: the agent gets a URL that `enforce` would reject. */
export type PushUrlDecision = 'allow' | 'observe' | 'reject'

/** @returns one decision for each URL; none for URLs of requests that something else rejects */
export function pushUrlDecisions (call: Call, { violations, rejection }: Decision): readonly PushUrlDecision[] {
  const configs = pushConfigsOf(call)
  if (configs === null) return NONE
  const paths = violations.filter(({ extension, rule }) => extension === GATEWAY && rule.startsWith('push')).map(({ path }) => path)
  const concerned = configs.length === 0 ? paths.slice(0, 1) : configs.filter(config => paths.some(path => isWithin(path, config.path)))
  if (rejection !== null) return concerned.map(() => 'reject')
  return configs.map(config => (concerned.some(other => other === config) ? 'observe' : 'allow'))
}

/** A violation without a path is about the whole request. */
function isWithin (path: string, config: string): boolean {
  return path === '' || config === '' || path === config || path.startsWith(`${config}.`) || path.startsWith(`${config}[`)
}

const NONE: readonly never[] = []
