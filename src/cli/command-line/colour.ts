/** Colours of the output on a terminal. They are added to finished lines, so that no formatter knows of them. */

type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow'

const CODES: Readonly<Record<Colour, readonly [on: number, off: number]>> = {
  bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39]
}

/** The parts of the lines of each command that have a colour. */
const PARTS: Readonly<Record<string, readonly (readonly [part: RegExp, colour: Colour])[]>> = {
  check: [[/^\S+:\d+:\d+:(?= )/gm, 'bold'], [/(?<=: )warning:/g, 'yellow'], [/(?<=^\S+: )ok:/gm, 'green']],
  explain: [
    [/^(?:extensions|policies|results|the response to the client|the forwarded request)(?=$| )/gm, 'bold'],
    [/(?<=^decision {3})forward.*$/gm, 'green'],
    [/(?<=^decision {3})reject.*$/gm, 'red'],
    [/(?<=^ {4,6}[\w-]+: )violated(?=$|[;,])/gm, 'red']
  ],
  test: [[/^ {2}ok(?= {4})/gm, 'green'], [/^ {2}FAIL(?= {2})/gm, 'red'], [/^\d+ passed/gm, 'green'], [/\d+ failed(?=$|,)/gm, 'red']],
  help: [[/^Examples$/gm, 'bold'], [/^ {2}# .*$/gm, 'dim']]
}
const ERRORS: readonly (readonly [RegExp, Colour])[] = [[/^a2a-gateway(?: [\w-]+)?:(?= )/gm, 'red'], [/^warning:/gm, 'yellow']]

/**
 * Decides whether a stream gets colours: on a terminal, unless NO_COLOR is set (https://no-color.org) or the terminal has none. FORCE_COLOR
 * adds them for other readers, such as the log of a CI system.
 */
export function hasColours ({ isTTY = false }: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  if ((env.NO_COLOR ?? '') !== '') return false
  if ((env.FORCE_COLOR ?? '') !== '') return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  return isTTY && env.TERM !== 'dumb'
}

/** Colours the output of a command. The formats for machines must not come here. */
export function colourOutput (command: string, text: string): string {
  return painted(text, Object.hasOwn(PARTS, command) ? PARTS[command] ?? [] : [])
}

/** Colours what a command writes on stderr. */
export function colourErrors (text: string): string {
  return painted(text, ERRORS)
}

function painted (text: string, parts: readonly (readonly [RegExp, Colour])[]): string {
  return parts.reduce((before, [part, colour]) => {
    const [on, off] = CODES[colour]
    return before.replaceAll(part, found => `\x1b[${on}m${found}\x1b[${off}m`)
  }, text)
}
