import { dirname, resolve } from 'node:path'
import type { ErrorCode } from '#operator-errors.js'
import { loadCatalogue } from './catalogue.js'
import { checkConfig } from './checks/checks.js'
import { fileErrorText } from './describe.js'
import type { Discovered, LeftOut } from './discovered.js'
import { Expansion } from './discovered.js'
import type { Diagnostic, Path, PathProblem } from './diagnostics.js'
import { diagnostic, dotted, sortDiagnostics } from './diagnostics.js'
import type { YamlFile, Substituted } from './yaml/document.js'
import { locate, readYaml } from './yaml/document.js'
import { MAX_FILE_BYTES } from './yaml/guard.js'
import { PolicyLayers } from './layers.js'
import type { Config, PolicyConfig } from './model/model.js'
import { rememberOrigins } from './origins.js'
import type { Overrides } from './overrides.js'
import { applyOverrides, overriding, sourceOf } from './overrides.js'
import { readBounded } from './yaml/read-bounded.js'
import { readPolicyDirectory } from './policy-directory.js'
import { namedFiles } from './marks.js'
import { resolveConfig } from './resolve.js'
import { SchemaFiles, withSchemas } from './schema-files.js'
import { CONFIG_VERSION, configSchema } from './schema/schema.js'
import type { Environment } from './yaml/substitute.js'
import { validateConfig } from './validate.js'
import type { Mapping } from './yaml/values.js'
import { problemAt, mapping } from './yaml/values.js'
import type { Schema } from './schema/schema-builder.js'

export { loadCatalogue } from './catalogue.js'
export { formatDiagnostic, printDiagnostic } from './diagnostics.js'
export type { Diagnostic } from './diagnostics.js'
export { mergeOverrides, overridesFromEnvironment } from './overrides.js'
export type { Overrides } from './overrides.js'

/** A configuration that is ready to use, or all its problems in the order of the file. */
export type LoadResult =
  | {
    readonly ok: true
    readonly config: Config
    readonly warnings: readonly Diagnostic[]
    /** Agents of sources that this configuration does not have, with the reason. */
    readonly leftOut: readonly LeftOut[]
    /** Schema files and bundle directories that were read. The configuration changes when one of them changes. */
    readonly files: readonly string[]
  }
  | {
    readonly ok: false
    readonly problems: readonly Diagnostic[]
    /** Files that the configuration names, as far as it was readable. A file that appears later may fix the configuration. */
    readonly files: readonly string[]
  }

interface LoadContext {
  /** Name of the file in problems. */
  readonly file: string
  readonly env: Environment
  /** Settings that override the file. */
  readonly overrides?: Overrides | undefined
  /** Checks beyond those of this module: for example, that schemas compile and that certificates are usable. */
  readonly checks?: readonly Check[] | undefined
  /** True when the secrets that policies name must exist. Default true; false for tools that send nothing. */
  readonly secrets?: boolean | undefined
  /** Agents that the sources of the file have found. Default: none. */
  readonly discovered?: Discovered | undefined
}

/**
 * A further check of a configuration. The value may still be wrong. Schemas from files are already in place.
 * @param baseDir directory that paths in the file are relative to
 */
export type Check = (value: unknown, baseDir: string) => readonly PathProblem[]

/** Reads, checks and resolves a configuration file. Problems are returned, not thrown. */
export function loadConfig (options: LoadContext): LoadResult {
  const content = readText(options.file)
  if ('message' in content) return failed(options.file, content, UNREADABLE)
  return parseConfig(content.text, { ...options, baseDir: dirname(resolve(options.file)) })
}

/**
 * Checks and resolves the text of a configuration file. Reads the disk only for the built-in catalogue and to check that the named files
 * are readable.
 * @param options.baseDir directory that paths in the text are relative to
 */
