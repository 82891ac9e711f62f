/** Memory below the text, and what all parts of checker.as share. `checker.ts` and `program.ts` know the same places. */
export const MEMBERS_AND_ITEMS: usize = 0
export const DEPTH: usize = 4
export const NUMBER_COUNT: usize = 8
/** 1 when "not valid" may be wrong: the outcome of the whole check is then "look closer". */
export const DOUBT: usize = 12
/** Place of the text. */
export const TEXT: usize = 16
/** Values that may still be read. Several readings of one value would otherwise take a time that is not linear in the text. */
export const STEPS: usize = 20
export const NUMBERS: usize = 64
export const MAX_NUMBERS: u32 = 2048
export const NAMES: usize = NUMBERS + 8 * <usize>MAX_NUMBERS

/** @returns 0, for the place after the value */
export function doubt (): usize {
  store<u32>(DOUBT, 1)
  store<u32>(STEPS, 0)
  return 0
}

// @ts-ignore: decorator
@inline
export function hasSteps (): bool {
  const steps = load<u32>(STEPS)
  if (steps == 0) {
    doubt()
    return false
  }
  store<u32>(STEPS, steps - 1)
  return true
}

/** Charges for bytes that are read: 16 at once. */
// @ts-ignore: decorator
@inline
export function charge (bytes: u32): void {
  const steps = load<u32>(STEPS)
  const cost = bytes >> 4
  store<u32>(STEPS, cost < steps ? steps - cost : 0)
}
