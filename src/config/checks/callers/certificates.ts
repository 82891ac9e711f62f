/** Checks of `identity.sources.<name>.certificate`: keys that depend on each other, and on `server.tls`. */
import { dotted, shown } from '../../diagnostics.js'
import type { Path, PathProblem } from '../../diagnostics.js'
import { trustsEveryone } from '../../schema/formats.js'
import { fault, items, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'

type Sources = readonly (readonly [string, unknown])[]

interface Found { readonly at: Path, readonly config: Mapping }

function certificatesOf (sources: Sources): Found[] {
  return sources.flatMap(([name, source]) => {
    const { certificate } = mapping(source)
    return certificate === undefined ? [] : [{ at: ['identity', 'sources', name, 'certificate'], config: mapping(certificate) }]
  })
}

export function certificateProblems (sources: Sources): PathProblem[] {
  return certificatesOf(sources).flatMap(({ at, config }) => {
    const { from, proxies, hops, trustDomains, san } = config
    const problem = (key: string, text: string, hint: string): PathProblem => fault([...at, key], `${dotted([...at, key])} ${text}`, hint)
    const count = items(proxies).length
    const headers = from === 'xfcc' || from === 'rfc9440'
    return [
      ...(headers && Array.isArray(proxies) && count === 0
        ? [fault(at, `${dotted(at)} needs proxies`, 'the addresses of the proxies that write the header, such as [127.0.0.1/32]', 'key')]
        : []),
      ...(headers
        ? everyone(proxies).map(([index, entry]) =>
          fault(
            [...at, 'proxies', index],
            `${dotted([...at, 'proxies'])} trusts every address (${shown(entry)}): any client could write the header`,
            'list the proxies only'
          ))
        : []),
      ...(from === 'tls' && count > 0 ? [problem('proxies', 'has no effect with from: tls', 'set from to xfcc or rfc9440, or remove this line')] : []),
      ...(from !== 'xfcc' && typeof hops === 'number' && hops !== 1
        ? [problem('hops', 'is for from: xfcc only', 'remove this line')]
        : []),
      ...(Array.isArray(trustDomains) && trustDomains.length === 0 && san === null
        ? [fault(at, `${dotted(at)} needs trustDomains or san`, 'without them no certificate names a caller', 'key')]
        : []),
      ...(from === 'xfcc' && san === 'email' ? [problem('san', 'cannot be email with from: xfcc', 'the header has names of the kinds uri and dns only')] : [])
    ]
  })
}

function everyone (proxies: unknown): (readonly [index: number, entry: string])[] {
  return items(proxies).flatMap((entry, index) => (typeof entry === 'string' && trustsEveryone(entry) ? [[index, entry] as const] : []))
}

/** In a Fastify application, its own listener asks for certificates: `server.tls` has no effect there. So this is no error. */
export function certificateWarnings (identity: Mapping, server: Mapping): PathProblem[] {
  const { clientCertificate } = mapping(server.tls)
  if (clientCertificate === 'request' || clientCertificate === 'require') return []
  return certificatesOf(Object.entries(mapping(identity.sources))).filter(({ config }) => config.from === 'tls').map(({ at }) => {
    const path: Path = [...at, 'from']
    return fault(
      path,
      `${dotted(path)} is tls, but server.tls.clientCertificate is none`,
      'set it to request or require; in a Fastify application, its listener must ask for certificates'
    )
  })
}
