/** Every sentence about conditions on the caller, as printed: file:line:col: message (hint). */
import type { Row } from './rows.js'
import { policyWith } from './rows.js'

const IDENTITY = `identity: {sources: {corp: {jwt: {issuer: "https://idp.example.com", audience: ["aud"], keys: discover}}}}\n`
const withPolicy = (lines: string, more = IDENTITY): string => policyWith(`owns: {metadata: [m]}\n${lines}`) + more
const withCallers = (callers: string, more = ''): string => withPolicy(`activation:\n  callers: ${callers}\n${more}`.trimEnd())
const ruleFor = (condition: string, more = IDENTITY): string =>
  withPolicy(`request:\n  - id: r\n    select: {part: {}}\n    ${condition}\n    count: {max: 0}`, more)

export const CALLER_ROWS: readonly Row[] = [
  ['right', withCallers('{groups: [finance], scopes: [pay], source: [corp], claims: {/a: [1, x]}, match: {required: [tenant]}}')],
  ['right, nobody', withCallers('{anonymous: true}')],
  ['right, a rule', ruleFor('unless: {caller: {groups: [treasurers]}}')],
  ['right, strip data for some', withPolicy('activation: {signals: [evidence], callers: {groups: [a]}}\ninactive: {request: strip}')],
  ['right, inject', withPolicy('activation: {default: inject}\ninject:\n  - {metadata: m, fromCaller: /a~1b, required: true}')],
  ['empty', withCallers('{}')],
  ['an unknown key', withCallers('{group: [a]}')],
  ['a pointer that is none', withCallers('{claims: {a: 1}}')],
  ['anonymous and more', withCallers('{anonymous: true, groups: [a], source: [corp]}')],
  ['an unknown source', withCallers('{source: [crop]}')],
  ['another unknown source', ruleFor('when: {caller: {source: [corp, partners-of-ours]}}')],
  ['an invalid schema', withCallers('{match: {type: text}}')],
  ['an invalid schema in a rule', ruleFor('when: {caller: {match: {requires: [tenant]}}}')],
  ['a file instead of a schema', ruleFor('when: {caller: {match: {file: a.json}}}')],
  ['nothing matches', ruleFor('unless: {caller: {match: false}}')],
  ['without identity', withPolicy('activation: {callers: {groups: [a]}}\ninject:\n  - {metadata: m, fromCaller: subject}', '')],
  ['a rule without identity', ruleFor('when: {caller: {groups: [a]}}', '')],
  ['right, nobody without identity', ruleFor('when: {caller: {anonymous: true}}', '')],
  ['always required', withCallers('{groups: [a]}', '  required: always\n')],
  ['nothing owned', policyWith('activation: {callers: {groups: [a]}}') + IDENTITY],
  ['strip without callers', withPolicy('activation: {onForbidden: strip}')],
  ['a name without owner', withPolicy('activation: {callers: {groups: [a]}, default: inject}\ninject:\n  - {metadata: other, value: 1}')],
  ['forward without card', withPolicy('activation: {callers: {groups: [a]}}').replace('    extensions: [p]', '    card: {onUnavailable: forward}\n    extensions: [p]')],
  ['both', withPolicy('inactive: {request: strip}\ninject:\n  - {metadata: m, value: 1, fromCaller: subject}')],
  ['not a property', withPolicy('inactive: {request: strip}\ninject:\n  - {metadata: m, fromCaller: groups}')],
  ['required without caller', withPolicy('inactive: {request: strip}\ninject:\n  - {metadata: m, value: 1, required: true}')],
  ['not always supplied', withPolicy('activation: {default: inject}\ninject:\n  - {metadata: m, fromCaller: tenant}\nrequest:\n  - {id: r, select: {metadata: {key: m}}, required: true}')]
]
