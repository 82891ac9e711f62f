/**
 * Compiles a JSON Schema to a program of checker.as, when the schema uses only keywords whose meaning on the bytes is simple. The program
 * is stricter than the schema, never wider: data that the program accepts is valid, and Ajv decides about all other data.
 */
import type { Formats } from '../ajv.js'
import { resolvePointer } from '#wire/json/pointer.js'
import { UNSUPPORTED } from './image.js'
import { ProgramWriter } from './program-writer.js'
import type { ValueTest } from './value-tests.js'

/** A schema, ready to run. */
export interface Program {
  /** Words of the memory from PROGRAM on. */
  readonly image: Uint32Array
  /** Place of the node for the whole value. */
  readonly node: number
  /** True when a keyword compares numbers: Ajv then has to know of the inexact numbers of the document (`InexactNumbers`). */
  readonly compares: boolean
  /** What the checker asks about single values: the first is test 1. */
  readonly tests: readonly ValueTest[]
}

/**
 * Compiles a schema that `compileSchema` has accepted.
 * @param root the document
 * @param start pointer to the schema in the document
 * @returns null when the schema has no program
 */
export function programOf (root: unknown, formats: Formats = 'assert', start = ''): Program | null {
  try {
    const writer = new ProgramWriter(root, formats)
    const node = writer.node(resolvePointer(root, start))
    return { image: writer.image.words(), node, compares: writer.compares, tests: writer.tests }
  } catch (error) {
    // A schema that nests too deeply for the stack has no program either.
    if (error === UNSUPPORTED || error instanceof RangeError) return null
    throw error
  }
}

const cache = new WeakMap<object, Map<string, Program | null>>()

/** `programOf`, once for each schema. */
export function programFor (root: unknown, formats: Formats, start = ''): Program | null {
  if (typeof root !== 'object' || root === null) return root === true && start === '' ? ANYTHING : null
  let programs = cache.get(root)
  if (programs === undefined) cache.set(root, programs = new Map())
  const key = `${formats} ${start}`
  let program = programs.get(key)
  if (program === undefined) programs.set(key, program = programOf(root, formats, start))
  return program
}

/** Accepts every JSON value without equal names. */
export const ANYTHING = programOf(true) as Program
