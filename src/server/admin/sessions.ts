/** Sessions of browsers. A restart of the gateway ends all of them. */
import { createHash, randomBytes } from 'node:crypto'
import type { Credential } from './access.js'

interface Session {
  readonly presented: Credential
  /** Milliseconds since the epoch. */
  readonly expires: number
}

/** Sessions at once. The oldest session ends first. */
const SESSIONS = 1_000
export const COOKIE = 'a2a_gateway_session'

export class Sessions {
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
export function sessionCookie (header: string | undefined): string | null {
  const values = (header ?? '').split(';').map(pair => pair.trim()).filter(pair => pair.startsWith(`${COOKIE}=`))
  return values.length === 1 ? (values[0]?.slice(COOKIE.length + 1) ?? null) : null
}

function digest (value: string): string {
  return createHash('sha256').update(value).digest('base64url')
}
