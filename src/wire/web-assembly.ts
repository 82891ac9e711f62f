/** Code in WebAssembly that reads the bytes of a body in the shared memory. */
import type { SharedMemory, WebAssemblyMemory } from './shared-memory.js'
import { giveBack, holderOf, take, webAssembly } from './shared-memory.js'

/** A module that the build has made, with an instance for each memory. */
export class WebAssemblyCode<Exports> {
  readonly #code: () => string | null
  /** Null before the first use; undefined when this system cannot run the module. */
  #module: object | null | undefined = webAssembly === undefined ? undefined : null
  readonly #instances = new WeakMap<WebAssemblyMemory, Exports>()

  readonly #functions: Readonly<Record<string, (...numbers: number[]) => number>>

  /**
   * @param code returns the module in base64; null when the build has made none
   * @param functions that the module calls
   */
  constructor (code: () => string | null, functions: Readonly<Record<string, (...numbers: number[]) => number>> = {}) {
    this.#code = code
    this.#functions = functions
  }

  /** False when this system cannot run the module. */
  get isUsable (): boolean {
    return this.#module !== undefined
  }

  /** @returns undefined when this system cannot run the module: a processor without SIMD */
  in (memory: WebAssemblyMemory): Exports | undefined {
    return this.#instances.get(memory) ?? this.#instantiate(memory)
  }

  #instantiate (memory: WebAssemblyMemory): Exports | undefined {
    try {
      this.#module ??= this.#compiled()
      if (this.#module === undefined || webAssembly === undefined) return undefined
      const exports = new webAssembly.Instance(this.#module, { env: { memory, ...this.#functions } }).exports as Exports
      this.#instances.set(memory, exports)
      return exports
    } catch {
      this.#module = undefined
      return undefined
    }
  }

  #compiled (): object | undefined {
    const code = this.#code()
    return code === null || webAssembly === undefined ? undefined : new webAssembly.Module(Buffer.from(code, 'base64'))
  }
}

/**
 * Copies the bytes into the shared memory, unless they are there, and runs the code on them.
 * @returns null without WebAssembly, while the memory is in use, and for bytes that are too large for the memory
 */
export function withMemory<Exports, T> (
  bytes: Buffer,
  code: WebAssemblyCode<Exports>,
  run: (memory: SharedMemory, exports: Exports) => T | null
): T | null {
  if (!code.isUsable) return null
  const held = holderOf(bytes)
  if (held !== null) return runIn(held, code, run)
  const memory = take(bytes.length)
  if (memory === null) return null
  try {
    if (memory.memory === null) return null
    memory.holder = 0
    memory.bytes.set(bytes)
    return runIn(memory, code, run)
  } finally {
    giveBack()
  }
}

function runIn<Exports, T> (
  memory: SharedMemory,
  code: WebAssemblyCode<Exports>,
  run: (memory: SharedMemory, exports: Exports) => T | null
): T | null {
  const exports = memory.memory === null ? undefined : code.in(memory.memory)
  return exports === undefined ? null : run(memory, exports)
}
