/** Minimises an input that breaks a promise. The smaller input still breaks the same promise. */
import type { Coverage } from './coverage.js'
import type { Finding, Target } from './target.js'

const TRIES = 1500

/** Identifies a finding by the kind and the place of the thrown error, without numbers and quoted text. */
export function signature (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const place = /at .*?([\w-]+\.[jt]s:\d+)/.exec(error.stack ?? '')?.[1] ?? ''
  const words = (error.message.split('\n', 1)[0] as string).replace(/["'`].*["'`]|\d+/g, '').slice(0, 60)
  return `${error.name} ${words} ${place}`
}

/** @param before called with each input before it is tried */
export function minimise (target: Target, bytes: Buffer, error: unknown, before: ((bytes: Buffer) => void) | undefined): Finding {
  const wanted = signature(error)
  let smallest = bytes
  let last = error
  let tries = 0
  const breaks = (candidate: Buffer): boolean => {
    if (tries++ >= TRIES) return false
    before?.(candidate)
    try {
      target.check(candidate)
      return false
    } catch (thrown) {
      if (signature(thrown) !== wanted) return false
      smallest = candidate
      last = thrown
      return true
    }
  }
  for (let size = Math.ceil(bytes.length / 2); ; size = Math.ceil(size / 2)) {
    for (let at = 0; at < smallest.length;) {
      if (!breaks(Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)]))) at += size
    }
    if (size <= 1) break
  }
  return { bytes: smallest, message: last instanceof Error ? last.stack ?? last.message : String(last) }
}

/** Maximum number of inputs in a stored corpus. */
const KEPT = 50

/** Selects few and small inputs that together reach all the code of the given inputs. Inputs that break a promise are left out. */
export function smallestCover (target: Target, inputs: readonly Buffer[], coverage: Coverage): Buffer[] {
  const kept: Buffer[] = []
  for (const bytes of inputs.toSorted((a, b) => a.length - b.length)) {
    if (kept.length >= KEPT) break
    coverage.reset()
    try {
      target.check(bytes)
    } catch {
      continue
    }
    const { covered } = coverage
    coverage.take()
    if (coverage.covered > covered) kept.push(bytes)
  }
  return kept
}
