/**
 * The lines of this process on stdout: log, audit and spans. pino's own destination throws the errors of a full disk at the caller, and
 * waits in the event loop for a pipe without room, so lines are written here. A write that fails never stops a call.
 */
import { writeSync } from 'node:fs'
import type { Writable } from 'node:stream'

/** Takes finished lines. */
export interface LineSink {
  /** @returns false when the line is lost */
  put (line: string): boolean
}

/** Bytes of lines that may wait until stdout accepts them, in each process. */
const BACKLOG = 1024 * 1024
/** Bytes of lines that may wait in a stream. */
const STREAM_BACKLOG = 4 * 1024 * 1024
/** Milliseconds until the next attempt when a pipe has no room. A pipe of Linux has room for 64 KiB. */
const NO_ROOM_RETRY = 10
/** Milliseconds until the next attempt after another error. */
const ERROR_RETRY = 250
/** Milliseconds that the end of the process may wait for a slow reader. */
const LAST_WAIT = 1_000

/** Errors of a pipe that has no room now. They are not reported: a slow reader is no fault. */
const NO_ROOM: ReadonlySet<string> = new Set(['EAGAIN', 'EWOULDBLOCK', 'EBUSY'])
/** Errors of a destination without a reader, as in `| head`. They are not reported, and each later line is an attempt. */
const NO_READER: ReadonlySet<string> = new Set(['EPIPE', 'EBADF'])

export interface DescriptorLinesOptions {
  /** Maximum number of bytes that wait. Default 1 MiB. */
  readonly backlog?: number
  /** Called with a sentence when writes begin to fail, and when they succeed again. Default: stderr. */
  readonly report?: (text: string) => void
  /** Writes bytes; default `fs.writeSync`. */
  readonly write?: (fd: number, bytes: Buffer) => number
}

/** Lines into a file descriptor. */
export class DescriptorLines implements LineSink {
  readonly #fd: number
  readonly #backlog: number
  readonly #report: (text: string) => void
  readonly #write: (fd: number, bytes: Buffer) => number
  /** Lines that wait, in their order. The first may be the rest of a line. */
  readonly #waiting: Buffer[] = []
  #waitingBytes = 0
  #retry: NodeJS.Timeout | null = null
  /** Code of the error that was reported; null while writes succeed. */
  #reported: string | null = null
  #lost = 0

  constructor (fd: number, { backlog = BACKLOG, report = reportToStderr, write = writeSync }: DescriptorLinesOptions = {}) {
    this.#fd = fd
    this.#backlog = backlog
    this.#report = report
    this.#write = write
  }

  put (line: string): boolean {
    const bytes = Buffer.from(line)
    if (this.#waiting.length > 0 && this.#waitingBytes + bytes.length > this.#backlog) return this.#lose()
    // While the timer runs, an attempt would fail as the last one did.
    const attempts = this.#retry === null
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (!attempts || this.#drain() || this.#retry !== null) return true
    // Without a reader, a line does not wait. Lines that waited before stay, because a named pipe can get a new reader.
    if (this.#waiting.at(-1) !== bytes) return true
    this.#waiting.pop()
    this.#waitingBytes -= bytes.length
    return this.#lose()
  }

  /** Writes what waits, at the end of the process: waits for a slow reader for at most one second. */
  finish (): void {
    const until = performance.now() + LAST_WAIT
    while (!this.#drain() && this.#waiting.length > 0 && this.#reported === null && performance.now() < until) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, NO_ROOM_RETRY)
    }
  }

  #lose (): false {
    this.#lost++
    return false
  }

  /** @returns true when all lines are written */
  #drain (): boolean {
    for (;;) {
      const [first] = this.#waiting
      if (first === undefined) {
        if (this.#reported !== null) this.#recovered()
        return true
      }
      try {
        const written = this.#write(this.#fd, first)
        this.#waitingBytes -= written
        if (written === first.length) this.#waiting.shift()
        else this.#waiting[0] = first.subarray(written)
      } catch (error) {
        this.#failed(error as NodeJS.ErrnoException)
        return false
      }
    }
  }

  #failed ({ code = 'unknown', message }: NodeJS.ErrnoException): void {
    if (NO_READER.has(code)) return
    const hasRoom = !NO_ROOM.has(code)
    if (hasRoom && this.#reported !== code) {
      this.#reported = code
      this.#report(`stdout cannot be written (${message}): log lines and audit lines wait or are lost, calls go on`)
    }
    this.#retry ??= setTimeout(() => {
      this.#retry = null
      this.#drain()
    }, hasRoom ? ERROR_RETRY : NO_ROOM_RETRY).unref()
  }

  #recovered (): void {
    this.#reported = null
    const lost = this.#lost
    this.#lost = 0
    this.#report(`stdout can be written again${lost === 0 ? '' : `; ${lost} ${lost === 1 ? 'line was' : 'lines were'} lost`}`)
  }
}

/** Lines into a stream of the caller. */
class StreamLines implements LineSink {
  readonly #stream: Writable

  constructor (stream: Writable) {
    this.#stream = stream
    // A reader that disconnects (EPIPE) must not stop the gateway. Without a listener, the error would end the process.
    if (!stream.listeners('error').includes(ignore)) stream.on('error', ignore)
  }

  put (line: string): boolean {
    const { writable, writableLength } = this.#stream
    if (!writable || writableLength > STREAM_BACKLOG) return false
    try {
      this.#stream.write(line)
      return true
    } catch {
      return false
    }
  }
}

function ignore (): void {}

let ofProcess: DescriptorLines | null = null

/** Returns the lines of this process on stdout. All writers share them, so that no line is written into another one. */
export function standardOutput (): LineSink {
  if (ofProcess === null) {
    const lines = ofProcess = new DescriptorLines(1)
    process.once('exit', () => { lines.finish() })
  }
  return ofProcess
}

/** Returns the lines of a stream. */
export function linesOf (stream: Writable): LineSink {
  return new StreamLines(stream)
}

function reportToStderr (text: string): void {
  try {
    writeSync(2, `a2a-gateway: ${text}\n`)
  } catch {
    // stderr may be on the same full disk.
  }
}
