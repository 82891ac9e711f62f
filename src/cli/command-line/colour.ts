/** Colours of the output on a terminal. They are added to finished lines, so that no formatter knows of them. */
import type { Colour } from '#wire/terminal.js'
import { inColour } from '#wire/terminal.js'

/** The parts of the lines of each command that have a colour. */
const PARTS: Readonly<Record<string, readonly (readonly [part: RegExp, colour: Colour])[]>> = {
  check: [[/^\S+:\d+:\d+:(?= )/gm, 'bold'], [/(?<=: )warning:/g, 'yellow'], [/(?<=^\S+: )ok:/gm, 'green']],
  explain: [
    [/^(?:extensions|policies|policy servers|results|the response to the client|the forwarded request)(?=$| )/gm, 'bold'],
    [/(?<=^decision {3})forward.*$/gm, 'green'],
    [/(?<=^decision {3})reject.*$/gm, 'red'],
    [/(?<=^ {4,6}[\w-]+: )violated(?=$|[;,])/gm, 'red']
  ],
  test: [[/^ {2}ok(?= {4})/gm, 'green'], [/^ {2}FAIL(?= {2})/gm, 'red'], [/^\d+ passed/gm, 'green'], [/\d+ failed(?=$|,)/gm, 'red']],
  help: [[/^Examples$/gm, 'bold'], [/^ {2}# .*$/gm, 'dim']]
}
const ERRORS: readonly (readonly [RegExp, Colour])[] = [[/^a2a-gateway(?: [\w-]+)?:(?= )/gm, 'red'], [/^warning:/gm, 'yellow']]

/** Colours the output of a command. The formats for machines must not come here. */
export function colourOutput (command: string, text: string): string {
  return painted(text, Object.hasOwn(PARTS, command) ? PARTS[command] ?? [] : [])
}

/** Colours what a command writes on stderr. */
export function colourErrors (text: string): string {
  return painted(text, ERRORS)
}

function painted (text: string, parts: readonly (readonly [RegExp, Colour])[]): string {
  return parts.reduce((before, [part, colour]) => before.replaceAll(part, found => inColour(found, colour)), text)
}
