/**
 * Reads the configuration for every command. Adds the checks that compile schemas or read certificates, each reported at its place in the
 * file.
 */
import { resolve } from 'node:path'
import { dotted } from '#config/diagnostics.js'
import type { Path, PathProblem } from '#config/diagnostics.js'
import { defaultConfig, loadConfig } from '#config/load.js'
import type { Check, LoadResult, Overrides } from '#config/load.js'
import type { Discovered } from '#config/discovered.js'
import { problemAt, items, mapping } from '#config/yaml/values.js'
import { accessSchemaFaults, policySchemaFaults, schemaFaults } from '#policy/compile/inline-schemas.js'
import { readTlsFiles, TlsFileError } from '#upstream/tls.js'
import { LockFileError, readLockFile } from '#agents/lock/lock-file.js'
import { LOCK_FILE } from '#config/model/card-model.js'
import { parsePointer } from '#wire/json/pointer.js'
import { unusableCardKeys } from '#agents/card/key-files.js'
import { unusableChainKeys } from '#agents/delegations.js'
import { unusableSigningKeys } from '#agents/keys/signing-keys.js'

/**
 * Reads the configuration.
 * @param options.file the file, or null for the configuration that `overrides.upstream` alone makes
 * @param options.discovered agents of the sources of the file; default: none
 * @param options.secrets true when the secrets that policies name must exist; default true
 */
export function readConfiguration (options: {
  readonly file: string | null
  readonly env: NodeJS.ProcessEnv
  readonly overrides: Overrides
  readonly secrets?: boolean
  readonly discovered?: Discovered | undefined
}): LoadResult {
  const { file, env, overrides, secrets, discovered } = options
  if (file === null) return defaultConfig({ env, overrides, checks: CHECKS })
  return loadConfig({ file, env, overrides, secrets, checks: CHECKS, discovered })
}

export const CHECKS: readonly Check[] = [
  unusableSchemas, unusableUpstreamTls, unusableListenerTls, unusableIssuerTls, unusableDecisionTls,
  unusableCardKeys, unusableSigningKeys, unusableChainKeys, unusableLockFile
]

/** Compiles the schemas of each layer at its place in the file. Schemas of the catalogue are known to be valid. */
function unusableSchemas (value: unknown): PathProblem[] {
  const { extensions, agents } = mapping(value)
  const overlays = items(agents).flatMap((agent, index) => items(mapping(agent).extensions).flatMap((entry, at) =>
    Object.entries(mapping(entry)).map(([name, overlay]) => ({ root: ['agents', index, 'extensions', at, name], policy: overlay }))))
  const added = items(agents).flatMap((agent, index) =>
    Object.entries(mapping(mapping(mapping(agent).card).schemas)).flatMap(([name, schema]) =>
      schemaFaults(['agents', index, 'card', 'schemas', name], schema)
    )
  )
  const lists = [{ access: mapping(value).accessDefaults, root: ['accessDefaults'] as Path }, ...items(agents).map((agent, index) => ({
    access: mapping(agent).access,
    root: ['agents', index, 'access'] as Path
  }))].flatMap(({ access, root }) => accessSchemaFaults(access, root))
  const ofViews = items(agents).flatMap((agent, index) =>
    items(mapping(mapping(agent).card).views).flatMap((view, at) => {
      const { match } = mapping(mapping(view).caller)
      return match === undefined ? [] : schemaFaults(['agents', index, 'card', 'views', at, 'caller', 'match'], match)
    })
  )
  const written = [
    ...Object.entries(mapping(extensions)).map(([name, policy]) => ({ root: ['extensions', name], policy })),
    ...overlays
  ].flatMap(({ root, policy }) => policySchemaFaults(policy).map(({ path, ...fault }) => ({ ...fault, path: [...root, ...path] })))
  const asked = items(agents).flatMap((agent, index) =>
    items(mapping(agent).external).flatMap((entry, at) => {
      const { match, caller } = mapping(mapping(entry).when)
      const when: Path = ['agents', index, 'external', at, 'when']
      const { match: ofCaller } = mapping(caller)
      return [
        ...(match === undefined ? [] : schemaFaults([...when, 'match'], match)),
        ...(ofCaller === undefined ? [] : schemaFaults([...when, 'caller', 'match'], ofCaller))
      ]
    })
  )
  return [...written, ...added, ...lists, ...ofViews, ...asked].map(({ path, pointer, message, hint }) =>
    problemAt(
      [...path, ...parsePointer(pointer)],
      `${dotted(path)} cannot be used: ${pointer === '' ? '' : `${pointer}: `}${message}`,
      hint,
      hint === undefined ? 'value' : 'key',
      'A2AGW_ERR_CONFIG_SCHEMA'
    )
  )
}