export function parseConfig (text: string, options: LoadContext & { readonly baseDir: string }): LoadResult {
  const { file, env, baseDir, overrides = {}, checks = [], secrets = true, discovered = NO_DISCOVERED_FILES } = options
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) return failed(file, TOO_LARGE, UNREADABLE)
  const yaml = readYaml(text, env)
  const masked = maskVariables(yaml)
  const problems = yaml.problems.map(({ offset, ...problem }) => at(file, yaml, offset, problem))
  if (!yaml.readable) return { ok: false, problems: sortDiagnostics(problems).map(masked), files: [] }
  if (yaml.root === null || yaml.root.value === null) {
    return failed(file, { message: 'the file is empty', hint: `it starts with "version: ${CONFIG_VERSION}"` }, 'A2AGW_ERR_CONFIG_SYNTAX')
  }
  const result = build(yaml.root.value, { file, baseDir, env: secrets ? env : null, overrides, checks, yaml, problems, discovered })
  if (result.ok && text.length <= REMEMBERED) rememberOrigins(result.config, { file, lineOf: path => lineOf(yaml, path) })
  return result.ok ? { ...result, warnings: result.warnings.map(masked) } : { ...result, problems: result.problems.map(masked) }
}

/** Returns the configuration without a file: one agent, named `agent`, at `/`. */
export function defaultConfig (options: Omit<LoadContext, 'file'> & { readonly overrides: Overrides }): LoadResult {
  const { overrides, checks = [] } = options
  if (overrides.upstream === undefined) {
    const missing = { message: 'the URL of the agent is required', hint: 'or give a file with --config' }
    return failed(sourceOf(overrides, 'upstream'), missing, 'A2AGW_ERR_CONFIG_MISSING_KEY')
  }
  const value = { version: CONFIG_VERSION, agents: [{ name: 'agent', upstream: {} }] }
  return build(value, {
    file: 'defaults', baseDir: process.cwd(), env: options.env, overrides, checks, yaml: null, problems: [], discovered: NO_DISCOVERED_FILES
  })
}

/** Largest file, in characters, for which the line positions are kept. The positions take about twenty times as many bytes as the file. */
const REMEMBERED = 262_144

function lineOf (yaml: YamlFile, path: Path): number | null {
  let node = yaml.root
  for (const step of path) node = node?.children.get(String(step)) ?? null
  return node === null ? null : yaml.position(node.keyOffset).line
}

interface BuildInput {
  readonly file: string
  readonly baseDir: string
  /** Environment that holds the secrets. Null: the checks do not look for secrets. */
  readonly env: Environment | null
  readonly overrides: Overrides
  readonly checks: readonly Check[]
  readonly yaml: YamlFile | null
  /** Problems found already. */
  readonly problems: readonly Diagnostic[]
  readonly discovered: Discovered
}

const NO_DISCOVERED_FILES: Discovered = new Map()

function build (value: unknown, { file, baseDir, env, overrides, checks, yaml, problems: faults, discovered }: BuildInput): LoadResult {
  const place = (problem: PathProblem): Diagnostic => {
    const source = overriding(overrides, problem.path)
    if (source !== null) return diagnostic(source, 0, 0, problem)
    return yaml === null ? diagnostic(file, 0, 0, problem) : at(file, yaml, locate(yaml.root, problem.path, problem.at), problem)
  }
  const rejected = applyOverrides(value, overrides).map(({ source, problem }) => diagnostic(source, 0, 0, problem))
  return loadValue(value, { baseDir, env, place, catalogue: loadCatalogue(), checks, found: [...faults, ...rejected], discovered })
}

interface ValueOptions {
  readonly baseDir: string
  /** Environment that holds the secrets. Null: the checks do not look for secrets. */
  readonly env: Environment | null
  readonly place: (problem: PathProblem) => Diagnostic
  /** The catalogue policies below those of the value. */
  readonly catalogue: Readonly<Record<string, PolicyConfig>>
  readonly checks: readonly Check[]
  /** Problems found already. */
  readonly found: readonly Diagnostic[]
  /** Reads the schema files of the value. Default: from the disk. */
  readonly schemas?: SchemaFiles
  readonly discovered?: Discovered
}

/** Passes that leave out agents of sources. A further problem leaves all of them out. */
const PASSES = 4

/**
 * Checks and resolves a configuration value that another module has read. Fills in the defaults, in place. Agents of sources that fail a
 * check are left out, until all checks of the rest pass.
 */
export function loadValue (value: unknown, options: ValueOptions): LoadResult {
  const { discovered = NO_DISCOVERED_FILES } = options
  let dropped: ReadonlyMap<string, string> = new Map()
  for (let pass = 0; ; pass++) {
    // Validation fills in defaults in place: each pass begins with the value as it was read.
    const now = pass === PASSES ? NO_DISCOVERED_FILES : discovered
    const expansion = new Expansion(discovered.size === 0 ? value : structuredClone(value), now, dropped)
    const result = loadExpanded(expansion, options)
    if (!('dropped' in result)) return result
    dropped = new Map([...dropped, ...result.dropped])
  }
}

