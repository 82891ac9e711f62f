/**
 * The declared behaviour of a proxy, `proxy.yaml`. A case that depends on something that the proxy does not claim is "not claimed" instead
 * of failed. One table describes the keys: the reader, the JSON Schema and the page of the profile follow from it.
 */
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import { nearest } from '#wire/nearest.js'
import type { Claim, Transport, Version } from '../model.js'

export interface Declaration {
  readonly name: string
  readonly version: string
  readonly bindings: readonly Transport[]
  readonly versions: readonly Version[]
  readonly claims: ReadonlySet<Claim>
}

interface Key {
  readonly description: string
  readonly type: 'text' | 'choice' | 'list' | 'size'
  readonly values?: readonly string[]
  readonly fallback: string | readonly string[]
}

/** Keys of the file. The fallback is what a proxy claims without the key. */
export const KEYS: Readonly<Record<string, Key>> = {
  name: { description: 'Name of the proxy in the report', type: 'text', fallback: 'proxy' },
  version: { description: 'Version of the proxy in the report', type: 'text', fallback: '' },
  bindings: {
    description: 'Bindings that the proxy forwards',
    type: 'list',
    values: ['jsonrpc', 'rest', 'grpc'],
    fallback: ['jsonrpc', 'rest', 'grpc']
  },
  versions: { description: 'Versions of A2A that the proxy forwards', type: 'list', values: ['1.0', '0.3'], fallback: ['1.0', '0.3'] },
  cards: {
    description: 'rewritten: addresses in the served card lead to the proxy. unchanged: the proxy serves the bytes of the agent',
    type: 'choice',
    values: ['rewritten', 'unchanged'],
    fallback: 'rewritten'
  },
  errors: {
    description: "binding: errors that the proxy itself creates have the form of the caller's binding. own: they have another form",
    type: 'choice',
    values: ['binding', 'own'],
    fallback: 'binding'
  },
  versionHeader: {
    description: 'enforced: the proxy rejects versions that no interface of the agent has. forwarded: the agent decides',
    type: 'choice',
    values: ['enforced', 'forwarded'],
    fallback: 'forwarded'
  },
  encodings: {
    description: 'unchanged: bodies with Content-Encoding pass as they are. decoded: the proxy may decode them',
    type: 'choice',
    values: ['unchanged', 'decoded'],
    fallback: 'unchanged'
  },
  tracing: {
    description: 'continued: the proxy takes part in traces, and its requests carry an own parent. forwarded: trace headers pass unchanged',
    type: 'choice',
    values: ['continued', 'forwarded'],
    fallback: 'forwarded'
  },
  extensions: {
    description: 'enforced: the proxy rejects requests without an extension that the card requires. forwarded: the agent decides',
    type: 'choice',
    values: ['enforced', 'forwarded'],
    fallback: 'forwarded'
  },
  maxBody: {
    description: 'Largest body of a request that the proxy forwards, for example 1MiB; none: no limit', type: 'size', fallback: 'none'
  }
}

export interface DeclarationProblem { readonly line: number, readonly column: number, readonly message: string }

export type DeclarationResult =
  | { readonly ok: true, readonly declaration: Declaration }
  | { readonly ok: false, readonly problems: readonly DeclarationProblem[] }

type Values = Readonly<Record<string, string | readonly string[]>>

/** What a proxy without a file claims. */
export const UNDECLARED: Declaration = declarationOf({})

