/**
 * Counts the work of a WebAssembly module as built: one step for each call of a function of the module, and for each turn of a loop. Unlike
 * time, the count is the same in every run.
 */
import { webAssembly } from '#wire/shared-memory.js'
import type { WebAssemblyMemory } from '#wire/shared-memory.js'

const GLOBALS = 6
const EXPORTS = 7
const CODE = 10
/** Of the binary format: https://webassembly.github.io/spec/core/binary/. */
const I64 = 0x7e
const LOOP = 0x03
const END = 0x0b
const COUNTER = 'steps'

class Reader {
  readonly bytes: Buffer
  at = 0

  constructor (bytes: Buffer) {
    this.bytes = bytes
  }

  byte (): number {
    return this.bytes[this.at++] as number
  }

  /** An unsigned number; of signed ones only the bytes are read. */
  leb (): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte()
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }

  skip (count: number): void {
    this.at += count
  }

  slice (from: number): Buffer {
    return this.bytes.subarray(from, this.at)
  }
}

function leb (value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(Math.floor(value / 128))]
}

/** Skips what follows an opcode. */
function skipImmediates (reader: Reader, opcode: number): void {
  const memory = (): void => { reader.leb(); reader.leb() }
  if (opcode >= 0x02 && opcode <= 0x04) reader.leb()
  else if (opcode === 0x0c || opcode === 0x0d || opcode === 0x10 || (opcode >= 0x20 && opcode <= 0x26)) reader.leb()
  else if (opcode === 0x0e) for (let count = reader.leb() + 1; count > 0; count--) reader.leb()
  else if (opcode === 0x11 || (opcode >= 0x28 && opcode <= 0x3e)) memory()
  else if (opcode === 0x1c) reader.skip(reader.leb())
  else if (opcode >= 0x3f && opcode <= 0x42) reader.leb()
  else if (opcode === 0x43) reader.skip(4)
  else if (opcode === 0x44) reader.skip(8)
  else if (opcode === 0xfc) {
    const more = reader.leb()
    if (more > 7) reader.skip(more === 10 || more === 8 ? 2 : 1)
  } else if (opcode === 0xfd) {
    const more = reader.leb()
    if (more <= 11 || (more >= 84 && more <= 93)) memory()
    if ((more >= 84 && more <= 91) || (more >= 21 && more <= 34)) reader.skip(1)
    if (more === 12 || more === 13) reader.skip(16)
  } else if (opcode > 0xc4) throw new Error(`unknown opcode ${opcode}`)
}

/** The code of one function, which counts its calls and the turns of its loops. */
function countedBody (body: Buffer, counter: number): Buffer {
  const reader = new Reader(body)
  for (let groups = reader.leb(); groups > 0; groups--) { reader.leb(); reader.byte() }
  const count = Buffer.from([0x23, ...leb(counter), 0x42, 1, 0x7c, 0x24, ...leb(counter)])
  const pieces = [reader.slice(0), count]
  let from = reader.at
  while (reader.at < body.length) {
    const opcode = reader.byte()
    skipImmediates(reader, opcode)
    if (opcode !== LOOP) continue
    pieces.push(reader.slice(from), count)
    from = reader.at
  }
  if (body.at(-1) !== END) throw new Error('the code of the function was not read to its end')
  pieces.push(reader.slice(from))
  return Buffer.concat(pieces)
}

/** @returns the module with a global that counts, which it exports */
function countedModule (module: Buffer): Buffer {
  const reader = new Reader(module)
  reader.skip(8)
  const sections = new Map<number, Buffer>()
  while (reader.at < module.length) {
    const id = reader.byte()
    const size = reader.leb()
    const from = reader.at
    reader.skip(size)
    if (id !== 0) sections.set(id, reader.slice(from))
  }
  const list = (id: number): { count: number, rest: Buffer } => {
    const section = new Reader(sections.get(id) ?? Buffer.from([0]))
    const count = section.leb()
    return { count, rest: section.bytes.subarray(section.at) }
  }
  const globals = list(GLOBALS)
  const exports = list(EXPORTS)
  const code = list(CODE)
  const bodies = new Reader(code.rest)
  const counted = Array.from({ length: code.count }, () => {
    const size = bodies.leb()
    const from = bodies.at
    bodies.skip(size)
    const body = countedBody(bodies.slice(from), globals.count)
    return Buffer.concat([Buffer.from(leb(body.length)), body])
  })
  sections.set(GLOBALS, Buffer.concat([Buffer.from(leb(globals.count + 1)), globals.rest, Buffer.from([I64, 1, 0x42, 0, END])]))
  const name = [COUNTER.length, ...Buffer.from(COUNTER), 3, ...leb(globals.count)]
  sections.set(EXPORTS, Buffer.concat([Buffer.from(leb(exports.count + 1)), exports.rest, Buffer.from(name)]))
  sections.set(CODE, Buffer.concat([Buffer.from(leb(code.count)), ...counted]))
  const inOrder = [...sections].sort(([a], [b]) => (a === 12 ? 9.5 : a) - (b === 12 ? 9.5 : b))
  return Buffer.concat([module.subarray(0, 8), ...inOrder.flatMap(([id, bytes]) => [Buffer.from([id, ...leb(bytes.length)]), bytes])])
}

export interface CountedModule<Exports> {
  readonly exports: Exports
  /** Runs the function, and returns the steps that it took. */
  readonly steps: (run: () => void) => number
}

/**
 * @param code of the build, in base64
 * @param memory that the module imports
 * @param functions that the module imports
 */
export function countedInstance<Exports> (
  code: string,
  memory: WebAssemblyMemory,
  functions: Readonly<Record<string, (...numbers: number[]) => number>> = {}
): CountedModule<Exports> {
  if (webAssembly === undefined) throw new Error('this Node has no WebAssembly')
  const module = new webAssembly.Module(countedModule(Buffer.from(code, 'base64')))
  const { exports } = new webAssembly.Instance(module, { env: { memory, ...functions } }) as
    { readonly exports: Exports & { readonly steps: { value: bigint } } }
  return {
    exports,
    steps: run => {
      exports.steps.value = 0n
      run()
      return Number(exports.steps.value)
    }
  }
}
