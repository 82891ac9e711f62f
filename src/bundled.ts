/**
 * The build (scripts/bundle/) joins the gateway and the packages that every start loads into one script. This module runs that script with
 * the code cache that V8 made at build time. Before the bundle, a start found, read and compiled 500 files one by one, which took more than
 * half of its processor time.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'
import { crc32 } from 'node:zlib'
import { setEngineFlags } from './engine.js'

/** Loaders of the modules that can be started, by name. */
export type Bundle = Readonly<Record<string, () => unknown>>

/**
 * @returns the script with its V8 code cache; V8 uses the cache only if the same V8 made the cache under the same flags from the same
 * source
 */
export function readScript (file: string): Script {
  setEngineFlags()
  // The script is ASCII. Decoding as Latin-1 needs no check of the bytes.
  const source = readOnce(file).toString('latin1')
  const cachedData = readCache(cacheOf(file))
  return new Script(source, { filename: file, ...cachedData === null ? {} : { cachedData } })
}

/** Runs the script, which is a function of the variables that a CommonJS module sees. */
function runScript (script: Script, file: string): Bundle {
  const run = script.runInThisContext() as (
    exports: Record<string, () => unknown>,
    require: NodeJS.Require,
    filename: string,
    dirname: string
  ) => void
  const exports: Record<string, () => unknown> = {}
  run(exports, createRequire(file), file, dirname(file))
  return exports
}

/** @param name path of the script below this folder */
export function bundled (name: string): Bundle {
  const file = join(import.meta.dirname, name)
  return runScript(readScript(file), file)
}

/** One script can have a cache for each version of V8: Node 20 and Node 24 may start the same build. */
export const cacheOf = (file: string): string => file.replace(/\.cjs$/, `-v8-${process.versions.v8}.cache`)

/** The types of Node 20 do not have the second parameter (ECMAScript 2024), which Node 20 has. */
const ResizableArrayBuffer = ArrayBuffer as new (length: number, options: { maxByteLength: number }) => ArrayBuffer

const CHECKSUM_BYTES = 4

/** @returns the content of the file of a code cache; the checksum follows the data, because V8 copies data that is not aligned */
export function writeCache (data: Buffer): Buffer {
  const checksum = Buffer.alloc(CHECKSUM_BYTES)
  checksum.writeUInt32LE(crc32(data))
  return Buffer.concat([data, checksum])
}

/** @returns null when the cache is missing or damaged; V8 accepts damaged bytes unchecked and may crash later */
function readCache (file: string): Buffer | null {
  let bytes: Buffer
  try {
    bytes = readOnce(file)
  } catch {
    return null
  }
  const end = bytes.length - CHECKSUM_BYTES
  if (end <= 0) return null
  const data = bytes.subarray(0, end)
  return crc32(data) === bytes.readUInt32LE(end) ? data : null
}

/**
 * Reads a file of some megabytes into memory that the process returns to the system after use: the pages of a resizable `ArrayBuffer`. The
 * memory of `readFileSync` comes from the C library. After glibc frees a block of this size, each thread keeps up to twice as much free
 * memory (`mallopt(3)`, M_MMAP_THRESHOLD). Idle memory with Node 20: 124 to 127 MB before, and 116 to 126 now. With Node 24, starts of the
 * same code differ by more than the gain (four starts each, 29 November 2026).
 */
function readOnce (file: string): Buffer {
  const descriptor = openSync(file, 'r')
  try {
    const { size } = fstatSync(descriptor)
    const bytes = Buffer.from(new ResizableArrayBuffer(size, { maxByteLength: size }), 0, size)
    let length = 0
    while (length < size) {
      const read = readSync(descriptor, bytes, length, size - length, null)
      if (read === 0) break
      length += read
    }
    return bytes.subarray(0, length)
  } finally {
    closeSync(descriptor)
  }
}
