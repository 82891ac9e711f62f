/** Checks at configuration load that the secrets named by policies exist and are usable. */
import { resolve } from 'node:path'
import { dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { FORMATS } from '../schema/formats.js'
import { readHeader, readSecret } from '../secrets.js'
import type { Environment } from '../yaml/substitute.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'

export interface SecretContext { readonly baseDir: string, readonly env: Environment | null }

/** Checks the secrets of the file's policies and of the agents' overlays. */
export function secretProblems (policies: Mapping, agents: readonly unknown[], { baseDir, env }: SecretContext): PathProblem[] {
  if (env === null) return []
  const context = { baseDir, env }
  return [
    ...Object.entries(policies).flatMap(([name, policy]) => policyProblems(mapping(policy), ['extensions', name], context)),
    ...agents.flatMap((agent, index) =>
      items(mapping(agent).extensions).flatMap((entry, at) =>
        Object.entries(mapping(entry)).flatMap(([name, overlay]) =>
          policyProblems(mapping(overlay), ['agents', index, 'extensions', at, name], context)
        )
      )
    ),
    ...agents.flatMap((agent, index) => {
      const { headers, extended } = mapping(mapping(agent).card)
      const path: Path = ['agents', index, 'card']
      return [
        ...headerSecretProblems(headers, [...path, 'headers'], context),
        ...headerSecretProblems(mapping(extended).headers, [...path, 'extended', 'headers'], context)
      ]
    })
  ]
}

interface Context { readonly baseDir: string, readonly env: Environment }

/** Checks the secrets of headers. */
export function headerSecretProblems (headers: unknown, path: Path, { baseDir, env }: Context): PathProblem[] {
  return Object.entries(mapping(headers)).flatMap(([name, source]) => {
    const { file, env: variable, prefix } = mapping(source)
    const at: Path = [...path, name, file === undefined ? 'env' : 'file']
    const place = file ?? variable
    if (typeof place !== 'string' || place === '' || place.includes('\0') || (file !== undefined && variable !== undefined)) return []
    if (file === undefined && FORMATS.variable(place) !== null) return []
    const absolute = resolve(baseDir, place)
    const read = readHeader(
      { ...(file === undefined ? { env: place } : { file: absolute }), ...(typeof prefix === 'string' ? { prefix } : {}) },
      env
    )
    return 'problem' in read ? [unusableSecret(read.problem, at, { file: file !== undefined, given: place, absolute })] : []
  })
}

interface Named {
  /** True for a file, false for a variable. */
  readonly file: boolean
  readonly given: string
  readonly absolute: string
}

/** Reports a secret that cannot be read or used. Names its file as the configuration does. */
export function unusableSecret (problem: string, at: Path, { file, given: place, absolute }: Named): PathProblem {
  const hint = file ? 'paths are relative to the configuration file' : undefined
  return problemAt(at, `${dotted(at)}: ${problem.replace(absolute, () => formatValue(place))}`, hint, 'value', 'A2AGW_ERR_CONFIG_SECRET')
}

function policyProblems (policy: Mapping, path: Path, context: { readonly baseDir: string, readonly env: Environment }): PathProblem[] {
  return items(policy.inject).flatMap((item, index) => {
    const { fromSecret, as } = mapping(item)
    const { file, env } = mapping(fromSecret)
    const at: Path = [...path, 'inject', index, 'fromSecret', file === undefined ? 'env' : 'file']
    const place = file ?? env
    if (typeof place !== 'string' || place === '' || place.includes('\0') || (file !== undefined && env !== undefined)) return []
    if (file === undefined && FORMATS.variable(place) !== null) return []
    const absolute = resolve(context.baseDir, place)
    const read = readSecret(file === undefined ? { env: place } : { file: absolute }, as === 'json' ? 'json' : 'text', context.env)
    return 'problem' in read ? [unusableSecret(read.problem, at, { file: file !== undefined, given: place, absolute })] : []
  })
}
