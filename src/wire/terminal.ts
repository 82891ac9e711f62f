/** Colours of a terminal (ECMA-48, SGR), and which streams get them. */

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow'

const CODES: Readonly<Record<Colour, readonly [on: number, off: number]>> = {
  bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39]
}

/**
 * Decides whether a stream gets colours: on a terminal, unless NO_COLOR is set (https://no-color.org) or the terminal has none. FORCE_COLOR
 * adds them for other readers, such as the log of a CI system.
 */
export function hasColours ({ isTTY = false }: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  if ((env.NO_COLOR ?? '') !== '') return false
  if ((env.FORCE_COLOR ?? '') !== '') return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  return isTTY && env.TERM !== 'dumb'
}

export function inColour (text: string, colour: Colour): string {
  const [on, off] = CODES[colour]
  return `\x1b[${on}m${text}\x1b[${off}m`
}
