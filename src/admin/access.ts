/**
 * Who may use `/agents` and the console (`server.adminAccess`). Programs send a credential with each request. Browsers exchange a
 * credential for a session cookie.
 */
import type { IncomingMessage } from 'node:http'
import type { AdminAccessConfig, Config } from '../config/model/model.js'
import { connectionOf } from '../front/http/listener/client-connection.js'
import type { Authentication, Carrier } from '../identity/authentication.js'
import { shownCarrier } from '../identity/authentication.js'
import type { Authenticator } from '../identity/authenticator.js'
import { challengesOf } from '../identity/challenge.js'
import type { Presented } from '../identity/credentials.js'
import type { Principal } from '../identity/principal.js'
import type { Requirement } from '../identity/requirement.js'
import { requirementOf } from '../identity/requirement.js'
import { callerSources } from '../identity/schemes.js'
import type { CallerCondition } from '../policy/access/caller.js'
import { compileCaller } from '../policy/access/caller.js'
import { Brake } from '../state/limits/brake.js'
import { COOKIE, sessionCookie, Sessions } from './sessions.js'

/** The part of a running gateway that admin access needs. */
export interface Authenticating {
  readonly config: Pick<Config, 'identity'>
  /** `identity` is null before the start is complete. */
  readonly snapshot: { readonly identity: { readonly authenticator: Pick<Authenticator, 'authenticate' | 'carriersOf'> } | null }
}

/** A credential apart from the connection that carries it. */
export type Credential = Pick<Presented, 'headers' | 'query'>

/** A rejection that says how to fix the request. */
export interface AdminRejection {
  readonly status: 401 | 403 | 429 | 503
  readonly error: string
  readonly headers: Readonly<Record<string, string | string[]>>
}

export interface Admitted { readonly principal: Principal }

/** The credential that a person enters. `user` belongs to Basic credentials. */
export interface SignIn { readonly user: string, readonly credential: string }

/** `missing`: the request has no credential at all. */
type Verified = Admitted | { readonly missing: AdminRejection } | { readonly rejected: AdminRejection }

/** @returns null when the configuration protects nothing */
export function adminAccessOf ({ server: { adminAccess } }: Pick<Config, 'server'>, gateway: Authenticating): AdminAccess | null {
  return adminAccess === null ? null : new AdminAccess(adminAccess, gateway)
}

/** Name of the protection space in challenges. */
const REALM = 'admin'

export class AdminAccess {
  private readonly sources: readonly string[]
  private readonly allowed: readonly CallerCondition[]
  private readonly sessions: Sessions
  private readonly maxAge: number
  private readonly gateway: Authenticating
  /** Failures here are no failures of callers of agents. */
  private readonly brake = new Brake()

  constructor ({ sources, allow, session }: AdminAccessConfig, gateway: Authenticating) {
    this.sources = sources
    // The schema of the configuration has no `match` here.
    this.allowed = allow.map(condition => compileCaller(condition, () => () => false))
    this.sessions = new Sessions(session)
    this.maxAge = Math.floor(session / 1_000)
    this.gateway = gateway
  }

  /**
   * Admits a request by its credential, else by its session. The credential of a session is verified again with each request, so that a
   * revoked key and an expired token end the session.
   */
  async admit (request: IncomingMessage): Promise<Admitted | AdminRejection> {
    const { url = '', headers } = request
    const question = url.indexOf('?')
    const own = await this.verify({ headers, query: question < 0 ? '' : url.slice(question) }, request)
    if ('principal' in own) return own
    if ('rejected' in own) return own.rejected
    const cookie = sessionCookie(headers.cookie)
    const presented = cookie === null ? null : this.sessions.find(cookie, Date.now())
    if (cookie === null || presented === null) return own.missing
    const found = await this.verify(presented, request)
    if ('principal' in found) return found
    const rejection = 'missing' in found ? found.missing : found.rejected
    if (rejection.status === 401 || rejection.status === 403) this.sessions.end(cookie)
    return rejection
  }

  /**
   * Begins a session.
   * @param path that the cookie is for
   * @returns the value of `Set-Cookie`, or a rejection
   */
  async signIn (given: SignIn, request: IncomingMessage, path: string): Promise<{ readonly cookie: string } | AdminRejection> {
    let last: AdminRejection = rejection(401, 'the credential is not valid')
    for (const carrier of this.carriers()) {
      const presented = presentedAs(carrier, given)
      if (presented === null) continue
      const found = await this.verify(presented, request)
      if ('principal' in found) {
        const value = this.sessions.begin(presented, Date.now())
        return { cookie: `${COOKIE}=${value}; Path=${path}; Max-Age=${this.maxAge}; ${attributesOf(request)}` }
      }
      last = 'missing' in found ? found.missing : found.rejected
      // Another carrier may have the right source. Other problems do not depend on the carrier.
      if (last.status !== 401) break
    }
    return last
  }

