/**
 * The one script that the build makes of the gateway and of the packages that every start loads (scripts/bundle/), run with what V8 had made of it
 * when it was built. A start found, read and compiled 500 files one by one before: more than half of its processor time.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'
import { crc32 } from 'node:zlib'
import { setEngineFlags } from './engine.js'

/** How the modules that can be started are loaded, by name. */
export type Bundle = Readonly<Record<string, () => unknown>>

/** @returns the script, with what V8 has kept of it where that can be used: made by this V8 under these flags, of this source */
export function readScript (file: string): Script {
  setEngineFlags()
  // Written in ASCII; as Latin-1 nothing has to be checked.
  const source = readFileSync(file, 'latin1')
  const cachedData = readCache(cacheOf(file))
  return new Script(source, { filename: file, ...cachedData === null ? {} : { cachedData } })
}

/** The script is a function of what a CommonJS module sees. */
export function runScript (script: Script, file: string): Bundle {
  const run = script.runInThisContext() as (exports: Record<string, () => unknown>, require: NodeJS.Require, filename: string, dirname: string) => void
  const exports: Record<string, () => unknown> = {}
  run(exports, createRequire(file), file, dirname(file))
  return exports
}

/** @param name of the script below this folder */
export function bundled (name: string): Bundle {
  const file = join(import.meta.dirname, name)
  return runScript(readScript(file), file)
}

export const cacheOf = (file: string): string => file.replace(/\.cjs$/, '.cache')

const CHECKSUM_BYTES = 4

export function writeCache (data: Buffer): Buffer {
  const checksum = Buffer.alloc(CHECKSUM_BYTES)
  checksum.writeUInt32LE(crc32(data))
  return Buffer.concat([checksum, data])
}

/** @returns null when there is none, or a damaged one: V8 takes bytes as they are, and may crash later */
function readCache (file: string): Buffer | null {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch {
    return null
  }
  if (bytes.length <= CHECKSUM_BYTES) return null
  const data = bytes.subarray(CHECKSUM_BYTES)
  return crc32(data) === bytes.readUInt32LE() ? data : null
}
