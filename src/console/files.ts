/** The page's own files: a fixed list, read when they are first asked for. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface PageFile { readonly type: string, readonly bytes: Buffer }

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml'
}

/** Beside this file, in the sources and in what the build makes of them. */
const DIRECTORY = join(import.meta.dirname, 'page')

/** By name below `/console/`; `''` is the page itself. No path is ever made of what a request says. */
export function readPage (): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>()
  for (const name of readdirSync(DIRECTORY)) {
    const type = TYPES[name.slice(name.lastIndexOf('.'))]
    if (type !== undefined) files.set(name === 'index.html' ? '' : name, { type, bytes: readFileSync(join(DIRECTORY, name)) })
  }
  return files
}
