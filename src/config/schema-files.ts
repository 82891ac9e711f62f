/** Reads the JSON Schema files of a configuration, once per load, and replaces the references to them with their content. */
import { createHash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { inexactConstant, inexactConstantMessage } from '#a2a/inexact-constants.js'
import { parseStrict } from '#wire/json/json.js'
import { fileErrorText } from './describe.js'
import { didYouMean, dotted, formatValue } from './diagnostics.js'
import type { Path, PathProblem } from './diagnostics.js'
import { readYaml } from './yaml/document.js'
import { FORMATS } from './schema/formats.js'
import { MAX_FILE_BYTES } from './yaml/guard.js'
import type { SchemaRef, SchemaSet } from './model/model.js'
import { INLINE_NAME } from './model/schema-model.js'
import { readBounded } from './yaml/read-bounded.js'
import { isObject } from '#wire/json/object.js'
import { problemAt, items, mapping } from './yaml/values.js'
import type { Mapping } from './yaml/values.js'

const LIMITS = { depth: 200, members: 200_000 }
const MAX_BUNDLE_FILES = 1_000
const MAX_BUNDLE_BYTES = 16 * 1024 * 1024

type Documents = Map<string, { readonly file: string, readonly schema: unknown, readonly authored: boolean }>

/** A set of loaded schemas. Its JSON form is the fingerprint of its content, for use in digests. */
class ReadSet implements SchemaSet {
  readonly draft: SchemaSet['draft']
  readonly documents: SchemaSet['documents']
  private readonly fingerprint: string

  constructor (draft: SchemaSet['draft'], documents: Documents) {
    this.draft = draft
    this.documents = documents
    this.fingerprint = createHash('sha256').update(JSON.stringify([draft, [...documents]])).digest('hex')
  }

  toJSON (): string {
    return this.fingerprint
  }
}

/** URI of an inline schema in its set. */
const INLINE = 'schema-inline:/schema'

/** Keywords whose value is data, and keywords whose value maps names to schemas. */
const CONSTANTS: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples'])
const NAMED: ReadonlySet<string> = new Set(['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties'])

function isFileName (file: unknown): file is string {
  return typeof file === 'string' && file !== '' && !file.includes('\0')
}

export class SchemaFiles {
  readonly problems: PathProblem[] = []
  /** Absolute paths of all files that were requested, and of the directories. */
  readonly files: string[] = []
  private readonly baseDir: string
  private readonly read: ReadSchema
  private readonly sets = new Map<string, SchemaSet>()
  private readonly single = new Map<string, SchemaRef | SchemaProblem>()
  /** Base URIs of bundles that could not be read. Their schemas are unknown. */
  private readonly unreadBases: string[] = []
  private readonly bases: string[] = []

  /**
   * @param baseDir directory that paths are relative to
   * @param read reads one schema file; default: from the disk
   * @param bundles bundles that the policies may refer to besides those of `readBundles`
   */
  constructor (baseDir: string, read: ReadSchema = readSchema, bundles: Readonly<Record<string, SchemaSet>> = {}) {
    this.baseDir = baseDir
    this.read = read
    for (const [name, set] of Object.entries(bundles)) this.sets.set(name, set)
  }

  /**
   * Reads the `bundles` of a file.
   * @returns the bundles that could be read
   */
  readBundles (value: unknown): Record<string, SchemaSet> {
    for (const [name, bundle] of Object.entries(mapping(value))) {
      const { base, dir, draft } = mapping(bundle)
      if (typeof base !== 'string' || typeof dir !== 'string' || dir === '' || dir.includes('\0')) continue
      const at: Path = ['bundles', name, 'dir']
      const documents = this.readDirectory(dir, base, at)
      if (documents === null) {
        this.unreadBases.push(base)
        continue
      }
      const other = [...this.sets].find(([, set]) => [...documents.keys()].some((uri) => set.documents.has(uri)))
      if (other !== undefined) {
        this.problems.push(
          problemAt(
            at,
            `${dotted(['bundles', name])} and ${dotted(['bundles', other[0]])} contain schemas with the same URI`,
            'give each its own base'
          )
        )
      }
      this.bases.push(base)
      this.sets.set(name, new ReadSet((draft ?? null) as SchemaSet['draft'], documents))
    }
    return Object.fromEntries(this.sets)
  }

  /**
   * Returns a policy with its `file` and `ref` sources replaced by the loaded schemas.
   * @param path path of the policy, for problems
   */
  withSources (policy: unknown, path: Path): unknown {
    const { methods, routes, card } = mapping(policy)
    const changed: Record<string, unknown> = { ...mapping(policy) }
    const set = (parent: unknown, key: string, at: Path): unknown => {
      const source = mapping(parent)[key]
      const content = this.source(source, [...at, key])
      return content === source ? parent : { ...mapping(parent), [key]: content }
    }
    if (Object.keys(mapping(methods)).length > 0) {
      changed.methods = Object.fromEntries(
        Object.entries(mapping(methods)).map(([name, method]) => [name, set(method, 'params', [...path, 'methods', name])])
      )
    }
    if (items(routes).length > 0) changed.routes = items(routes).map((route, index) => set(route, 'body', [...path, 'routes', index]))
    for (const key of ['request', 'response']) {
      const rules = items(mapping(policy)[key])
      if (rules.length > 0) changed[key] = rules.map((rule, index) => set(rule, 'schema', [...path, key, index]))
    }
    if (Object.keys(mapping(card)).length > 0) changed.card = set(set(card, 'params', [...path, 'card']), 'schema', [...path, 'card'])
    return Object.keys(changed).length > 0 ? changed : policy
  }

  private source (source: unknown, at: Path): unknown {
    const { file, ref } = mapping(source)
    const only = Object.keys(mapping(source)).length === 1
    if (only && isFileName(file)) return this.file(file, [...at, 'file'])
    return only && typeof ref === 'string' ? this.ref(ref, [...at, 'ref']) : this.inline(source, at)
  }

  /**
   * Returns an inline schema together with the files and bundles that it refers to, by nested `{file: path}` and by `$ref`. Returns the
   * schema itself when it refers to none.
   */
  private inline (schema: unknown, at: Path): unknown {
    const documents: Documents = new Map()
    const drafts = new Set<SchemaSet['draft']>()
    let unread = false
    const add = (set: SchemaSet): void => {
      for (const [uri, document] of set.documents) documents.set(uri, document)
    }
    const visit = (value: unknown, here: Path, named: boolean): unknown => {
      if (Array.isArray(value)) return value.map((element, index) => visit(element, [...here, index], false))
      if (!isObject(value)) return value
      const { file, $ref } = value
      if (!named && isFileName(file) && Object.keys(value).length === 1) {
        const content = this.file(file, [...here, 'file'])
        unread ||= content === true
        if (content === true) return content
        add(content.set)
        return { $ref: content.ref }
      }
      if (!named && typeof $ref === 'string') {
        const [uri = ''] = $ref.split('#', 1)
        const set = [...this.sets.values()].find(schemaSet => schemaSet.documents.has(uri))
        if (set !== undefined) {
          add(set)
          drafts.add(set.draft)
        } else if (uri !== '' && this.isOfBundle(uri)) {
          unread = this.ref($ref, [...here, '$ref']) === true
        }
      }
      return Object.fromEntries(
        Object.entries(value).map(([key, child]) => [
          key,
          !named && CONSTANTS.has(key) ? child : visit(child, [...here, key], !named && NAMED.has(key))
        ])
      )
    }
    const schemas = visit(schema, at, false)
    // A problem is already reported, and `true` causes no further problems.
    if (unread) return true
    if (documents.size === 0) return schema
    documents.set(INLINE, { file: INLINE_NAME, schema: schemas, authored: true })
    const [draft = null] = drafts
    return { ref: INLINE, set: new ReadSet(drafts.size === 1 ? draft : null, documents) }
  }

  /** True for a URI below the base of a bundle. */
  private isOfBundle (uri: string): boolean {
    return [...this.unreadBases, ...this.bases].some(base => uri.startsWith(base))
  }

  /**
   * Returns the schema of a file. Returns `true` when the schema cannot be read: the problem is reported once, and `true` causes no further
   * problems.
   */
  private file (file: string, at: Path): SchemaRef | true {
    let parsedFile = this.single.get(file)
    if (parsedFile === undefined) {
      const path = resolve(this.baseDir, file)
      this.files.push(path)
      const read = this.read(path, file)
      const ref = `schema-file:/${encodeURIComponent(file)}`
      parsedFile = 'message' in read
        ? read
        : { ref, set: new ReadSet(null, new Map([[ref, { file, schema: read.schema, authored: true }]])) }
      this.single.set(file, parsedFile)
    }
    if (!('message' in parsedFile)) return parsedFile
    this.problems.push(problemAt(at, `${dotted(at)}: ${parsedFile.message}`, parsedFile.hint, 'value', 'A2AGW_ERR_CONFIG_FILE'))
    return true
  }

  private ref (ref: string, at: Path): SchemaRef | true {
    const [uri = ''] = ref.split('#', 1)
    const set = [...this.sets.values()].find(({ documents }) => documents.has(uri))
    if (set !== undefined) return { ref, set }
    // The configuration's own schema reports an invalid URI.
    if (FORMATS.uri(ref) !== null || this.unreadBases.some((base) => uri.startsWith(base))) return true
    const uris = [...this.sets.values()].flatMap(({ documents }) => [...documents.keys()])
    const hint = uris.length === 0 ? 'define the available schemas in bundles' : nearestUri(uri, uris)
    this.problems.push(problemAt(at, `${dotted(at)}: no bundle contains ${formatValue(uri)}`, hint, 'value', 'A2AGW_ERR_CONFIG_SCHEMA'))
    return true
  }

  /** Reads every `*.json` file of the directory. */
  private readDirectory (dir: string, base: string, at: Path): Documents | null {
    const directory = resolve(this.baseDir, dir)
    this.files.push(directory)
    const rejected = (message: string, hint?: string): null => {
      this.problems.push(problemAt(at, `${dotted(at)}: ${message}`, hint, 'value', 'A2AGW_ERR_CONFIG_FILE'))
      return null
    }
    let names: string[]
    try {
      names = readdirSync(directory).filter((name) => name.endsWith('.json')).toSorted()
    } catch (error) {
      return rejected(`cannot read ${formatValue(dir)}: ${fileErrorText(error)}`, RELATIVE)
    }
    if (names.length === 0) return rejected(`${formatValue(dir)} contains no *.json`)
    if (names.length > MAX_BUNDLE_FILES) return rejected(`${formatValue(dir)} contains more than ${MAX_BUNDLE_FILES} schemas`)
    const documents: Documents = new Map()
    let bytes = 0
    for (const name of names) {
      const path = join(directory, name)
      this.files.push(path)
      const file = `${dir.replace(/\/$/, '')}/${name}`
      const read = this.read(path, file)
      if ('message' in read) return rejected(read.message, read.hint)
      bytes += read.bytes
      if (bytes > MAX_BUNDLE_BYTES) return rejected(`${formatValue(dir)} is larger than 16 MiB`)
      documents.set(base + name, { file, schema: read.schema, authored: false })
    }
    return documents
  }
}

/** Finds the nearest URI by the part after the last slash, because whole URIs are too long to compare. */
function nearestUri (uri: string, uris: readonly string[]): string {
  const last = (text: string): string => text.slice(text.lastIndexOf('/') + 1)
  const near = didYouMean(last(uri), uris.map(last))
  const same = uris.find((candidate) => last(candidate) === last(uri))
  return same !== undefined ? `did you mean "${same}"?` : near ?? `such as "${uris[0] ?? ''}"`
}

/**
 * Reads one schema file.
 * @param path absolute
 * @param file as the configuration names it
 * @returns the schema and the size of the file, or the problem
 */
export type ReadSchema = (path: string, file: string) => { readonly schema: unknown, readonly bytes: number } | SchemaProblem

interface SchemaProblem { readonly message: string, readonly hint?: string }

const RELATIVE = 'paths are relative to the configuration file'

/** Reads a schema from the disk. A problem has its position in the file when that is known. */
function readSchema (path: string, file: string): { readonly schema: unknown, readonly bytes: number } | SchemaProblem {
  let bytes: Buffer
  try {
    if (!statSync(path).isFile()) return { message: `cannot read ${formatValue(file)}: not a file`, hint: RELATIVE }
    const read = readBounded(path, MAX_FILE_BYTES)
    if (read === null) return { message: `${formatValue(file)} is larger than 1 MiB` }
    bytes = read
  } catch (error) {
    return { message: `cannot read ${formatValue(file)}: ${fileErrorText(error)}`, hint: RELATIVE }
  }
  if (/\.ya?ml$/i.test(file)) {
    const yaml = readYaml(bytes.toString(), null)
    const [problem] = yaml.problems
    if (problem !== undefined) return { message: `${placed(file, yaml.position(problem.offset))}: ${problem.message}` }
    return { schema: yaml.root?.value ?? null, bytes: bytes.length }
  }
  const json = parseStrict(bytes, LIMITS)
  if (json.ok) {
    const constant = inexactConstant(json.value, json.inexact)
    return constant === null ? { schema: json.value, bytes: bytes.length } : { message: `${file}: ${inexactConstantMessage(constant)}` }
  }
  const { offset, message } = json.problem
  return { message: `${offset === null ? file : placed(file, positionOf(bytes, offset))}: ${message}` }
}

function placed (file: string, { line, col }: { readonly line: number, readonly col: number }): string {
  return `${file}:${line}:${col}`
}

function positionOf (bytes: Buffer, offset: number): { line: number, col: number } {
  const lines = bytes.subarray(0, offset).toString().split('\n')
  return { line: lines.length, col: (lines.at(-1) ?? '').length + 1 }
}

/** Returns the configuration with its schemas in place, in policies of the file and in overlays of agents. */
export function withSchemas (value: unknown, files: SchemaFiles): Mapping {
  const { extensions, agents } = mapping(value)
  const sourced = (policies: unknown, path: Path): unknown =>
    Object.fromEntries(Object.entries(mapping(policies)).map(([name, policy]) => [name, files.withSources(policy, [...path, name])]))
  const withList = (agent: unknown, index: number): unknown => {
    const list = mapping(agent).extensions
    if (!items(list).some((entry) => typeof entry === 'object')) return agent
    return {
      ...mapping(agent),
      extensions: items(list).map((entry, at) =>
        Object.keys(mapping(entry)).length === 0 ? entry : sourced(entry, ['agents', index, 'extensions', at])
      )
    }
  }
  return {
    ...mapping(value),
    ...(Object.keys(mapping(extensions)).length === 0 ? {} : { extensions: sourced(extensions, ['extensions']) }),
    ...(items(agents).length === 0 ? {} : { agents: items(agents).map(withList) })
  }
}
