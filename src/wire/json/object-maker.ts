/**
 * Makes objects of the same members in one step.
 *
 * An assignment `object[name] = value` with names of a body is one place in the code that sees the names of all bodies, so V8 searches for
 * the name each time. A function per list of names sees its own names only, and V8 compiles their places into the code (measured with
 * objects of three members: 11 instead of 38 ns). The source of such a function depends only on the number of names. The names are
 * arguments, so no text of a client becomes code.
 */

/** @param values one for each name, in the order of the names */
export type ObjectMaker = (values: readonly unknown[]) => object

/** Functions that the process has at most. */
const MAKERS = 64
/** Names of a function, and characters of all its names, at most. */
const NAMES = 32
const CHARACTERS = 512
/** When the process has all its functions, a new one replaces another at most once in this time, ms. A function costs about 40 us. */
const PAUSE = 1_000

/** By names as JSON, the one used last at the end. */
const makers = new Map<string, ObjectMaker>()
let made = 0
let replacedAt = -PAUSE

/**
 * @param names different names, none of them `__proto__` or an array index
 * @returns null when the process has no function for these names, and makes none now
 */
export function objectMaker (names: readonly string[]): ObjectMaker | null {
  if (names.length > NAMES || names.reduce((sum, name) => sum + name.length, 0) > CHARACTERS) return null
  const key = JSON.stringify(names)
  const known = makers.get(key)
  const maker = known ?? make(names)
  if (maker === null) return null
  makers.delete(key)
  makers.set(key, maker)
  return maker
}

function make (names: readonly string[]): ObjectMaker | null {
  if (makers.size >= MAKERS) {
    const now = performance.now()
    if (now - replacedAt < PAUSE) return null
    replacedAt = now
    makers.delete(makers.keys().next().value as string)
  }
  const places = names.map((_name, i) => i)
  // V8 keeps what it has learned per source text. The number makes each text another one.
  const source = `return values => ({ ${places.map(i => `[n${i}]: values[${i}]`).join(', ')} }) // ${made++}`
  try {
    // eslint-disable-next-line no-new-func -- the source has no text of a client
    return (new Function(...places.map(i => `n${i}`), source) as (...names: readonly string[]) => ObjectMaker)(...names)
  } catch {
    // Node was started with --disallow-code-generation-from-strings.
    return null
  }
}
