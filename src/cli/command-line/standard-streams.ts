/** Writes to the standard streams. A reader that closes its pipe, such as `head`, is no error, and no output ends `serve`. */
import type { Output } from '../output.js'
import { hasColours } from '#wire/terminal.js'
import { colourErrors, colourOutput } from './colour.js'

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