function loadExpanded (expansion: Expansion, options: ValueOptions): LoadResult | { readonly dropped: ReadonlyMap<string, string> } {
  const { baseDir, env, place, catalogue, checks, found: faults, schemas = new SchemaFiles(baseDir) } = options
  const { value } = expansion
  const old = deprecations(configSchema, value)
  const invalid = validateConfig(value)
  const bundles = schemas.readBundles(mapping(value).bundles)
  const directory = readPolicyDirectory(mapping(value).extensions, baseDir, Object.keys(catalogue), checks)
  const { from: _, ...policies } = mapping(mapping(value).extensions)
  const whole = withSchemas({ ...mapping(value), extensions: policies }, schemas)
  const layers = new PolicyLayers(whole.extensions, catalogue as Mapping, directory.policies as Mapping)
  const { problems, warnings } = checkConfig(whole, { baseDir, env, layers })
  const further = checks.flatMap(check => check(whole, baseDir))
  const { own, dropped } = expansion.sort([...invalid, ...schemas.problems, ...directory.problems, ...problems, ...further])
  const all = [...faults, ...own.map(place), ...directory.found]
  const files = [...schemas.files, ...directory.files]
  if (all.length > 0) return { ok: false, problems: sortDiagnostics(all), files: [...namedFiles(value, baseDir), ...files] }
  if (dropped.size > 0) return { dropped }
  return {
    ok: true,
    config: resolveConfig(expansion.withoutProbes(whole), baseDir, layers, {
      bundles, origins: expansion.origins(whole), policyDirectory: directory.path
    }),
    warnings: sortDiagnostics(expansion.sort([...old, ...warnings]).own.map(place)).map(({ code: _, ...warning }) => warning),
    leftOut: expansion.leftOut,
    files
  }
}

function at (file: string, yaml: YamlFile, offset: number, problem: Omit<PathProblem, 'path' | 'at'>): Diagnostic {
  const { line, col } = yaml.position(offset)
  return diagnostic(file, line, col, problem)
}

function failed (file: string, problem: Pick<Diagnostic, 'message' | 'hint'>, code: ErrorCode): LoadResult {
  return { ok: false, problems: [diagnostic(file, 0, 0, { ...problem, code })], files: [] }
}

const UNREADABLE = 'A2AGW_ERR_CONFIG_UNREADABLE'
const TOO_LARGE = { message: 'the file is larger than 1 MiB', hint: 'is it the configuration?' }

/** Why a file has no text. `unreadable`: there is no such file, or it may not be read. */
export interface NoText { readonly message: string, readonly hint?: string, readonly unreadable?: true }

/** Reads the text of a configuration or of a test file. */
export function readText (file: string): { readonly text: string } | NoText {
  try {
    const bytes = readBounded(file, MAX_FILE_BYTES)
    return bytes === null ? TOO_LARGE : { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes) }
  } catch (error) {
    if (error instanceof TypeError) return { message: 'the file is not valid UTF-8', hint: 'save it as UTF-8' }
    return { message: `cannot read the file: ${fileErrorText(error)}`, unreadable: true }
  }
}

// Finds deprecated keys: they still work and will be removed. `check` and `serve` warn of them for at least one minor release
// (docs/upgrading.md).

/**
 * Walks a value along its schema.
 * @param value the value before defaults are filled in, so that a default never causes a warning
 * @returns one warning for each deprecated key that is present, at the key
 */
export function deprecations (schema: Schema, value: unknown): PathProblem[] {
  return walk(schema, schema, value, [])
}

function walk (schema: Schema, root: Schema, value: unknown, path: Path): PathProblem[] {
  const { $ref } = schema
  if ($ref !== undefined) {
    const target = root.$defs?.[$ref.replace('#/$defs/', '')]
    return target === undefined ? [] : walk(target, root, value, path)
  }
  const branches = [...schema.anyOf ?? [], ...schema.allOf ?? []].flatMap(schema => walk(schema, root, value, path))
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? branches : [...branches, ...value.flatMap((item, index) => walk(items, root, item, [...path, index]))]
  }
  if (typeof value !== 'object' || value === null) return branches
  return [...branches, ...Object.entries(value).flatMap(([key, child]) => {
    const property =
      schema.properties !== undefined && Object.hasOwn(schema.properties, key)
        ? schema.properties[key]
        : typeof schema.additionalProperties === 'object'
          ? schema.additionalProperties
          : undefined
    if (property === undefined) return []
    const at = [...path, key]
    const here =
      property.deprecated === true
        ? [problemAt(at, `${dotted(at)} is deprecated and will be removed in a later release`, property['x-instead'], 'key')]
        : []
    return [...here, ...walk(property, root, child, at)]
  })]
}

