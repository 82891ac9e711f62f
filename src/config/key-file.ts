/** Reads the file of a source's API keys: a list of digests in YAML or JSON. */
import { statSync } from 'node:fs'
import { fileErrorText } from './describe.js'
import { didYouMean, formatValue } from './diagnostics.js'
import type { Path } from './diagnostics.js'
import { locate, readYaml } from './yaml/document.js'
import type { YamlFile } from './yaml/document.js'
import { readBounded } from './yaml/read-bounded.js'
import { items } from './yaml/values.js'
import type { KeyEntry } from './schema/identity-schema.js'
import { isObject } from '#wire/json/object.js'

const MAX_BYTES = 4 * 1024 * 1024
const MAX_PROBLEMS = 10
const KEYS = ['id', 'sha256', 'client', 'expires', 'groups', 'scopes', 'tenant']
/** Text of a caller: visible, so that log lines and headers can hold it. */
const NAME = /^[\x21-\x7e]{1,256}$/
const DIGEST = /^[0-9a-f]{64}$/
/** A date, or a time with its offset. */
const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

export type KeyFile =
  | { readonly entries: readonly KeyEntry[] }
  /** Each begins with the position in the file, if there is one. */
  | { readonly problems: readonly string[] }

/** @param file absolute path */
export function readKeyFile (file: string): KeyFile {
  let text: string
  try {
    // Reading a pipe would block.
    if (!statSync(file).isFile()) return { problems: ['not a file'] }
    const bytes = readBounded(file, MAX_BYTES)
    if (bytes === null) return { problems: ['larger than 4 MiB'] }
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    return { problems: [error instanceof TypeError ? 'not UTF-8' : fileErrorText(error)] }
  }
  const yaml = readYaml(text, null)
  const problems = yaml.problems.map(({ offset, message }) => placed(yaml, offset, message))
  if (problems.length > 0) return { problems: problems.slice(0, MAX_PROBLEMS) }
  const value = yaml.root?.value
  if (!Array.isArray(value)) return { problems: ['must be a list of keys, as "a2a-gateway key" prints them'] }
  return entriesOf(value, yaml)
}

function placed (yaml: YamlFile, offset: number, message: string): string {
  const { line, col } = yaml.position(offset)
  return `${line}:${col}: ${message}`
}

function entriesOf (list: readonly unknown[], yaml: YamlFile): KeyFile {
  const problems: string[] = []
  const at = (path: Path, message: string): void => { problems.push(placed(yaml, locate(yaml.root, path, 'value'), message)) }
  const ids = new Set<unknown>()
  const digests = new Set<unknown>()
  list.forEach((entry, i) => {
    if (!isObject(entry)) return at([i], 'must be a mapping with id and sha256')
    for (const key of Object.keys(entry)) {
      if (KEYS.includes(key)) continue
      const { line, col } = yaml.position(locate(yaml.root, [i, key], 'key'))
      problems.push(`${line}:${col}: unknown key ${formatValue(key)}, ${didYouMean(key, KEYS) ?? `known keys: ${KEYS.join(', ')}`}`)
    }
    const { id, sha256, expires } = entry
    if (!isKeyName(id)) at([i, 'id'], 'id must have from 1 to 256 visible ASCII characters')
    else if (ids.has(id)) at([i, 'id'], `two keys have the id ${formatValue(id)}`)
    ids.add(id)
    if (typeof sha256 !== 'string' || !DIGEST.test(sha256.toLowerCase())) {
      at(
        [i, 'sha256'], 'sha256 must be the SHA-256 of the key, 64 hex digits'
      )
    } else if (digests.has(sha256.toLowerCase())) at([i, 'sha256'], 'two entries have the same key')
    else digests.add(sha256.toLowerCase())
    for (const key of ['client', 'tenant'] as const) {
      if (entry[key] !== undefined && !isKeyName(entry[key])) at([i, key], `${key} must have from 1 to 256 visible ASCII characters`)
    }
    for (const key of ['groups', 'scopes'] as const) {
      const value = entry[key]
      if (value !== undefined && !(Array.isArray(value) && value.length <= 32 && value.every(isKeyName))) {
        at([i, key], `${key} must be a list of at most 32 names`)
      }
    }
    if (expires !== undefined && timeOf(expires) === null) {
      at(
        [i, 'expires'], 'expires must be a date or time, such as 2027-01-01 or 2027-01-01T12:00:00Z'
      )
    }
  })
  return problems.length > 0 ? { problems: problems.slice(0, MAX_PROBLEMS) } : { entries: list.map(entry => entryOf(entry as Written)) }
}

interface Written extends Readonly<Partial<Record<keyof KeyEntry, unknown>>> { readonly id: string, readonly sha256: string }

function entryOf ({ id, sha256, client, expires, groups, scopes, tenant }: Written): KeyEntry {
  return {
    id,
    sha256: sha256.toLowerCase(),
    client: typeof client === 'string' ? client : null,
    expires: expires === undefined ? null : timeOf(expires),
    groups: items(groups) as readonly string[],
    scopes: items(scopes) as readonly string[],
    tenant: typeof tenant === 'string' ? tenant : null
  }
}

export function isKeyName (value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value)
}

/** A date is its beginning in UTC. @returns milliseconds since the epoch, or null */
export function timeOf (value: unknown): number | null {
  if (typeof value !== 'string' || !TIME.test(value)) return null
  const time = Date.parse(value)
  // Date.parse accepts 31 February.
  return Number.isNaN(time) || new Date(`${value.slice(0, 10)}T00:00Z`).getUTCDate() !== Number(value.slice(8, 10)) ? null : time
}
