import { chmodSync, copyFileSync, lutimesSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** All files below a folder, relative to the folder, with slashes, sorted. The function follows links. */
export function filesBelow (root: string, folder = root): string[] {
  return readdirSync(folder).sort().flatMap(name => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? filesBelow(root, path) : [relative(root, path)]
  })
}

/** Copies the bytes of a file. A link is copied as the file that the link points to. */
export function put (from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
}

export function write (to: string, text: string | Uint8Array): void {
  mkdirSync(dirname(to), { recursive: true })
  writeFileSync(to, text)
}

/**
 * Sets the same time on every file and folder, and the modes 755 and 644, so that the same content gives the same layer.
 * @param programs paths of executable files
 * @param epoch seconds since 1970, as in SOURCE_DATE_EPOCH of reproducible-builds.org
 */
export function settle (path: string, programs: ReadonlySet<string>, epoch: number): void {
  const folder = statSync(path).isDirectory()
  if (folder) for (const name of readdirSync(path)) settle(join(path, name), programs, epoch)
  chmodSync(path, folder || programs.has(path) ? 0o755 : 0o644)
  lutimesSync(path, epoch, epoch)
}