function unusableUpstreamTls (value: unknown, baseDir: string): PathProblem[] {
  return items(mapping(value).agents).flatMap((agent, index) => {
    const { ca, cert, key } = mapping(mapping(mapping(agent).upstream).tls)
    return unusable({ ca, cert, key }, baseDir, setting => ['agents', index, 'upstream', 'tls', setting])
  })
}

function unusableListenerTls (value: unknown, baseDir: string): PathProblem[] {
  const server = mapping(mapping(value).server)
  const listeners = [
    [['server', 'tls'], server.tls],
    ...(['grpc', 'mesh'] as const).map(key => [['server', key, 'tls'], mapping(server[key]).tls] as const)
  ] as const
  return listeners.flatMap(([path, tls]) => {
    const { clientCa, cert, key } = mapping(tls)
    return unusable({ ca: clientCa, cert, key }, baseDir, setting => [...path, setting === 'ca' ? 'clientCa' : setting])
  })
}

function unusableIssuerTls (value: unknown, baseDir: string): PathProblem[] {
  return Object.entries(mapping(mapping(mapping(value).identity).sources)).flatMap(([name, source]) => {
    const { ca } = mapping(mapping(mapping(source).jwt).tls)
    return unusable({ ca, cert: null, key: null }, baseDir, setting => ['identity', 'sources', name, 'jwt', 'tls', setting])
  })
}

/** Reads the file with agreed cards, if an agent needs the file. */
function unusableLockFile (value: unknown, baseDir: string): PathProblem[] {
  const index = items(mapping(value).agents).findIndex(agent => mapping(mapping(agent).card).changes === 'hold')
  if (index < 0) return []
  try {
    readLockFile(resolve(baseDir, LOCK_FILE))
    return []
  } catch (error) {
    if (!(error instanceof LockFileError)) throw error
    return [problemAt(['agents', index, 'card', 'changes'], error.message, undefined, 'value', error.code)]
  }
}

function unusableDecisionTls (value: unknown, baseDir: string): PathProblem[] {
  return Object.entries(mapping(mapping(value).decisionPoints)).flatMap(([name, point]) => {
    const { ca, cert, key } = mapping(mapping(point).tls)
    return unusable({ ca, cert, key }, baseDir, setting => ['decisionPoints', name, 'tls', setting])
  })
}

function unusable (
  files: Readonly<Record<TlsFileError['setting'], unknown>>,
  baseDir: string,
  placeOf: (setting: TlsFileError['setting']) => Path
): PathProblem[] {
  const file = (name: unknown): string | null =>
    typeof name === 'string' && name !== '' && !name.includes('\0') ? resolve(baseDir, name) : null
  try {
    readTlsFiles({ ca: file(files.ca), cert: file(files.cert), key: file(files.key) })
    return []
  } catch (error) {
    // Another check has already reported a file that cannot be read.
    if (!(error instanceof TlsFileError) || error.unreadable) return []
    const place = placeOf(error.setting)
    return [problemAt(place, `${dotted(place)} cannot be used: ${error.message}`, HINTS[error.setting], 'value', 'A2AGW_ERR_CONFIG_FILE')]
  }
}

const HINTS: Readonly<Record<TlsFileError['setting'], string>> = {
  ca: 'a PEM file of certificates',
  cert: 'a PEM file of one certificate and its issuers',
  key: 'the PEM file of the private key that belongs to cert'
}
