/**
 * Lists the corrections to a rejected request: header lines, and the expected values at places in the body. Uses the rejection alone, which
 * explains how to fix the request and never contains its data.
 */
import type { Rejection } from '#a2a/errors.js'
import { parseJson } from '#wire/json/parse-json.js'

export interface EntryViolation {
  readonly phase: 'request' | 'response'
  readonly mode: 'enforce' | 'observe'
  readonly extension: string
  readonly rule: string
  readonly reason: string
  readonly path: string
  readonly message: string
}

export interface Correction {
  /** Header lines to add or replace. */
  readonly headers: readonly { readonly name: string, readonly value: string }[]
  /** Headers that must not be sent. */
  readonly without: readonly string[]
  /** Outline of the body: only the named places, with the expected values. Null when the body is not at fault. */
  readonly body: Outline | null
  /** Places whose path cannot be drawn, and messages about the request as a whole. */
  readonly notes: readonly { readonly path: string, readonly expected: string }[]
  /** HTTP method to use. */
  readonly allow: string | null
  /** Seconds to wait before trying again. */
  readonly retryAfter: number | null
}

/** A tree of names. `expected` is the message about the place itself. */
export interface Outline {
  readonly list: boolean
  readonly expected: string | null
  /** True when the value must be removed. */
  readonly remove: boolean
  readonly members: readonly (readonly [string, Outline])[]
}

const HEADER = /^header (.+)$/i
const PLACES = 40

export function correctionOf (rejection: Rejection, violations: readonly EntryViolation[], version: string): Correction | null {
  // The caller cannot fix faults of a response.
  if (violations.some(violation => violation.phase === 'response')) return null
  const headers: { name: string, value: string }[] = []
  const without: string[] = []
  const notes: { path: string, expected: string }[] = []
  const root = new Branch()
  const { missingExtensions, supportedVersions } = rejection.metadata ?? {}
  if (missingExtensions !== undefined) headers.push({ name: headerOf(violations, version), value: missingExtensions })
  if (supportedVersions !== undefined) {
    const best = supportedVersions.split(',').includes('1.0') ? '1.0' : '0.3'
    if (best === '0.3') without.push('A2A-Version')
    else headers.push({ name: 'A2A-Version', value: best })
  }
  for (const { path, message } of violations.slice(0, PLACES)) {
    const header = HEADER.exec(path)?.[1]
    if (header === undefined) {
      const steps = stepsOf(path)
      if (steps === null || steps.length === 0) notes.push({ path, expected: message })
      else root.put(steps, message)
    } else if (!headers.some(other => other.name.toLowerCase() === header.toLowerCase()) && !without.includes(header)) {
      notes.push({ path, expected: message })
    }
  }
  const retryAfter = rejection.retryAfter ?? null
  const allow = rejection.allow ?? null
  const body = root.empty ? null : root.outline()
  if (headers.length === 0 && without.length === 0 && body === null && notes.length === 0 && allow === null && retryAfter === null) {
    return null
  }
  return { headers, without, body, notes, allow, retryAfter }
}

/** Returns the header's name from the violation, else the name for the version. */
function headerOf (violations: readonly EntryViolation[], version: string): string {
  const named = violations.map(violation => HEADER.exec(violation.path)?.[1]).find(name => name !== undefined && /^(?:x-)?a2a-extensions$/i.test(name))
  return named ?? (version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions')
}

const STEP = /\.?([A-Za-z_$][\w$-]*)|\[(\d{1,10})\]|\[("(?:[^"\\]|\\.)*")\]/y

/**
 * Splits `params.message.parts[0].data["odd name"]` into its names.
 * @returns null for any other text, such as a query parameter
 */
export function stepsOf (path: string): (string | number)[] | null {
  const steps: (string | number)[] = []
  STEP.lastIndex = 0
  while (STEP.lastIndex < path.length) {
    const match = STEP.exec(path)
    if (match === null) return null
    const [, name, index, quoted] = match
    if (name !== undefined) steps.push(name)
    else if (index !== undefined) steps.push(Number(index))
    else {
      try {
        steps.push(String(parseJson(quoted as string)))
      } catch {
        return null
      }
    }
  }
  return steps
}

/** Messages about values that must be removed. All other messages describe a required value. */
const TOO_MUCH = /^is not a property|^is not allowed|^must not be|is not a name/

class Branch {
  private readonly children = new Map<string, Branch>()
  private list = false
  private expected: string | null = null

  get empty (): boolean {
    return this.children.size === 0 && this.expected === null
  }

  put ([first, ...rest]: readonly (string | number)[], expected: string): void {
    if (first === undefined) {
      this.expected = this.expected === null ? expected : `${this.expected}; ${expected}`
      return
    }
    this.list = typeof first === 'number'
    const key = String(first)
    let child = this.children.get(key)
    if (child === undefined) this.children.set(key, child = new Branch())
    child.put(rest, expected)
  }

  outline (): Outline {
    const { list, expected } = this
    return {
      list,
      expected,
      remove: expected !== null && TOO_MUCH.test(expected),
      members: [...this.children].map(([name, child]) => [name, child.outline()] as const)
    }
  }
}
