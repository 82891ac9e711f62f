/** Parts of the resident memory of a process, by what asked for them. Linux only. */
import { readFileSync } from 'node:fs'

export interface Resident {
  /** Of the allocator of the C library: its main heap, and its arenas, which threads and signals create. */
  readonly malloc: number
  /** Other memory without a file: V8's heaps and code, WebAssembly, stacks, and large blocks of the allocator. */
  readonly mapped: number
  /** Parts of files: the program and its libraries. */
  readonly files: number
  readonly total: number
}

/** Address space of an arena of glibc: HEAP_MAX_SIZE, 64 MiB, at a multiple of that. */
const ARENA = 0x400_0000n
const HEAD = /^([\da-f]+)-([\da-f]+) \S+ \S+ \S+ (\d+) *(.*)$/

/** Reads `/proc/PID/smaps`. @returns MiB */
export function residentOf (pid: number): Resident {
  const parts = { malloc: 0, mapped: 0, files: 0 }
  let part: keyof typeof parts = 'mapped'
  for (const line of readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
    const [, from = '', to = '', inode, name] = HEAD.exec(line) ?? []
    if (inode !== undefined) {
      const begin = BigInt(`0x${from}`)
      const isArena = name === '' && begin % ARENA === 0n && BigInt(`0x${to}`) - begin <= ARENA
      part = name === '[heap]' || isArena ? 'malloc' : inode === '0' ? 'mapped' : 'files'
    }
    const size = /^Rss: +(\d+) kB/.exec(line)?.[1]
    if (size !== undefined) parts[part] += Number(size) / 1_024
  }
  const { malloc, mapped, files } = parts
  return { malloc: Math.round(malloc), mapped: Math.round(mapped), files: Math.round(files), total: Math.round(malloc + mapped + files) }
}