/** Reads the text of `proxy.yaml`. The result has all problems, each with its place. */
export function readDeclaration (text: string): DeclarationResult {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const problems: DeclarationProblem[] = []
  const report = (offset: number, message: string): void => {
    const { line, col } = lines.linePos(offset)
    problems.push({ line, column: col, message })
  }
  for (const error of document.errors) report(error.pos[0], error.message.split('\n')[0] ?? 'invalid YAML')
  const root = document.contents
  if (problems.length === 0 && !isMap(root)) report(0, `must be a map with the keys ${Object.keys(KEYS).join(', ')}`)
  const values: Record<string, string | readonly string[]> = {}
  for (const { key, value } of isMap(root) ? root.items : []) {
    const name = isScalar(key) ? String(key.value) : ''
    const offset = (isScalar(key) ? key.range?.[0] : undefined) ?? 0
    const definition = Object.hasOwn(KEYS, name) ? KEYS[name] : undefined
    if (definition === undefined) {
      const near = nearest(name, Object.keys(KEYS))
      report(offset, `unknown key "${name}"; ${near === null ? `the keys are ${Object.keys(KEYS).join(', ')}` : `did you mean "${near}"?`}`)
      continue
    }
    const items = isSeq(value) ? value.items : [value]
    const texts = items.map(item => isScalar(item) && item.value !== null && typeof item.value !== 'object'
      ? item.source ?? String(item.value)
      : null)
    const place = (value as { range?: readonly number[] } | null)?.range?.[0] ?? offset
    const problem = problemOf(name, definition, isSeq(value), texts)
    if (problem !== null) report(place, problem)
    else values[name] = definition.type === 'list' ? texts as string[] : texts[0] as string
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, declaration: declarationOf(values) }
}

function problemOf (name: string, { type, values = [] }: Key, isList: boolean, texts: ReadonlyArray<string | null>): string | null {
  if (type === 'list' && (!isList || texts.length === 0)) return `"${name}" must be a list of ${values.join(', ')}`
  if (type !== 'list' && isList) return `"${name}" must be one value, not a list`
  if (texts.includes(null)) return `"${name}" must be ${type === 'size' ? 'a size such as 1MiB, or none' : 'text'}`
  if (type === 'size' && bytesOf(texts[0] as string) === null) return `"${name}" must be a size such as 100KiB or 1MiB, or none`
  const wrong = values.length === 0 ? undefined : texts.find(text => !values.includes(text as string))
  return wrong === undefined ? null : `"${name}" cannot be "${wrong ?? ''}"; use ${values.join(' or ')}`
}

/** @returns bytes; Infinity for `none`; null when the text is no size */
function bytesOf (text: string): number | null {
  if (text === 'none') return Infinity
  const [, number = '', unit = ''] = /^(\d+)(B|KiB|MiB|kB|MB)?$/.exec(text) ?? []
  return number === '' ? null : Number(number) * ({ KiB: 1_024, MiB: 1_048_576, kB: 1_000, MB: 1_000_000 }[unit] ?? 1)
}

function declarationOf (values: Values): Declaration {
  const valueOf = (name: string): string | readonly string[] => values[name] ?? KEYS[name]?.fallback ?? ''
  const bindings = valueOf('bindings') as Transport[]
  const claims: Array<readonly [Claim, boolean]> = [
    ['rewritesCards', valueOf('cards') === 'rewritten'],
    ['ownErrors', valueOf('errors') === 'binding'],
    ['readsVersion', valueOf('versionHeader') === 'enforced'],
    ['compression', valueOf('encodings') === 'unchanged'],
    ['tracing', valueOf('tracing') === 'continued'],
    ['enforcesExtensions', valueOf('extensions') === 'enforced'],
    ['bodyOf1MiB', (bytesOf(valueOf('maxBody') as string) ?? 0) >= 1_100_000]
  ]
  return {
    name: valueOf('name') as string,
    version: valueOf('version') as string,
    bindings,
    versions: valueOf('versions') as Version[],
    claims: new Set(claims.filter(([, isClaimed]) => isClaimed).map(([claim]) => claim))
  }
}

/** The JSON Schema of `proxy.yaml`, for editors. */
export function declarationSchema (): object {
  const properties = Object.entries(KEYS).map(([name, { description, type, values, fallback }]) => {
    const base = { description, default: fallback }
    if (type === 'list') return [name, { ...base, type: 'array', minItems: 1, items: { enum: values } }]
    if (type === 'choice') return [name, { ...base, enum: values }]
    if (type === 'size') return [name, { ...base, type: ['string', 'integer'], pattern: '^(none|[0-9]+(B|KiB|MiB|kB|MB)?)$' }]
    return [name, { ...base, type: ['string', 'number'] }]
  })
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Declared behaviour of an A2A proxy',
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(properties)
  }
}
