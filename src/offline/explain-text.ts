/** An explanation as text. */
import type { CheckTrace, Explanation, ForwardedShown, PolicyTrace, RefusalShown, RuleTrace } from './explanation.js'

const WIDTH = 10

export function explanationText (one: Explanation): string {
  const { request, agent } = one
  const at = `${request.file}${request.line > 0 ? `:${request.line}` : ''}`
  const lines = [
    field('request', `${request.method} ${request.target ?? ''}`.trimEnd()),
    field('from', `${at}, number ${request.number}${request.name === null ? '' : ` "${request.name}"`}, ${bytes(request.bodyBytes)} of body`),
    ...one.notes.map(note => field('note', note)),
    ...(agent === null ? [field('agent', 'none is served at this address')] : [field('agent', `${agent.name} (mode ${agent.mode}), ${FOUND[agent.foundBy]}`)]),
    ...(one.card === null ? [] : [field('card', one.card)]),
    ...(one.kind === 'operation' || one.kind === 'refused' ? [] : [field('address', KINDS[one.kind])]),
    ...(one.binding === null ? [] : [field('binding', one.binding)]),
    field('version', `${one.version}: ${one.versionWhy}`),
    ...(one.operation === null ? [] : [field('operation', one.method === null ? one.operation : `${one.operation}, method ${one.method}`)]),
    ...sets(one),
    ...policies(one.policies),
    ...checks(one.checks),
    '',
    field('decision', decision(one)),
    ...(one.forwarded === null ? [] : forwarded(one.forwarded)),
    ...(one.refusal === null ? [] : refusal(one.refusal))
  ]
  return `${lines.join('\n')}\n`
}

const FOUND = { address: 'by host and path', flag: 'by --agent', only: 'the only one' }
const KINDS = { card: 'the AgentCard', preflight: 'a CORS preflight: the agent answers it', passthrough: 'passthrough: not inspected' }

function field (name: string, text: string): string {
  return `${name.padEnd(WIDTH)} ${text}`
}

function bytes (count: number): string {
  return `${count} ${count === 1 ? 'byte' : 'bytes'}`
}

function sets ({ extensions }: Explanation): string[] {
  if (extensions === null) return []
  return ['', 'extensions', ...Object.entries(extensions).flatMap(([name, uris]: [string, readonly string[]]) =>
    uris.length === 0 ? [`  ${field(name, '-')}`] : uris.map((uri, i) => `  ${field(i === 0 ? name : '', uri)}`))]
}

function policies (list: readonly PolicyTrace[]): string[] {
  if (list.length === 0) return []
  return ['', 'policies', ...list.flatMap(one => [
    `  ${one.name} (mode ${one.mode}, ${origin(one)})${one.uri === null ? '' : ` ${one.uri}`}`,
    `    ${stateOf(one)}`,
    ...(one.why === null ? one.rules.flatMap(rule) : [])
  ])]
}

/** The lowest layer, and what those above it say. */
function origin ({ layers, from }: PolicyTrace): string {
  const [lowest] = layers
  const above = layers.slice(1).map(layer => `${Object.keys(from).filter(key => from[key] === layer).join(', ') || 'nothing'} by the ${layer}`)
  return [`given by the ${lowest ?? 'catalogue'}`, ...above].join('; ')
}

function stateOf ({ why, active, evidence }: PolicyTrace): string {
  if (why !== null) return `its rules do not apply: ${why}`
  if (active) return 'active'
  return evidence === null ? 'not active; its rules look at every request all the same' : `not active; its rules apply because its data is at ${evidence}`
}

function rule ({ id, verdict, why, values, violations }: RuleTrace): string[] {
  const text = verdict === 'passed'
    ? `passed (${values === 0 ? 'nothing to look at' : `${values} ${values === 1 ? 'value' : 'values'}`})`
    : verdict === 'not applicable' ? `does not apply: ${why ?? ''}` : verdict === 'observed' ? 'broken, observed only' : 'broken'
  return [`    ${id}: ${text}`, ...violations.map(({ path, message }) => `      ${path}: ${message}`)]
}

function checks (list: readonly CheckTrace[]): string[] {
  if (list.length === 0) return []
  return ['', 'other checks', ...list.flatMap(({ rule: name, verdict, path, message }) => [`  ${name}: ${verdict === 'observed' ? 'broken, observed only' : 'broken'}`, `    ${path === '' ? '' : `${path}: `}${message}`])]
}

function decision (one: Explanation): string {
  if (one.decision === 'reject') return `reject, by the rule ${one.rule ?? ''} (${one.reason ?? ''})`
  if (one.decision === 'answer') return 'the gateway answers with the agent\'s card'
  const observed = one.checks.length + one.policies.flatMap(policy => policy.rules).filter(each => each.verdict === 'observed').length
  return observed === 0 ? 'forward' : 'forward; what is broken is only observed'
}

const MARKS = { same: ' ', changed: '~', added: '+' }

function forwarded ({ method, url, headers, dropped, body }: ForwardedShown): string[] {
  return [
    '',
    'what the agent gets (+ added, ~ changed, - left out; *** may be the client\'s own)',
    `    ${method} ${url}`,
    ...headers.map(({ name, value, change }) => `  ${MARKS[change]} ${name}: ${value}`),
    ...dropped.map(name => `  - ${name}`),
    '',
    `    ${body.bytes === 0 ? 'no body' : `the body, ${bytes(body.bytes)}`}${body.unchanged ? body.bytes === 0 ? '' : ', unchanged' : ', edited'}`
  ]
}

function refusal ({ status, phrase, headers, body }: RefusalShown): string[] {
  return [
    '',
    'what the client gets',
    `  HTTP/1.1 ${status} ${phrase}`,
    ...headers.map(({ name, value }) => `  ${name}: ${value}`),
    '',
    ...(body === '' ? [] : body.trimEnd().split('\n').map(line => `  ${line}`))
  ]
}
