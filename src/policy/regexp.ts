/**
 * Linear-time regular expressions for the patterns of cards and policies: RE2, so no pattern is slow on any input (ReDoS).
 * Patterns are ECMA-262 (JSON Schema 2020-12 §6.4), translated; what RE2 cannot say (look-around, back-references, repeat counts
 * over 1000) and what only RE2 understands is an error when the pattern is compiled, never a different match.
 */
import { RE2JS } from 're2js'

export interface Matcher { test (text: string): boolean }

/** Escapes and classes to which RE2 gives a meaning that ECMA-262 does not. */
const RE2_ONLY = /\\[QEAzaCpP]|\[\[:/

/** @throws Error in plain words when the pattern cannot be used */
export function compilePattern (pattern: string): Matcher {
  if (!isEcma(pattern)) throw new Error(`the pattern ${JSON.stringify(pattern)} is not a valid ECMA-262 regular expression`)
  let compiled: RE2JS
  try {
    compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
  } catch (error) {
    throw new Error(`the pattern ${JSON.stringify(pattern)} cannot run in linear time (${(error as Error).message.replace('error parsing regexp: ', '')}); look-around, back-references and repeat counts over 1000 are not supported`)
  }
  return { test: text => compiled.matcher(text).find() }
}

function isEcma (pattern: string): boolean {
  try {
    // eslint-disable-next-line no-new
    new RegExp(pattern, 'u')
    return true
  } catch {
    // Without the flag, needless escapes such as `\-` and `\@` are legal, and common in published schemas.
    if (RE2_ONLY.test(pattern)) return false
  }
  try {
    // eslint-disable-next-line no-new
    new RegExp(pattern)
    return true
  } catch {
    return false
  }
}
