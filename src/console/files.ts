/** The page's own files: a fixed list, made on first request. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'

/** `bytes` reads the file: the editor of the playground is large, and few open it. */
export interface PageFile { readonly type: string, readonly bytes: Buffer }

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml'
}

/** Directory beside this file, in the sources and in the build. */
const DIRECTORY = join(import.meta.dirname, 'page')

/** Returns the files by name below `/console/`; `''` is the page itself. A request never determines a file path. */
export function readPage (): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>()
  for (const path of readdirSync(DIRECTORY, { encoding: 'utf8', recursive: true })) {
    const name = path.replaceAll(sep, '/')
    const type = TYPES[name.slice(name.lastIndexOf('.'))]
    if (type !== undefined) files.set(name === 'index.html' ? '' : name, { type, get bytes () { return readFileSync(join(DIRECTORY, name)) } })
  }
  return files
}
