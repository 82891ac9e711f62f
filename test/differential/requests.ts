/**
 * The corpus of requests that are odd but parse, one file for each family. Most entries are written once and expanded to every binding and
 * version.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Operation } from '#a2a/operations.js'
import { methodOfOperation } from '#a2a/operations.js'
import type { Form } from '../security/kit.js'
import { bodyOf, dataPart, FORMS, messageOf, methodOf, textPart } from '../security/kit.js'
import { inTests } from '../helpers/paths.js'

export interface OddRequest {
  readonly name: string
  readonly method: string
  /** The path with its query. */
  readonly target: string
  /** Flat list: name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: Buffer | null
  readonly chunked: boolean
}

/**
 * One entry of a corpus file. Texts are JSON as sent. TEXT, DATA, MESSAGE, SEND and LIST in them stand for the healthy element of the form.
 */
interface Entry {
  readonly name: string
  /** Default: all four. */
  readonly forms?: readonly FormName[]
  /** Texts of the message's parts. */
  readonly parts?: readonly string[]
  /** More members of the message, after a comma. */
  readonly members?: string
  /** The whole message. */
  readonly message?: string
  /** More members of the request object. */
  readonly request?: string
  /** More members of the JSON-RPC envelope. */
  readonly envelope?: string
  /** The whole body; null for none. */
  readonly body?: string | null
  readonly stream?: boolean
  /** Another operation instead of sending, and its `params`; for JSON-RPC. */
  readonly call?: Operation
  readonly params?: string
  readonly method?: string
  /** Path instead of the operation's path; BASE stands for the address of the interface. */
  readonly path?: string
  readonly query?: string
  /** `Name: value`, in addition to the healthy headers or instead of them. */
  readonly headers?: readonly string[]
  /** Healthy headers to leave out, in lower case. */
  readonly without?: readonly string[]
  readonly encoding?: 'utf16le' | 'latin1' | 'bom'
  readonly chunked?: boolean
}

type FormName = keyof typeof FORM_NAMES

const FORM_NAMES = { rpc10: 0, rpc03: 1, rest10: 2, rest03: 3 } as const
const FOLDER = inTests('differential', 'corpus')

export function corpus (): OddRequest[] {
  const found: OddRequest[] = []
  for (const file of readdirSync(FOLDER).sort()) {
    for (const entry of parse(readFileSync(join(FOLDER, file), 'utf8')) as Entry[]) {
      for (const name of entry.forms ?? Object.keys(FORM_NAMES) as FormName[]) {
        const form = FORMS[FORM_NAMES[name]]
        if (form !== undefined) found.push(requestOf(`${file.replace('.yaml', '')}: ${entry.name} (${name})`, form, entry))
      }
    }
  }
  return found
}

export const baseOf = ({ binding }: Form): string => binding === 'JSONRPC' ? '/a2a/jsonrpc' : '/a2a/rest'

export function requestOf (name: string, form: Form, entry: Omit<Entry, 'name'>): OddRequest {
  const { method = 'POST', query = '', chunked = false, stream = false } = entry
  const text = entry.body === undefined ? healthy(form, entry) : entry.body === null ? null : filled(form, entry.body)
  const verb = `message:${stream ? 'stream' : 'send'}`
  const path =
    entry.path?.replace('BASE', baseOf(form)) ??
    baseOf(form) + (form.binding === 'JSONRPC' ? '' : form.version === '1.0' ? `/${verb}` : `/v1/${verb}`)
  return {
    name,
    method,
    target: path + query,
    headers: headersOf(form, entry, text !== null),
    body: text === null ? null : encoded(text, entry.encoding),
    chunked
  }
}

function healthy (
  form: Form,
  { parts = ['TEXT'], members = '', message, request = '', envelope = '', stream = false, call, params = '{}' }: Omit<Entry, 'name'>
): string {
  if (call !== undefined) return `{"jsonrpc":"2.0","id":1,"method":"${methodOfOperation(call, form.version) ?? call}","params":${params}}`
  const text = message ?? messageOf(form, parts, members)
  const body = bodyOf(form, filled(form, text), filled(form, request), stream)
  return envelope === '' ? body : `${body.slice(0, -1)}${envelope}}`
}

function filled (form: Form, text: string): string {
  const words: Readonly<Record<string, () => string>> = {
    MESSAGE: () => messageOf(form, [textPart(form)]),
    TEXT: () => textPart(form),
    DATA: () => dataPart(form, '{"a":1}', 'application/json'),
    SEND: () => methodOf(form),
    LIST: () => form.binding === 'HTTP+JSON' && form.version === '0.3' ? 'content' : 'parts',
    ROLE: () => form.binding === 'JSONRPC' && form.version === '0.3' ? 'user' : 'ROLE_USER'
  }
  return text.replace(/\b(?:MESSAGE|TEXT|DATA|SEND|LIST|ROLE)\b/g, word => words[word]?.() ?? word)
}

function headersOf (form: Form, { headers = [], without = [] }: Omit<Entry, 'name'>, body: boolean): string[] {
  const own = headers.map((line): [string, string] => [
    line.slice(0, line.indexOf(':')),
    line.slice(line.indexOf(':') + 1).replace(/^ /, '')
  ])
  const usual: [string, string][] = [
    ...(body ? [['Content-Type', 'application/json'] as [string, string]] : []),
    ...(form.version === '1.0' ? [['A2A-Version', '1.0'] as [string, string]] : [])
  ]
  return [
    ...own,
    ...usual.filter(([name]) => !without.includes(name.toLowerCase()) && !own.some(([one]) => one.toLowerCase() === name.toLowerCase()))
  ].flat()
}

function encoded (text: string, encoding: Entry['encoding']): Buffer {
  if (encoding === 'bom') return Buffer.from(`\uFEFF${text}`)
  return Buffer.from(text, encoding ?? 'utf8')
}
