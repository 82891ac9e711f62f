/** Resolves `agentSources`. */
import { resolve } from 'node:path'
import type { AgentSourceConfig, KubernetesSourceConfig } from './model/source-model.js'
import { duration } from './model/units.js'
import { items, mapping } from './yaml/values.js'

/** A source of the file, with its defaults. */
export interface SourceFile extends Omit<AgentSourceConfig, 'catalog' | 'keys' | 'refresh'> {
  readonly catalog: string | null
  readonly refresh: string
  readonly keys: { readonly url: string | null, readonly file: string | null, readonly maxStale: string } | null
}

/** True for the address of a catalog; false for a file. */
function isCatalogUrl (place: string): boolean {
  return /^https?:\/\//i.test(place)
}

/** Paths become absolute. */
export function resolveSource (source: SourceFile, baseDir: string): AgentSourceConfig {
  const { catalog, kubernetes, keys, refresh } = source
  const onDisk = (file: string | null): string | null => file === null ? null : resolve(baseDir, file)
  const placeOf = (place: string): NonNullable<AgentSourceConfig['catalog']> =>
    isCatalogUrl(place) ? { url: place, file: null } : { url: null, file: resolve(baseDir, place) }
  const apiOf = ({ api }: KubernetesSourceConfig): KubernetesSourceConfig['api'] =>
    api === null ? null : { url: api.url, ca: onDisk(api.ca), token: onDisk(api.token) }
  return {
    ...source,
    catalog: catalog === null ? null : placeOf(catalog),
    kubernetes: kubernetes === null ? null : { ...kubernetes, api: apiOf(kubernetes) },
    keys: keys === null ? null : { url: keys.url, file: onDisk(keys.file), maxStale: duration(keys.maxStale) },
    refresh: duration(refresh)
  }
}

/** The files of sources that the gateway reads with the configuration. The value may still be wrong. */
export function namedSourceFiles (value: unknown): unknown[] {
  return items(mapping(value).agentSources).map(source => mapping(mapping(source).keys).file)
}
