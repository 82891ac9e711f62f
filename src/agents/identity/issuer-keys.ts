/** The keys of an issuer, as the sources of tokens see them: fetched in the background, counted and logged. */
import type { JwtConfig } from '#config/model/identity-model.js'
import type { Keys } from '#identity/jwt-source.js'
import { FetchedKeySet } from '../keys/fetched-key-set.js'
import type { Attributes } from '#telemetry/traces/span.js'
import type { Log } from '#telemetry/log.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import type { Tracing } from '#telemetry/traces/tracing.js'

export interface IdentityOptions {
  readonly metrics: Metrics
  readonly log: Log
  readonly tracing?: Tracing | undefined
  /** As in {@link KeysSourceOptions}. */
  readonly clock?: (() => number) | undefined
}

export class IssuerKeys extends FetchedKeySet implements Keys {
  /** @param ca authorities of the issuer in PEM; null: those of the system */
  constructor (name: string, { issuer, keys: { url, maxStale } }: JwtConfig, options: IdentityOptions, ca: Buffer | null = null) {
    const { metrics, log, tracing, clock } = options
    super({
      url,
      issuer,
      maxStale,
      clock,
      ca,
      trace: tracing === undefined ? undefined : url => tracing.startFetch('IssuerKeys', attributesOf(name, url)),
      onRefresh: outcome => { metrics.add('identity_key_refreshes_total', name, outcome) },
      onProblem: problem => {
        if (problem !== null) log.warn({ source: name, problem }, 'the keys of an issuer cannot be fetched')
        else log.info({ source: name }, 'the keys of an issuer can be fetched again')
      }
    })
  }
}

function attributesOf (source: string, { protocol, hostname, port, pathname }: URL): Attributes {
  return {
    'a2a_gateway.caller.source': source,
    'http.request.method': 'GET',
    'url.scheme': protocol.slice(0, -1),
    'url.path': pathname,
    'server.address': hostname,
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  }
}
