import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import type { Alias, ParsedNode, Scalar, YAMLMap } from 'yaml'
import { isExact } from '#wire/json/number.js'
import type { ErrorCode } from '#operator-errors.js'
import type { Path, TextProblem } from '../diagnostics.js'
import { guardYaml } from './guard.js'
import { retype, substitute } from './substitute.js'
import type { Environment, UsedVariable } from './substitute.js'

/** Greatest depth of a value, aliases expanded. */
const MAX_DEPTH = 200
/** Largest number of values, aliases expanded. The limit stops a "billion laughs" file. */
const MAX_VALUES = 100_000
const MAX_SYNTAX_ERRORS = 20
const SYNTAX = 'A2AGW_ERR_CONFIG_SYNTAX'
/** Keywords of JSON Schema that compare with the nearest double, so `maximum: 9223372036854775807` stays usable. */
const NUMERIC_LIMITS = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'])

/** A scalar with references to variables. */
export interface Substituted {
  readonly offset: number
  /** The scalar as it is in the file: `http://${HOST}/`. */
  readonly source: string
  /** The scalar after the substitution. */
  readonly text: string
  readonly variables: readonly UsedVariable[]
}

/** A value of the file and its position. */
export interface Located {
  readonly value: unknown
  readonly offset: number
  /** Offset of the value's key. For items of a list and for the root: the offset of the value. */
  readonly keyOffset: number
  readonly children: ReadonlyMap<string, Located>
}

export interface YamlFile {
  /** Null when the text holds no value. */
  readonly root: Located | null
  readonly problems: readonly TextProblem[]
  /** The scalars whose values came from variables. */
  readonly substituted: readonly Substituted[]
  /** True when the text could be read. If false, `root` is null and only syntax problems are reported. */
  readonly readable: boolean
  position (offset: number): { line: number, col: number }
}

/**
 * Parses one YAML 1.2 document into plain values that keep their positions. Substitutes environment variables. When `env` is null, `$` has
 * no special meaning. Keys are strings. These are problems: duplicate keys, merge keys, `__proto__`, tags, directives, further documents,
 * and numbers that no double represents exactly.
 */
export function readYaml (text: string, env: Environment | null): YamlFile {
  const lines = countLines(text)
  const position = (offset: number) => lines.linePos(offset)
  const unreadable = (faults: readonly Omit<TextProblem, 'code'>[]) => {
    const problems = faults.map((fault): TextProblem => ({ ...fault, code: SYNTAX }))
    return { root: null, problems, substituted: [], readable: false, position }
  }
  const rejected = guardYaml(text)
  if (rejected !== null) return unreadable([rejected])
  const document = parseDocument(text, {
    schema: 'core',
    merge: false,
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'error' // 'silent' would also drop the error for a second document
  })
  if (document.errors.length > 0) {
    return unreadable(document.errors.slice(0, MAX_SYNTAX_ERRORS).map((error) => error.code === 'MULTIPLE_DOCS'
      ? { offset: error.pos[0], message: 'the file contains more than one YAML document', hint: 'keep one, without "---" between' }
      : { offset: error.pos[0], message: flowProblem(error.message) ?? error.message }))
  }
  const reader = new Reader(env)
  const root = document.contents === null ? null : reader.read(document.contents, 0, null)
  return { root, problems: reader.problems, substituted: reader.substituted, readable: true, position }
}

/** The parser's message about a bracket at the end of a line means that the bracket is never closed. @returns null for other messages */
function flowProblem (message: string): string | null {
  const [, name, end] = /^Flow (map|sequence) (?:in block collection must be sufficiently indented and|must) end with a ([}\]])/.exec(
    message
  ) ?? []
  return name === undefined ? null : `the "${end === '}' ? '{' : '['}" is not closed, or a line before its "${end}" is not indented`
}

/** Returns the offset of a path, or of the nearest existing parent. */
export function locate (root: Located | null, path: Path, at: 'key' | 'value'): number {
  let node = root
  for (const step of path) {
    const child = node?.children.get(String(step))
    if (child === undefined) return node?.offset ?? 0
    node = child
  }
  return (at === 'key' ? node?.keyOffset : node?.offset) ?? 0
}

/** Counts lines without the parser, because the parser's line count is wrong where the text is malformed. */
function countLines (text: string): LineCounter {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
  return lines
}

class Reader {
  readonly problems: TextProblem[] = []
  readonly substituted: Substituted[] = []
  readonly #env: Environment | null
  readonly #anchors = new Map<string, ParsedNode>()
  readonly #open = new Set<ParsedNode>()
  /** Doubles that differ from the number in the file. */
  readonly #inexact = new Set<number>()
  #count = 0

  constructor (env: Environment | null) {
    this.#env = env
  }

