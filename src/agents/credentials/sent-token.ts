/** One entry of `upstream.credentials.send` that sends access tokens: what to request from the token endpoint, and for whom. */
import { hash } from 'node:crypto'
import { digest } from '#config/digest.js'
import type { SentSecrets } from '#config/credential-secrets.js'
import type { ExchangeConfig, TokenRequestConfig } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import type { TokenConnections, TokenRequest, TokenResponse } from './token-endpoint.js'
import type { Obtained } from './token-source.js'
import { TokenSource } from './token-source.js'

/** The caller's verified token, with the principal that it has proven. */
export interface Subject { readonly principal: Principal, readonly token: string }

/**
 * Notes a request to the endpoint.
 * @returns a function to call with the response. `news` is true when a log line is due: a problem is new, or over
 */
export type Watch = (endpoint: URL) => (response: TokenResponse, news: boolean) => void

/** Shortest time between two log lines, ms. Requests for some callers may fail while others succeed. */
const LOG_INTERVAL = 10_000

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const TYPE = 'urn:ietf:params:oauth:token-type:'

export class SentToken {
  readonly kind: 'clientCredentials' | 'exchange'
  readonly source = new TokenSource()
  /** Equal for two entries that request the same tokens. */
  readonly fingerprint: string
  private readonly request: TokenRequest
  private readonly connections: TokenConnections
  private readonly subjectType: string
  private readonly key: readonly unknown[]
  private logged: { readonly problem: string | null, readonly at: number } = { problem: null, at: -Infinity }

  /** @param agent its name */
  constructor (
    config: TokenRequestConfig | ExchangeConfig,
    { client, actorToken }: SentSecrets,
    agent: string,
    connections: TokenConnections
  ) {
    this.kind = 'subjectTokenType' in config ? 'exchange' : 'clientCredentials'
    this.connections = connections
    this.subjectType = 'subjectTokenType' in config ? TYPE + config.subjectTokenType : ''
    this.fingerprint = digest([agent, config, client, actorToken])
    this.key = [agent, config.audience, config.resource, config.scopes]
    this.request = {
      endpoint: new URL(config.endpoint),
      client: { id: config.client.id, secret: client ?? '' },
      auth: config.auth,
      scopes: config.scopes,
      form: [...grantOf(config, actorToken), ...targetOf(config)]
    }
  }

  /** @param subject null for client credentials, which are the same for all callers */
  get (subject: Subject | null, watch: Watch): Obtained | Promise<Obtained> {
    const { source, request, key } = this
    if (subject === null) return source.get({ key: '', end: Infinity, load: () => this.load(request, watch) })
    const { principal, token } = subject
    return source.get({
      key: JSON.stringify([principal.source, principal.subject, principal.client, ...key, hash('sha256', token, 'base64')]),
      end: Number(principal.claims['exp']) * 1_000,
      load: () => this.load(
        { ...request, form: [...request.form, ['subject_token', token], ['subject_token_type', this.subjectType]] },
        watch
      )
    })
  }

  private async load (request: TokenRequest, watch: Watch): Promise<TokenResponse> {
    const ended = watch(request.endpoint)
    const serverReply = await this.connections.request(request)
    // `invalid_grant` speaks of the token of a caller.
    const response: TokenResponse = serverReply.kind === 'rejected' && this.kind === 'clientCredentials'
      ? {
          kind: 'failed',
          problem: `${request.endpoint.origin}${request.endpoint.pathname} responded with ${serverReply.status} invalid_grant`,
          status: serverReply.status,
          down: false
        }
      : serverReply
    ended(response, this.isNews(response.kind === 'failed' ? response.problem : null))
    return response
  }

  private isNews (problem: string | null): boolean {
    const now = performance.now()
    if (problem === this.logged.problem || now - this.logged.at < LOG_INTERVAL) return false
    this.logged = { problem, at: now }
    return true
  }
}

function grantOf (config: TokenRequestConfig | ExchangeConfig, actorToken: string | null): [name: string, value: string][] {
  if (!('subjectTokenType' in config)) return [['grant_type', 'client_credentials']]
  const actor: [string, string][] = config.actorToken === null || actorToken === null
    ? []
    : [['actor_token', actorToken], ['actor_token_type', TYPE + config.actorToken.type]]
  return [['grant_type', GRANT], ['requested_token_type', `${TYPE}access_token`], ...actor]
}

function targetOf ({ audience, resource, scopes }: TokenRequestConfig): [name: string, value: string][] {
  return [
    ...(audience === null ? [] : [['audience', audience] as [string, string]]),
    ...(resource === null ? [] : [['resource', resource] as [string, string]]),
    ...(scopes.length === 0 ? [] : [['scope', scopes.join(' ')] as [string, string]])
  ]
}
