/** The extensions that a request lacks. */
import type { ProxyState } from './proxy.js'

type Lines = ReadonlyArray<readonly [string, string]>

/** @returns the URIs that are missing; null: the request may pass */
export function missingOf (lines: Lines, { required, has }: ProxyState, carriesMessage: boolean): string[] | null {
  if (!carriesMessage || required.length === 0 || has('enforces-nothing')) return null
  if (has('rejects-all')) return [...required]
  const values = lines.filter(([name]) => /^(?:x-)?a2a-extensions$/i.test(name)).map(([, value]) => value)
  const uris = (has('enforces-lines') ? values.slice(0, 1) : values).flatMap(value => value.split(',')).map(uri => uri.trim())
  const missing = required.filter(uri => !uris.includes(uri))
  if (has('enforces-one') && missing.length < required.length) return null
  return missing.length === 0 ? null : missing
}
