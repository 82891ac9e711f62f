/**
 * Who may use `/agents` and the console (`server.adminAccess`). Programs send a credential with each request. Browsers exchange a
 * credential for a session cookie.
 */
import type { IncomingMessage } from 'node:http'
import { createHash, randomBytes } from 'node:crypto'
import type { Config } from '#config/model/model.js'
import { connectionOf } from '#call/client-connection.js'
import type { Authentication, Carrier } from '#identity/authentication.js'
import { shownCarrier } from '#identity/authentication.js'
import type { Authenticator } from '#identity/authenticator.js'
import { challengesOf } from '#identity/challenge.js'
import type { Principal } from '#identity/principal.js'
import { requirementOf } from '#identity/requirement.js'
import { callerSources } from '#identity/schemes.js'
import type { CallerCondition } from '#policy/access/caller.js'
import { compileCaller } from '#policy/access/caller.js'
import { FailureThrottle } from '#state/limits/failure-throttle.js'
import { clientIp, TrustedProxies } from '#wire/forwarded.js'
import type { Requirement } from '#identity/schemes.js'
import type { Presented } from '#identity/credentials.js'

/** The part of a running gateway that admin access needs. */
export interface Authenticating {
  /** The configuration in force. A reload replaces it. */
  readonly config: Pick<Config, 'identity'> & { readonly server: Pick<Config['server'], 'adminAccess' | 'trustedProxies'> }
  /** `identity` is null before the start is complete. */
  readonly snapshot: { readonly identity: { readonly authenticator: Pick<Authenticator, 'authenticate' | 'carriersOf'> } | null }
}

/** A rejection that says how to fix the request. */
export interface AdminRejection {
  readonly status: 401 | 403 | 429 | 503
  readonly error: string
  readonly headers: Readonly<Record<string, string | string[]>>
}

/** The credential that a person enters. `user` belongs to Basic credentials. */
export interface SignIn { readonly user: string, readonly credential: string }

/** `missing`: the request has no credential at all. */
type Verified = 'admitted' | { readonly missing: AdminRejection } | { readonly rejected: AdminRejection }

/** `server.adminAccess` of one configuration. */
interface Rules {
  readonly requirement: Requirement
  readonly allowed: readonly CallerCondition[]
  /** Longest session, ms. */
  readonly session: number
  readonly trusted: TrustedProxies
}

/** Name of the protection space in challenges. */
const REALM = 'admin'

export class AdminAccess {
  private readonly sessions = new Sessions()
  private readonly gateway: Authenticating
  private compiled: { readonly config: Authenticating['config'], readonly rules: Rules | null } | null = null
  /** Failures here are no failures of callers of agents. */
  private readonly throttle = new FailureThrottle()

  constructor (gateway: Authenticating) {
    this.gateway = gateway
  }

  /** False when everybody who reaches the listener may use it. */
  get required (): boolean {
    return this.rules !== null
  }

  /**
   * Verifies the credential of a request, else its session. The credential of a session is verified again with each request, so that a
   * revoked key and an expired token end the session.
   * @returns null when the request may proceed
   */
  async check (request: IncomingMessage): Promise<AdminRejection | null> {
    const { rules } = this
    if (rules === null) return null
    const { url = '', headers } = request
    const question = url.indexOf('?')
    const own = await this.verify({ headers, query: question < 0 ? '' : url.slice(question) }, request, rules)
    if (own === 'admitted') return null
    if ('rejected' in own) return own.rejected
    const cookie = sessionCookie(headers.cookie)
    const presented = cookie === null ? null : this.sessions.find(cookie, Date.now())
    if (cookie === null || presented === null) return own.missing
    const admission = await this.verify(presented, request, rules)
    if (admission === 'admitted') return null
    const rejection = 'missing' in admission ? admission.missing : admission.rejected
    if (rejection.status === 401 || rejection.status === 403) this.sessions.end(cookie)
    return rejection
  }

