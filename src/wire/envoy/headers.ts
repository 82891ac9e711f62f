/** Header lines in messages of Envoy: `envoy.config.core.v3.HeaderMap` and `HeaderValueOption`. */
import { integer, readFields, run } from './fields.js'

/** Fields of `HeaderValue`. Envoy sends `raw_value`; older releases send `value`. */
const KEY = 1
const VALUE = 2
const RAW_VALUE = 3

/** @param map a `HeaderMap`. @returns flat list of names in lower case and values, each byte a character, as Node's `rawHeaders` */
export function readHeaderMap (map: Buffer): string[] {
  const lines: string[] = []
  readFields(map, ({ number, bytes }) => {
    if (number !== 1) return
    let name = ''
    let value = ''
    readFields(bytes, ({ number, bytes }) => {
      if (number === KEY) name = bytes.toString('latin1').toLowerCase()
      else if (number === RAW_VALUE || (number === VALUE && bytes.length > 0)) value = bytes.toString('latin1')
    })
    lines.push(name, value)
  })
  return lines
}

/** Changes in a list of header lines. */
export interface HeaderChanges {
  /** Flat list. All lines of a name replace those that are there. */
  readonly set: readonly string[]
  /** Names. */
  readonly remove: readonly string[]
}

/**
 * Writes lines as repeated `HeaderValueOption`. The first line of a name replaces, the others are added. `append` is deprecated, and still
 * the only field that Envoy 1.40 heeds in ext_proc: with `append_action`, a later line replaces an earlier one (envoy#36982).
 * @param number of the field that has the lines
 * @param form `raw_value` for ext_proc, which ignores `value`; `value` for ext_authz, which ignores `raw_value`
 */
export function writeLines (number: number, lines: readonly string[], form: 'raw_value' | 'value'): Buffer[] {
  const names = new Set<string>()
  const fields: Buffer[] = []
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i] as string
    const text = lines[i + 1] as string
    const value = form === 'raw_value' ? run(RAW_VALUE, Buffer.from(text, 'latin1')) : run(VALUE, text)
    fields.push(run(number, run(1, run(KEY, name), value), run(2, names.has(name) ? integer(1, 1) : NO_BYTES)))
    names.add(name)
  }
  return fields
}

const NO_BYTES = Buffer.alloc(0)

/** Writes `envoy.service.ext_proc.v3.HeaderMutation` as the field of another message. */
export function writeMutation (number: number, { set, remove }: HeaderChanges): Buffer[] {
  if (set.length === 0 && remove.length === 0) return []
  return [run(number, ...writeLines(1, set, 'raw_value'), ...remove.map(name => run(2, name)))]
}
