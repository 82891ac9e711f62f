/** Writes to the standard streams. A reader that closes its pipe, such as `head`, is no error, and no output ends `serve`. */
import type { Output } from '../output.js'
import type { Colour } from '#wire/terminal.js'
import { hasColours, inColour } from '#wire/terminal.js'

/** Exit code of a command whose output could not be written, for example to a full disk. */
const UNWRITTEN = 1

const lines = (text: string): string => text.endsWith('\n') ? text : `${text}\n`

/**
 * Output to stdout and stderr, in colours on a terminal. After the reader has closed its pipe, texts are dropped and the command keeps its
 * exit code. `serve` continues with every stream that cannot be written: calls do not depend on its messages.
 * @param command name of the command, for the colours of its output. Null: no colours on stdout, for the formats for machines
 */
export function standardStreams ({ stdout, stderr, env }: NodeJS.Process, command: string | null, serves: boolean): Output {
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (serves || isClosed(error)) return
      if (stream === stdout) stderr.write(`a2a-gateway: the output cannot be written: ${error.message}\n`)
      process.exit(UNWRITTEN)
    })
  }
  const coloured = command !== null && hasColours(stdout, env) ? command : null
  const errorColours = hasColours(stderr, env)
  return {
    out: text => { stdout.write(lines(coloured === null ? text : colourOutput(coloured, text))) },
    err: text => { stderr.write(lines(errorColours ? colourErrors(text) : text)) }
  }
}

/** True for the errors of a pipe without a reader. */
function isClosed ({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED'
}

/* Colours of the output on a terminal. They are added to finished lines, so that no formatter knows of them. */

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
function colourOutput (command: string, text: string): string {
  return painted(text, Object.hasOwn(PARTS, command) ? PARTS[command] ?? [] : [])
}

/** Colours what a command writes on stderr. */
function colourErrors (text: string): string {
  return painted(text, ERRORS)
}

function painted (text: string, parts: readonly (readonly [RegExp, Colour])[]): string {
  return parts.reduce((before, [part, colour]) => before.replaceAll(part, match => inColour(match, colour)), text)
}
