/**
 * Memory that one reader of bytes after the other uses: fresh memory for each body costs page faults and collections outside V8's heap.
 *
 * It is the memory of a WebAssembly instance, so that the structural scan (json/structural-scan.ts) reads the bytes without another copy.
 * WebAssembly memory grows and never shrinks. The reference is therefore weak: the next full collection of V8 may free the memory, and the
 * next body starts with LEAST bytes again.
 */

/** Size in bytes of the largest body that is copied here. Larger bodies are rare, and are joined in memory of their own. */
export const MOST = 4 * 1024 * 1024
const LEAST = 256 * 1024
/** Bytes before the text, for the results of the scan: two pages. */
export const RESERVED = 131_072
/** Bytes after the text that the scan writes or reads. */
const PADDING = 128
const PAGE = 65_536

/** The parts of the JavaScript API of WebAssembly that the gateway uses. The types of Node have none, and `--jitless` removes the API. */
export interface WebAssemblyApi {
  readonly Memory: new (limits: { initial: number, maximum: number }) => WebAssemblyMemory
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (
    module: object,
    imports: { readonly env: { readonly memory: WebAssemblyMemory, readonly [name: string]: unknown } }
  ) => { readonly exports: unknown }
}

export interface WebAssemblyMemory {
  readonly buffer: ArrayBuffer
  grow (pages: number): number
}

export const webAssembly = (globalThis as { WebAssembly?: WebAssemblyApi }).WebAssembly

export class SharedMemory {
  /** Null without WebAssembly. */
  readonly memory: WebAssemblyMemory | null
  /** Number of the ChunkedBuffer whose bytes are in the memory; 0 for none. A number keeps no object alive. */
  holder = 0
  /** Number of bytes that the user reads. */
  size = 0
  bytes: Buffer
  /** The reserved bytes. */
  words: Uint32Array

  constructor (size: number) {
    this.memory = memoryOf(size)
    this.bytes = this.memory === null ? Buffer.allocUnsafeSlow(size) : Buffer.from(this.memory.buffer, RESERVED)
    this.words = reservedOf(this.memory)
  }

  /** @returns false when the system has no more memory */
  grow (size: number): boolean {
    const { memory } = this
    if (memory === null) return false
    try {
      memory.grow((size - this.bytes.length) / PAGE)
    } catch {
      return false
    }
    this.holder = 0
    this.bytes = Buffer.from(memory.buffer, RESERVED)
    this.words = reservedOf(memory)
    return true
  }
}

/** Each memory reserves 10 GB of addresses. Under `ulimit -v` that can fail, after two full collections: one attempt is enough. */
let unavailable = webAssembly === undefined

function memoryOf (size: number): WebAssemblyMemory | null {
  if (unavailable || webAssembly === undefined) return null
  try {
    return new webAssembly.Memory({ initial: (RESERVED + size) / PAGE, maximum: (RESERVED + roomFor(MOST)) / PAGE })
  } catch {
    unavailable = true
    return null
  }
}

function reservedOf (memory: WebAssemblyMemory | null): Uint32Array {
  return memory === null ? new Uint32Array(0) : new Uint32Array(memory.buffer, 0, RESERVED / 4)
}

/** Bytes of memory for a text: whole pages, and for larger texts more than needed, so that the memory seldom grows. */
function roomFor (size: number): number {
  return Math.max(LEAST, Math.ceil(2 ** Math.ceil(Math.log2(size)) / PAGE) * PAGE + PAGE)
}

let shared: WeakRef<SharedMemory> | null = null
/** The memory while somebody uses it. */
let inUse: SharedMemory | null = null

/**
 * Takes the memory, which the caller gives back with `giveBack` before it returns to the event loop.
 * @returns null when it is in use, or when the text is larger than MOST
 */
export function take (size: number): SharedMemory | null {
  if (inUse !== null || size > MOST) return null
  let there = shared?.deref()
  if (there === undefined || (there.bytes.length < size + PADDING && !there.grow(roomFor(size)))) {
    there = new SharedMemory(roomFor(size))
    shared = new WeakRef(there)
  }
  there.size = size
  inUse = there
  return there
}

export function giveBack (): void {
  inUse = null
}

/** @returns the memory in use when these are all bytes that its user reads; a part of them has other bytes behind it, not the padding */
export function holderOf (bytes: Buffer): SharedMemory | null {
  const used = inUse
  if (used === null || used.memory === null || bytes.buffer !== used.memory.buffer) return null
  return bytes.byteOffset === RESERVED && bytes.length === used.size ? used : null
}