/*
 * Keeps values of variables out of messages. `${VAR}` is the usual way to give the gateway a password, and a message goes to terminals,
 * logs and CI. Each message names the variable instead, wherever the message comes from.
 */

/** Shortest value that is replaced in messages about other lines, in characters. `info` or `8080` may occur there by chance. */
const MIN_VALUE_CHARS = 8
/** The same for messages about the line of the variable. A shorter value is replaced only as a whole quoted value. */
const SHORTEST_ON_LINE = 4
/** Shortest beginning of a value, before `…`, that is replaced. */
const SHORTEST_BEGINNING = 4

/** Shortest part of a value that counts as the value, where a message quotes a corrected or shortened form of it. */
const SHORTEST_PART = 4

interface Replacement {
  readonly line: number
  /** The value, in the form that messages have. */
  readonly value: string
  /** The reference in the place of the value. */
  readonly by: string
}

/** Returns a function that replaces the values of variables in a diagnostic by `${NAME}`. */
function maskVariables ({ substituted, position }: Pick<YamlFile, 'substituted' | 'position'>): (diagnostic: Diagnostic) => Diagnostic {
  if (substituted.length === 0) return diagnostic => diagnostic
  const replacements = substituted.flatMap(substitution => replacementsOf(substitution, position(substitution.offset).line))
    // The longest first: a value can be a part of another one.
    .toSorted((a, b) => b.value.length - a.value.length)
  return diagnostic => {
    const here = substituted.filter(({ offset }) => position(offset).line === diagnostic.line)
    const masked = (text: string): string =>
      here.reduce(withoutParts, replacements.reduce((now, replacement) => replaced(now, replacement, diagnostic.line), text))
    const { message, hint } = diagnostic
    return { ...diagnostic, message: masked(message), ...(hint === undefined ? {} : { hint: masked(hint) }) }
  }
}

function replacementsOf ({ source, text, variables }: Substituted, line: number): Replacement[] {
  const pairs = [[text, source] as const, ...variables.map(({ name, value }) => [value, `\${${name}}`] as const)]
  return pairs.flatMap(([value, by]) => [...new Set(formsOf(value))].filter(form => form !== '').map(form => ({ line, value: form, by })))
}

/** Replaces quoted texts that were made from a value: corrected, cut at a slash, in another case. */
function withoutParts (text: string, { variables }: Substituted): string {
  return variables.reduce((now, { name, value }) => {
    const parts = value.toLowerCase().split(/[^a-z0-9]+/).filter(part => part.length >= SHORTEST_PART)
    return now.replace(/"[^"]*"/g, quoted => parts.some(part => quoted.toLowerCase().includes(part)) ? `"\${${name}}"` : quoted)
  }, text)
}

/** The forms that messages have: as it is, inside of JSON text, and inside of a URL. */
function formsOf (value: string): string[] {
  const trimmed = value.trim()
  const encoded = hasLoneSurrogate(value) ? [] : [encodeURI(value), encodeURIComponent(value)]
  const number = Number(value)
  return [
    value, trimmed, JSON.stringify(value).slice(1, -1), ...encoded, ...(trimmed === '' || Number.isNaN(number) ? [] : [String(number)])
  ]
}

/** `encodeURI` throws for such a text. */
function hasLoneSurrogate (text: string): boolean {
  return /\p{Surrogate}/u.test(text)
}

function replaced (text: string, { line, value, by }: Replacement, at: number): string {
  const shortest = line === at ? SHORTEST_ON_LINE : MIN_VALUE_CHARS
  const whole = value.length < shortest
    ? text.replaceAll(`"${value}"`, () => `"${by}"`)
    : text.replace(new RegExp(escaped(value), 'gi'), () => by)
  return whole.replace(/"([^"]*)…/g, (quoted: string, beginning: string) =>
    beginning.length >= SHORTEST_BEGINNING && value.toLowerCase().startsWith(beginning.toLowerCase()) ? `"${by}` : quoted)
}

function escaped (text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