  read (node: ParsedNode, depth: number, keyOffset: number | null): Located {
    const offset = node.range[0]
    const leaf = (value: unknown): Located => ({ value, offset, keyOffset: keyOffset ?? offset, children: new Map() })
    if (++this.#count >= MAX_VALUES) {
      if (this.#count === MAX_VALUES) this.#report(offset, `more than ${MAX_VALUES} values once aliases are expanded`)
      return leaf(null)
    }
    if (depth > MAX_DEPTH) {
      this.#report(offset, `nested deeper than ${MAX_DEPTH} levels`)
      return leaf(null)
    }
    if (isAlias(node)) return this.#alias(node, depth, leaf)
    this.#anchor(node)
    if (isScalar(node)) return leaf(this.#scalar(node))
    this.#open.add(node)
    const children = new Map<string, Located>()
    const value = isMap(node) ? this.#map(node, depth, children) : this.#list(node, depth, children)
    this.#open.delete(node)
    return { value, offset, keyOffset: keyOffset ?? offset, children }
  }

  #alias (node: Alias.Parsed, depth: number, leaf: (value: unknown) => Located): Located {
    const target = this.#anchors.get(node.source)
    if (target !== undefined && !this.#open.has(target)) return this.read(target, depth + 1, leaf(null).keyOffset)
    this.#report(
      node.range[0],
      target === undefined ? `alias *${node.source} has no anchor before it` : `alias *${node.source} contains itself`
    )
    return leaf(null)
  }

  #anchor (node: ParsedNode): void {
    if (isAlias(node) || node.anchor === undefined) return
    const earlier = this.#anchors.get(node.anchor)
    if (earlier !== undefined && earlier !== node) this.#report(node.range[0], `anchor &${node.anchor} is defined twice`)
    this.#anchors.set(node.anchor, node)
  }

  #scalar (node: Scalar.Parsed): unknown {
    const plain = node.type === 'PLAIN'
    const text = plain ? node.source : node.value
    if (typeof text !== 'string' || this.#env === null || !text.includes('$')) return this.#noted(node.value, text)
    const variables: UsedVariable[] = []
    const result = substitute(text, this.#env, variables)
    if ('message' in result) {
      this.#report(node.range[0], result.message, result.hint, 'A2AGW_ERR_CONFIG_VARIABLE')
      return UNKNOWN
    }
    if (variables.length > 0) this.substituted.push({ offset: node.range[0], source: text, text: result.text, variables })
    return plain && result.text !== text ? this.#noted(retype(result.text), result.text) : result.text
  }

  /**
   * Records a number that a double does not represent exactly, and returns the value.
   * @param text text of the value, after substitution
   */
  #noted (value: unknown, text: unknown): unknown {
    if (typeof value === 'number' && typeof text === 'string' && !isExactYaml(text, value)) this.#inexact.add(value)
    return value
  }

  /**
   * Reports an inexact number.
   * @param key key of a mapping, null for an item of a list
   */
  #checkNumber ({ value, offset }: Located, key: string | null): void {
    if (typeof value !== 'number' || !this.#inexact.has(value) || (key !== null && NUMERIC_LIMITS.has(key))) return
    this.#report(
      offset,
      `a double cannot represent this number exactly; the gateway would read ${value}`,
      'write fewer digits, or quote it as a string'
    )
  }

  #map (node: YAMLMap.Parsed, depth: number, children: Map<string, Located>): Record<string, unknown> {
    const value: Record<string, unknown> = {}
    for (const { key, value: item } of node.items) {
      const offset = key.range[0]
      const name = isScalar(key) ? keyText(key) : null
      if (name === null) this.#report(offset, 'keys must be strings')
      else if (name === '<<') this.#report(offset, 'merge keys ("<<") are not supported', 'use an alias for a whole value')
      else if (name === '__proto__') this.#report(offset, 'unknown key "__proto__"')
      else if (children.has(name)) this.#report(offset, `duplicate key "${name}"`)
      else {
        const child: Located =
          item === null ? { value: null, offset, keyOffset: offset, children: new Map() } : this.read(item, depth + 1, offset)
        this.#checkNumber(child, name)
        children.set(name, child)
        value[name] = child.value
      }
    }
    return value
  }

  #list (node: ParsedNode, depth: number, children: Map<string, Located>): unknown[] {
    if (!isSeq(node)) return []
    return node.items.map((item, index) => {
      const child = this.read(item as ParsedNode, depth + 1, null)
      this.#checkNumber(child, null)
      children.set(String(index), child)
      return child.value
    })
  }

  #report (offset: number, message: string, hint?: string, code: ErrorCode = SYNTAX): void {
    this.problems.push(hint === undefined ? { offset, message, code } : { offset, message, hint, code })
  }
}

/** Marks a value whose substitution failed. The failure is already reported, so no other problem is reported for the value. */
export const UNKNOWN: unique symbol = Symbol('unknown')

/**
 * True when a double represents the number exactly. In addition to JSON's numbers, the YAML 1.2 core schema allows a sign, a point without
 * digits on one side, `0o17` and `0x1F`.
 */
function isExactYaml (text: string, value: number): boolean {
  if (/^0[ox]/.test(text)) return Number.isFinite(value) && BigInt(text) === BigInt(value)
  if (!/^[-+]?[\d.]/.test(text) || /^[-+]?\.[a-z]/i.test(text)) return true
  return isExact(text.replace(/^\+/, '').replace(/^(-?)\./, '$10.').replace(/\.(?=$|[eE])/, ''))
}

function keyText (key: Scalar.Parsed): string | null {
  if (typeof key.value === 'string') return key.value
  return key.value === null ? null : key.source
}
