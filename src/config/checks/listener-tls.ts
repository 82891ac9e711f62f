/** Checks of the TLS of a listener: keys that depend on each other, and files. offline/configuration.ts checks the files' contents. */
import { dotted } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { problemAt } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'
import { unpaired, unreadable } from './named-files.js'

/**
 * @param baseDir directory that the paths are relative to
 * @param at place of `tls` in the file
 */
export function listenerTls (tls: Mapping, baseDir: string, at: Path): PathProblem[] {
  const problem = (key: string, message: string, hint: string): PathProblem => problemAt(
    [...at, key], `${dotted([...at, key])} ${message}`, hint
  )
  const asks = tls.clientCertificate === 'request' || tls.clientCertificate === 'require'
  return [
    ...['cert', 'key', 'clientCa'].flatMap(key => unreadable(tls[key], [...at, key], baseDir)),
    ...unpaired(tls, at),
    ...(asks && tls.clientCa === null
      ? [problem(
          'clientCertificate', `is ${String(tls.clientCertificate)}, but clientCa is not set`,
          'name the authorities whose certificates are valid'
        )]
      : []),
    ...(tls.clientCertificate === 'none' && typeof tls.clientCa === 'string'
      ? [problem('clientCa', 'has no effect while clientCertificate is none', 'set clientCertificate to request or require')]
      : []),
    ...(tls.cert === null && tls.key === null && (asks || typeof tls.clientCa === 'string')
      ? [problem(asks ? 'clientCertificate' : 'clientCa', 'has no effect without cert and key', 'set cert and key, or remove this line')]
      : [])
  ]
}
