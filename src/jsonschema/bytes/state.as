/** Memory below the text, and what all parts of checker.as share. `checker.ts` and `program.ts` know the same places. */
export const MEMBERS_AND_ITEMS: usize = 0
export const DEPTH: usize = 4
export const NUMBER_COUNT: usize = 8
/** 1 when "not valid" may be wrong: the outcome of the whole check is then "look closer". */
export const DOUBT: usize = 12
/** Place of the text. */
export const TEXT: usize = 16
/** Values that may still be read, and 64 bytes of long strings for each. Several readings of one value would otherwise take a time that is not linear in the text. */
export const STEPS: usize = 20
export const NUMBERS: usize = 64
export const MAX_NUMBERS: u32 = 2048
export const NAMES: usize = NUMBERS + 8 * <usize>MAX_NUMBERS

/** @returns 0, for the place after the value */
export function doubt (): usize {
  store<u32>(DOUBT, 1)
  store<i32>(STEPS, 0)
  return 0
}

/** Called before a value is read by one more schema. */
export function hasSteps (): bool {
  const steps = load<i32>(STEPS) - 1
  store<i32>(STEPS, steps)
  if (steps > 0) return true
  doubt()
  return false
}

// @ts-ignore: decorator
@inline
export function charge (steps: u32): void {
  store<i32>(STEPS, load<i32>(STEPS) - <i32>steps)
}