  /**
   * Begins a session.
   * @param path that the cookie is for
   * @returns the value of `Set-Cookie`, or a rejection
   */
  async signIn (credentials: SignIn, request: IncomingMessage, path: string): Promise<{ readonly cookie: string } | AdminRejection> {
    const { rules } = this
    let last: AdminRejection = rejection(401, 'the credential is not valid')
    if (rules === null) return last
    for (const carrier of this.carriers(rules)) {
      const presented = presentedAs(carrier, credentials)
      if (presented === null) continue
      const admission = await this.verify(presented, request, rules)
      if (admission === 'admitted') {
        const value = this.sessions.begin(presented, Date.now() + rules.session)
        return { cookie: `${COOKIE}=${value}; Path=${path}; Max-Age=${Math.floor(rules.session / 1_000)}; ${attributesOf(request)}` }
      }
      last = 'missing' in admission ? admission.missing : admission.rejected
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

  /** The rules in force; null for none. */
  private get rules (): Rules | null {
    const { config } = this.gateway
    if (this.compiled?.config !== config) this.compiled = { config, rules: rulesOf(config) }
    return this.compiled.rules
  }

  private carriers ({ requirement: { alternatives } }: Rules): readonly Carrier[] {
    return [...new Set(this.gateway.snapshot.identity?.authenticator.carriersOf(alternatives).flat())]
  }

  private async verify (credential: Credential, request: IncomingMessage, rules: Rules): Promise<Verified> {
    const { identity } = this.gateway.snapshot
    if (identity === null) return { rejected: rejection(503, 'the gateway is starting') }
    // Behind a trusted proxy, the clients have addresses of their own.
    const address = clientIp(request.headers, request.socket.remoteAddress, rules.trusted)
    const failing = { address, agent: REALM }
    const presented = { ...credential, connection: connectionOf(request.socket), address: () => address }
    const isThrottled = (pending?: number): boolean => this.throttle.isThrottled(failing, performance.now(), pending)
    const outcome = await identity.authenticator.authenticate(presented, rules.requirement, Date.now(), isThrottled)
    if (outcome.kind === 'caller') return allows(rules, outcome.principal)
    const carriers = this.carriers(rules)
    if (outcome.kind === 'missing') {
      return { missing: challenge(carriers, `send ${carriers.map(shownCarrier).join(', or ')}, or sign in under /console/`) }
    }
    if (outcome.kind === 'unavailable') {
      return {
        rejected: rejection(
          503, `the keys of the source ${outcome.source} are not available`, { 'retry-after': String(outcome.retryAfter) }
        )
      }
    }
    const counts = outcome.kind === 'throttled' || (outcome.kind === 'failed' && outcome.problem !== 'source')
    const slowed = counts ? this.throttle.failed(failing, performance.now()) : null
    if (slowed !== null || outcome.kind === 'throttled') {
      const seconds = String(Math.max(1, Math.ceil((slowed?.wait ?? 0) / 1_000)))
      return { rejected: rejection(429, 'too many credentials that are not valid', { 'retry-after': seconds }) }
    }
    return { rejected: challenge(carriers, problemOf(outcome)) }
  }
}

function rulesOf ({ identity, server: { adminAccess, trustedProxies } }: Authenticating['config']): Rules | null {
  if (adminAccess === null) return null
  const { sources, audience, allow, session } = adminAccess
  return {
    requirement: requirementOf(sources.map(name => [name]), identity === null ? [] : callerSources(identity), audience),
    // The schema of the configuration has no `match` here.
    allowed: allow.map(condition => compileCaller(condition, () => () => false)),
    session,
    trusted: new TrustedProxies(trustedProxies)
  }
}

function allows ({ allowed }: Rules, principal: Principal): Verified {
  return allowed.length === 0 || allowed.some(condition => condition(principal))
    ? 'admitted'
    : { rejected: rejection(403, 'server.adminAccess does not allow this caller') }
}

function rejection (status: AdminRejection['status'], error: string, headers: AdminRejection['headers'] = {}): AdminRejection {
  return { status, error, headers }
}

function challenge (carriers: readonly Carrier[], error: string): AdminRejection {
  return rejection(401, error, { 'www-authenticate': challengesOf(carriers, REALM, { metadata: null, error: null }) })
}

function problemOf (failure: Extract<Authentication, { readonly kind: 'failed' | 'several' | 'incomplete' }>): string {
  return failure.kind !== 'failed'
    ? 'the request has the credentials of two sources; send one of them'
    : `the credential is not valid (${failure.problem})`
}

/** The request that a program would send with the credential; null where the credential does not fit the carrier. */
function presentedAs ({ in: place, name, scheme }: Carrier, { user, credential }: SignIn): Credential | null {
  if ((scheme === 'basic') !== (user !== '')) return null
  if (scheme === 'basic') {
    return { headers: { authorization: `Basic ${Buffer.from(`${user}:${credential}`).toString('base64')}` }, query: '' }
  }
  if (place === 'query') return { headers: {}, query: `?${new URLSearchParams({ [name]: credential }).toString()}` }
  if (place === 'connection' || place === 'proxy' || place === 'metadata') return null
  if (place === 'cookie') return { headers: { cookie: `${name}=${credential}` }, query: '' }
  return { headers: { [name]: scheme === 'bearer' ? `Bearer ${credential}` : credential }, query: '' }
}

/** The admin listener has no TLS of its own. A proxy in front of it that has TLS says so. */
function attributesOf ({ headers }: IncomingMessage): string {
  return `HttpOnly; SameSite=Strict${headers['x-forwarded-proto'] === 'https' ? '; Secure' : ''}`
}

// Sessions of browsers. A restart of the gateway ends all of them.

/** A credential apart from the connection that carries it. */
type Credential = Pick<Presented, 'headers' | 'query'>

interface Session {
  readonly presented: Credential
  /** Milliseconds since the epoch. */
  readonly expires: number
}

/** Sessions at once. The oldest session ends first. */
const SESSIONS = 1_000
const COOKIE = 'a2a_gateway_session'

class Sessions {
  /** By the digest of the cookie's value, so that no key of the map is usable as a cookie. */
  private readonly open = new Map<string, Session>()

  /**
   * @param expires milliseconds since the epoch
   * @returns the value of the new session's cookie
   */
  begin (presented: Credential, expires: number): string {
    const value = randomBytes(32).toString('base64url')
    this.open.set(digest(value), { presented, expires })
    if (this.open.size > SESSIONS) this.open.delete(this.open.keys().next().value ?? '')
    return value
  }

  /** Returns the credential of a session, or null without a session. */
  find (value: string, now: number): Credential | null {
    const session = this.open.get(digest(value))
    if (session === undefined) return null
    if (now < session.expires) return session.presented
    this.end(value)
    return null
  }

  end (value: string): void {
    this.open.delete(digest(value))
  }
}

/** Returns the value of the session's cookie. Two such cookies are none: nobody can tell which one is meant. */
function sessionCookie (header: string | undefined): string | null {
  const values = (header ?? '').split(';').map(pair => pair.trim()).filter(pair => pair.startsWith(`${COOKIE}=`))
  return values.length === 1 ? (values[0]?.slice(COOKIE.length + 1) ?? null) : null
}

function digest (value: string): string {
  return createHash('sha256').update(value).digest('base64url')
}
