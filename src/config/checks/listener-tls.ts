/** Checks of `server.tls`: keys that depend on each other, and files. gateway/configuration.ts checks the contents of the files. */
import { dotted } from '../diagnostics.js'
import type { PathProblem } from '../diagnostics.js'
import { fault } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'
import { unpaired, unreadable } from './named-files.js'

const PATH = ['server', 'tls']

/** @param baseDir directory that the paths are relative to */
export function listenerTls (tls: Mapping, baseDir: string): PathProblem[] {
  const problem = (key: string, message: string, hint: string): PathProblem => fault([...PATH, key], `${dotted([...PATH, key])} ${message}`, hint)
  const asks = tls.clientCertificate === 'request' || tls.clientCertificate === 'require'
  return [
    ...['cert', 'key', 'clientCa'].flatMap(key => unreadable(tls[key], [...PATH, key], baseDir)),
    ...unpaired(tls, PATH),
    ...(asks && tls.clientCa === null
      ? [problem('clientCertificate', `is ${String(tls.clientCertificate)}, but clientCa is not set`, 'name the authorities whose certificates are valid')]
      : []),
    ...(tls.clientCertificate === 'none' && typeof tls.clientCa === 'string'
      ? [problem('clientCa', 'has no effect while clientCertificate is none', 'set clientCertificate to request or require')]
      : []),
    ...(tls.cert === null && tls.key === null && (asks || typeof tls.clientCa === 'string')
      ? [problem(asks ? 'clientCertificate' : 'clientCa', 'has no effect without cert and key', 'set cert and key, or remove this line')]
      : [])
  ]
}
