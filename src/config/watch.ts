/** Detects changes of file contents: edits, renames over the files, and the symlink swaps of mounted ConfigMaps and Secrets. */
import { createHash } from 'node:crypto'
import type { FSWatcher } from 'node:fs'
import { lstatSync, readFileSync, readlinkSync, statSync, watch } from 'node:fs'
import { basename, dirname, join, parse, resolve, sep } from 'node:path'
import { MAX_FILE_BYTES } from './yaml/guard.js'

export interface WatchOptions {
  /** Quiet time after the last event before the files are read, ms. */
  readonly debounce?: number
  /** Interval of reads without any event, ms. Some file systems send no events. */
  readonly poll?: number
  /** Replaces fs.watch in tests. */
  readonly watch?: typeof watch
}

/** Longest delay of a read, ms. Continuous writes do not delay the read forever. */
const LONGEST_WAIT = 1_000
/** Two writes within one tick of the file system's clock leave the same times. After this many ms the times are reliable. */
const SETTLED = 2_000
const MAX_LINKS = 40

interface FileVersion { readonly stamp: string, readonly content: string }
interface Watched { readonly watcher: FSWatcher, readonly inode: string, names: ReadonlySet<string> }

/**
 * Watches directories, never files: a watch on a file reports nothing after a rename (measured). The file contents decide, whatever events
 * a directory sends.
 */
export class FileWatch {
  private files: readonly string[]
  private readonly changed: () => void
  private readonly options: Required<WatchOptions>
  private readonly directories = new Map<string, Watched>()
  private readonly seen = new Map<string, FileVersion>()
  private readonly poll: NodeJS.Timeout
  private timer: NodeJS.Timeout | null = null
  private firstEventAt = 0
  private contents: string
  private closed = false

  /** @param changed called when the contents differ from those at the last call, or at the start */
  constructor (files: readonly string[], changed: () => void, options: WatchOptions = {}) {
    this.files = absolute(files)
    this.changed = changed
    this.options = { debounce: 100, poll: 3_000, watch, ...options }
    this.watchDirectories()
    this.contents = this.read()
    this.poll = setInterval(() => { this.look() }, this.options.poll).unref()
  }

  /** Watches these files from now on. Their current content counts as known. Changes of already watched files are still detected. */
  follow (files: readonly string[]): void {
    if (this.closed) return
    const next = absolute(files)
    if (next.join('\0') === this.files.join('\0')) return
    const pending = this.read() !== this.contents
    this.files = next
    this.watchDirectories()
    this.contents = pending ? '' : this.read()
    if (pending) this.event()
  }

  /** Marks the current content of the files as known. The caller is about to read the files anyway. */
  acknowledge (): void {
    this.contents = this.read()
  }

  close (): void {
    this.closed = true
    clearInterval(this.poll)
    if (this.timer !== null) clearTimeout(this.timer)
    for (const { watcher } of this.directories.values()) watcher.close()
    this.directories.clear()
  }

  private event (): void {
    if (this.closed) return
    const now = performance.now()
    if (this.timer === null) this.firstEventAt = now
    else clearTimeout(this.timer)
    const wait = Math.max(0, Math.min(this.options.debounce, this.firstEventAt + LONGEST_WAIT - now))
    this.timer = setTimeout(() => {
      this.timer = null
      this.look()
    }, wait).unref()
  }

  private look (): void {
    if (this.closed) return
    // Watch first, so that no change after the read is missed.
    this.watchDirectories()
    const contents = this.read()
    if (contents === this.contents) return
    this.contents = contents
    this.changed()
  }

  /** Returns one text for the contents of all files. A file is read again only when its status has changed. */
  private read (): string {
    const files = new Set(this.files)
    for (const file of this.seen.keys()) if (!files.has(file)) this.seen.delete(file)
    return this.files.map(file => {
      const before = this.seen.get(file)
      const now = contentOf(file, before)
      this.seen.set(file, now)
      return `${file}\0${now.content}`
    }).join('\0')
  }

  private watchDirectories (): void {
    const wanted = new Map<string, Set<string>>()
    for (const file of this.files) {
      for (const [directory, name] of placesOf(file)) {
        const names = wanted.get(directory)
        if (names === undefined) wanted.set(directory, new Set([name]))
        else names.add(name)
      }
    }
    for (const [directory, watched] of this.directories) {
      const names = wanted.get(directory)
      // A replaced directory has another inode, and its watch reports nothing.
      if (names !== undefined && watched.inode === inodeOf(directory)) watched.names = names
      else this.drop(directory)
    }
    for (const [directory, names] of wanted) {
      if (!this.directories.has(directory)) this.watchDirectory(directory, names)
    }
  }

  /**
   * Watches a directory. Watching can fail (no such directory yet, no more inotify instances): polling then detects changes, and tries to
   * watch again.
   */
  private watchDirectory (directory: string, names: ReadonlySet<string>): void {
    const inode = inodeOf(directory)
    if (inode === '') return
    try {
      const watcher = this.options.watch(directory, { persistent: false }, (_event, name) => {
        const names = this.directories.get(directory)?.names
        if (name === null || names === undefined || names.has(name) || name === basename(directory)) this.event()
      })
      watcher.on('error', () => { this.drop(directory) })
      this.directories.set(directory, { watcher, inode, names })
    } catch {}
  }

  private drop (directory: string): void {
    this.directories.get(directory)?.watcher.close()
    this.directories.delete(directory)
  }
}

function absolute (files: readonly string[]): string[] {
  return [...new Set(files.map(file => resolve(file)))].toSorted()
}

function contentOf (file: string, before: FileVersion | undefined): FileVersion {
  try {
    const status = statSync(file)
    const { dev, ino, size, mtimeMs, ctimeMs } = status
    const stamp = `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`
    if (before?.stamp === stamp && Date.now() - ctimeMs > SETTLED) return before
    // Reading a pipe would wait for its writer. A file that is too large is rejected without reading.
    if (!status.isFile() || size > MAX_FILE_BYTES) return { stamp, content: stamp }
    return { stamp, content: createHash('sha256').update(readFileSync(file)).digest('hex') }
  } catch (error) {
    return { stamp: '', content: error instanceof Error && 'code' in error ? String(error.code) : 'unreadable' }
  }
}

function inodeOf (directory: string): string {
  try {
    const { dev, ino } = statSync(directory)
    return `${dev} ${ino}`
  } catch {
    return ''
  }
}

/**
 * Returns the directory entries that determine what the path refers to: the file, its directory's own entry, and every symbolic link on the
 * path, with the entries of its target. In Kubernetes, `gateway.yaml -> ..data/gateway.yaml`, `..data -> ..2026_11_21`, the second link
 * changes.
 */
function placesOf (file: string): [directory: string, name: string][] {
  const places: [string, string][] = [[dirname(file), basename(file)], [dirname(dirname(file)), basename(dirname(file))]]
  let links = 0
  let at = parse(file).root
  let rest = file.slice(at.length).split(sep)
  while (rest.length > 0) {
    const name = rest.shift() as string
    if (name === '' || name === '.') continue
    const here = name === '..' ? dirname(at) : join(at, name)
    const target = name === '..' ? null : linkTarget(here)
    if (target === null) {
      at = here
      continue
    }
    places.push([at, name])
    if (++links > MAX_LINKS) break
    const { root } = parse(target)
    if (root !== '') at = root
    rest = [...target.slice(root.length).split(sep), ...rest]
  }
  places.push([dirname(at), basename(at)])
  return places
}

function linkTarget (path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null
  } catch {
    return null
  }
}
