/** `delegation` as the file has it: paths are relative, durations are text. */
import { resolve } from 'node:path'
import type { AccessConfig } from './model/access-model.js'
import type { ChainKeysConfig, DelegationConfig } from './model/delegation-model.js'
import { duration } from './model/units.js'
import { namedKeyFiles, resolveSigningKeys } from './signing-keys.js'
import { items, mapping } from './yaml/values.js'

export interface DelegationFile extends Omit<DelegationConfig, 'keys' | 'ttl'> {
  readonly keys: readonly (Omit<ChainKeysConfig, 'maxStale'> & { readonly maxStale: string })[]
  readonly ttl: string
}

/** Returns the model of a valid `delegation`: paths are absolute. */
export function resolveDelegation ({ keys, ttl, ...rest }: DelegationFile, baseDir: string): DelegationConfig {
  const onDisk = (file: string | null): string | null => file === null ? null : resolve(baseDir, file)
  return {
    ...resolveSigningKeys(rest, baseDir),
    keys: keys.map(({ url, file, maxStale }) => ({ url, file: onDisk(file), maxStale: duration(maxStale) })),
    ttl: duration(ttl)
  }
}

/** Returns merged `access` with the durations of `delegation` in ms. */
export function withDurations (access: AccessConfig): AccessConfig {
  const { delegation } = access
  if (delegation === null) return access
  // As the file has it, the time is text.
  const maxTime = delegation.maxTime as unknown as string | null
  return { ...access, delegation: { ...delegation, maxTime: maxTime === null ? null : duration(maxTime) } }
}

/** Returns the paths that `delegation` names, as written. The value may still be wrong. */
export function delegationFiles (value: unknown): unknown[] {
  return [...namedKeyFiles(value), ...items(mapping(value).keys).map(one => mapping(one).file)]
}