  /** Ends the session of a request. @returns the value of `Set-Cookie` */
  signOut (request: IncomingMessage, path: string): string {
    const cookie = sessionCookie(request.headers.cookie)
    if (cookie !== null) this.sessions.end(cookie)
    return `${COOKIE}=; Path=${path}; Max-Age=0; ${attributesOf(request)}`
  }

  private requirement (): Requirement {
    const { identity } = this.gateway.config
    return requirementOf(this.sources.map(name => [name]), identity === null ? [] : callerSources(identity))
  }

  private carriers (): readonly Carrier[] {
    const { alternatives } = this.requirement()
    return [...new Set(this.gateway.snapshot.identity?.authenticator.carriersOf(alternatives).flat())]
  }

  private async verify (credential: Credential, request: IncomingMessage): Promise<Verified> {
    const { identity } = this.gateway.snapshot
    if (identity === null) return { rejected: rejection(503, 'the gateway is starting') }
    const failing = { address: request.socket.remoteAddress, agent: REALM }
    const presented = { ...credential, connection: connectionOf(request.socket) }
    const braked = (): boolean => this.brake.holds(failing, performance.now())
    const found = await identity.authenticator.authenticate(presented, this.requirement(), Date.now(), braked)
    if (found.kind === 'caller') return this.judge(found.principal)
    const carriers = this.carriers()
    if (found.kind === 'missing') {
      return { missing: challenge(carriers, `send ${carriers.map(shownCarrier).join(', or ')}, or sign in under /console/`) }
    }
    if (found.kind === 'unavailable') {
      return { rejected: rejection(503, `the keys of the source ${found.source} are not available`, { 'retry-after': String(found.retryAfter) }) }
    }
    const counts = found.kind === 'braked' || (found.kind === 'failed' && found.problem !== 'source')
    const slowed = counts ? this.brake.failed(failing, performance.now()) : null
    if (slowed !== null || found.kind === 'braked') {
      const seconds = String(Math.max(1, Math.ceil((slowed?.wait ?? 0) / 1_000)))
      return { rejected: rejection(429, 'too many credentials that are not valid', { 'retry-after': seconds }) }
    }
    return { rejected: challenge(carriers, problemOf(found)) }
  }

  private judge (principal: Principal): Verified {
    return this.allowed.length === 0 || this.allowed.some(condition => condition(principal))
      ? { principal }
      : { rejected: rejection(403, 'server.adminAccess does not allow this caller') }
  }
}

function rejection (status: AdminRejection['status'], error: string, headers: AdminRejection['headers'] = {}): AdminRejection {
  return { status, error, headers }
}

function challenge (carriers: readonly Carrier[], error: string): AdminRejection {
  return rejection(401, error, { 'www-authenticate': challengesOf(carriers, REALM, { metadata: null, error: null }) })
}

function problemOf (found: Extract<Authentication, { readonly kind: 'failed' | 'several' | 'incomplete' }>): string {
  return found.kind !== 'failed'
    ? 'the request has the credentials of two sources; send one of them'
    : `the credential is not valid (${found.problem})`
}

/** The request that a program would send with the credential; null where the credential does not fit the carrier. */
function presentedAs ({ in: place, name, scheme }: Carrier, { user, credential }: SignIn): Credential | null {
  if ((scheme === 'basic') !== (user !== '')) return null
  if (scheme === 'basic') {
    return { headers: { authorization: `Basic ${Buffer.from(`${user}:${credential}`).toString('base64')}` }, query: '' }
  }
  if (place === 'query') return { headers: {}, query: `?${new URLSearchParams({ [name]: credential }).toString()}` }
  if (place === 'connection' || place === 'proxy') return null
  if (place === 'cookie') return { headers: { cookie: `${name}=${credential}` }, query: '' }
  return { headers: { [name]: scheme === 'bearer' ? `Bearer ${credential}` : credential }, query: '' }
}

/** The admin listener has no TLS of its own. A proxy in front of it that has TLS says so. */
function attributesOf ({ headers }: IncomingMessage): string {
  return `HttpOnly; SameSite=Strict${headers['x-forwarded-proto'] === 'https' ? '; Secure' : ''}`
}
