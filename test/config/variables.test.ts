/** No message repeats the value of a variable. Every key of the schema that takes a text gets one that is not valid there. */
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { CHECKS } from '#offline/configuration.js'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import { ROOT } from '../helpers/paths.js'
import { SEED, WHOLE } from '../helpers/seed.js'

interface Schema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
}

type Path = readonly (string | number)[]

const SCHEMA = JSON.parse(readFileSync(join(ROOT, 'config/gateway.schema.json'), 'utf8')) as Schema
const DEPTH = 14

/** The paths of all keys, also of those that take no text: a text is a problem there. */
function * paths (schema: Schema, path: Path, open: readonly string[]): Generator<Path> {
  const { $ref } = schema
  if ($ref !== undefined) {
    const name = $ref.slice('#/$defs/'.length)
    if (!open.includes(name)) yield * paths(SCHEMA.$defs?.[name] ?? {}, path, [...open, name])
    return
  }
  if (path.length > 0) yield path
  if (path.length >= DEPTH) return
  for (const [key, inner] of Object.entries(schema.properties ?? {})) yield * paths(inner, [...path, key], open)
  if (typeof schema.additionalProperties === 'object') yield * paths(schema.additionalProperties, [...path, 'some'], open)
  if (schema.items !== undefined) yield * paths(schema.items, [...path, 0], open)
}

function valueAt (path: Path, value: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return value
  return typeof step === 'number' ? [valueAt(rest, value)] : { [step]: valueAt(rest, value) }
}

type Tree = Record<string, unknown>

function merged (base: unknown, over: unknown): unknown {
  if (Array.isArray(base) && Array.isArray(over)) return [merged(base[0], over[0])]
  if (typeof base !== 'object' || base === null || typeof over !== 'object' || over === null || Array.isArray(over)) return over
  const result: Tree = { ...base as Tree }
  for (const [key, value] of Object.entries(over)) result[key] = key in result ? merged(result[key], value) : value
  return result
}

const BASE = { version: 1, agents: [{ name: 'one', upstream: { url: 'http://127.0.0.1:9999' } }] }

/** Values that are wrong in different ways: in most keys at least one of them is a problem. */
const SECRETS: Readonly<Record<string, string>> = {
  'a text': 'TopSecret-4711 (x',
  'an address with a password': 'http://user:TopSecret-4711@TopSecret-4711.example:99999/a b',
  'a long text': `TopSecret-4711-${'TopSecret-4711-'.repeat(12)}`,
  'a text with quotes and a line': 'TopSecret-4711"\\\nTopSecret-4711',
  'a number with too many digits': '47114711471147114711.5',
  'a relative file': 'TopSecret-4711/missing.yaml'
}
/* eslint-disable no-template-curly-in-string -- ${VAR} is the configuration's own syntax */
const SOURCES = ['${SECRET}', 'x-${SECRET}', 'http://${SECRET}/', '[${SECRET}', '^${SECRET}$$'] as const
/* eslint-enable no-template-curly-in-string */

t.test('every key of the schema', t => {
  const every = [...paths(SCHEMA, [], [])].filter(path => path[0] !== 'version')
  // Every third key, and all of them in the nightly suite: a file takes 6 ms to check.
  const all = WHOLE ? every : every.filter((_path, at) => at % 3 === SEED % 3)
  t.ok(every.length > 1_000, `${every.length} keys`)
  const leaks: string[] = []
  let messages = 0
  const reported = new Set<string>()
  const kinds = Object.entries(SECRETS)
  for (const [at, path] of all.entries()) {
    for (const round of [0, 1]) {
      const [kind, secret] = kinds[(at + round) % kinds.length] as [string, string]
      // The value alone, then as a part of a text.
      for (const text of [round === 0 ? SOURCES[0] : SOURCES[at % SOURCES.length] ?? SOURCES[0]]) {
        const yaml = stringify(merged(BASE, valueAt(path, text)))
        const loaded = parseConfig(yaml, { file: 'gateway.yaml', baseDir: tmpdir(), env: { SECRET: secret }, checks: CHECKS })
        const found = loaded.ok ? loaded.warnings : loaded.problems
        for (const one of found) {
          messages++
          const shown = formatDiagnostic(one)
          if (/topsecret|4711/i.test(shown)) leaks.push(`${path.join('.')} (${kind}, ${text}): ${shown}`)
          // eslint-disable-next-line no-template-curly-in-string -- the reference, as messages show it
          if (shown.includes('${SECRET}')) reported.add(path.join('.'))
        }
      }
    }
  }
  t.same(leaks.slice(0, 20), [], `${leaks.length} of ${messages} messages have the value`)
  t.ok(messages > all.length, `${messages} messages`)
  t.ok(reported.size / all.length > 500 / every.length, `${reported.size} keys have a message that names the variable`)
  t.end()
})
