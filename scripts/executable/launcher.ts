/**
 * The script inside of the single-file executable (https://nodejs.org/docs/latest-v20.x/api/single-executable-applications.html). Such a
 * script loads only Node's own modules. The launcher therefore unpacks the gateway, once for each build, and runs the command line from
 * there. Workers are processes of the same executable; the launcher runs the module that they name.
 */
import { lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { getAsset, getRawAsset } from 'node:sea'
import { pathToFileURL } from 'node:url'
import { deserialize } from 'node:v8'
import { brotliDecompressSync } from 'node:zlib'

/** Sets the folder to unpack into. */
const VARIABLE = 'A2A_GATEWAY_UNPACK'

/** @returns the folder of the unpacked gateway */
function unpacked (): string {
  const digest = getAsset('digest', 'utf8')
  const candidates = [process.env[VARIABLE], process.env.XDG_CACHE_HOME, homeCache(), join(tmpdir(), `a2a-gateway-${process.getuid?.() ?? 0}`)]
  const problems: string[] = []
  const named = candidates[0]
  for (const base of named === undefined || named === '' ? candidates.slice(1) : [named]) {
    if (base === undefined || base === '') continue
    try {
      return unpackBelow(join(base, 'a2a-gateway'), digest)
    } catch (error) {
      problems.push((error as Error).message)
    }
  }
  throw new Error(`there is no folder to unpack the gateway into: ${problems.join('; ')} (set ${VARIABLE} to a folder that only you can write)`)
}

function homeCache (): string | undefined {
  const home = homedir()
  return home === '' || home === '/' ? undefined : join(home, '.cache')
}

function unpackBelow (base: string, digest: string): string {
  mkdirSync(base, { recursive: true, mode: 0o700 })
  checkOwner(base)
  const folder = join(base, digest)
  // The name appears when the folder is complete.
  if (isFolder(folder)) {
    checkOwner(folder)
    return folder
  }
  const partial = join(base, `${digest}.${process.pid}`)
  rmSync(partial, { recursive: true, force: true })
  const files = deserialize(brotliDecompressSync(getRawAsset('app') as ArrayBuffer)) as ReadonlyMap<string, Uint8Array>
  for (const [path, bytes] of files) {
    const to = join(partial, path)
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
    writeFileSync(to, bytes, { mode: 0o600 })
  }
  try {
    renameSync(partial, folder)
  } catch (error) {
    // Another process has unpacked the same gateway in the meantime.
    rmSync(partial, { recursive: true, force: true })
    if (!isFolder(folder)) throw error
  }
  return folder
}

/** Code is run only from folders that no other user can write. */
function checkOwner (folder: string): void {
  const found = lstatSync(folder)
  const uid = process.getuid?.()
  if (!found.isDirectory()) throw new Error(`${folder} is not a folder`)
  if (uid !== undefined && (found.uid !== uid || (found.mode & 0o022) !== 0)) throw new Error(`other users can write ${folder}`)
}

function isFolder (path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function report (error: unknown): void {
  console.error(`a2a-gateway: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}

try {
  const root = unpacked()
  // Node starts workers as `EXECUTABLE MODULE`.
  const worker = process.argv[2]?.startsWith(root + sep) === true ? process.argv.splice(2, 1)[0] : undefined
  const main = worker ?? join(root, 'dist/src/main.js')
  process.argv[1] = main
  const start = createRequire(join(root, 'package.json'))('./start.cjs') as (url: string) => Promise<unknown>
  start(pathToFileURL(main).href).catch(report)
} catch (error) {
  report(error)
}
