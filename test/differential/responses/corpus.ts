/**
 * The corpus of responses that are odd but parse, one file for each family. Most entries are written once and expanded to every binding,
 * version and place.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Form } from '../../security/kit.js'
import { FORMS } from '../../security/kit.js'
import type { CallName } from './clients.js'
import { filled, isKindForm, listName, RPC_ID, wrapped } from './words.js'
import { inTests } from '../../helpers/paths.js'

export interface OddAnswer {
  readonly name: string
  readonly form: Form
  readonly call: CallName
  readonly status: number
  /** Flat list: name, value, name, value. */
  readonly headers: readonly string[]
  /** RPC_ID stands for the id of the request. */
  readonly body: string
  readonly encoding: BufferEncoding
}

/**
 * The replacement for a healthy element. Texts are JSON as sent. Words in capitals stand for the healthy element of the form (`words.ts`).
 */
export interface Entry {
  readonly name: string
  /** Default: all four. */
  readonly forms?: readonly FormName[]
  /** Places for parts and members. Default: a message, the artifact of a task, and the message of a status update. */
  readonly places?: readonly PlaceName[]
  /** Parts of the message or artifact. */
  readonly parts?: readonly string[]
  /** More members of the message or artifact, after a comma. */
  readonly members?: string
  /** The whole message or artifact. */
  readonly content?: string
  /** More members of the task or update that contains the content. */
  readonly around?: string
  /** The calls that get `result`, `body` or `events` as the response. Default: send, or stream for events. */
  readonly calls?: readonly CallName[]
  /** The whole result in the format of the binding: within the JSON-RPC envelope, or by itself. */
  readonly result?: string
  readonly body?: string
  /** A stream, as sent. ANSWER is the whole healthy response. ANSWER(...) is a response with the given result. */
  readonly events?: string
  readonly status?: number
  /** `Name: value`, instead of the content type. */
  readonly headers?: readonly string[]
  readonly encoding?: BufferEncoding
}

export type FormName = keyof typeof FORM_NAMES
export type PlaceName = keyof typeof PLACES

const FORM_NAMES = { rpc10: 0, rpc03: 1, rest10: 2, rest03: 3 } as const
const FOLDER = inTests('differential/responses', 'corpus')

export function formName (form: Form): FormName {
  const found = (Object.keys(FORM_NAMES) as FormName[]).find(name => FORMS[FORM_NAMES[name]] === form)
  if (found === undefined) throw new Error('no such form')
  return found
}

interface Placed { readonly call: CallName, readonly result: string }

const task = (form: Form, members: string): string => `{${isKindForm(form) ? '"kind":"task",' : ''}"id":"t","contextId":"c"${members}}`
const update = (form: Form, kind: string, members: string): string =>
  `{${isKindForm(form) ? `"kind":"${kind}",` : ''}"taskId":"t","contextId":"c"${members}}`

/** The context of a message or an artifact. */
const PLACES = {
  message: (form: Form, content: string): Placed => ({ call: 'send', result: wrapped(form, 'message', content) }),
  status: (form: Form, content: string, around: string): Placed => ({
    call: 'send',
    result: wrapped(form, 'task', task(form, `,"status":{"state":WORKING,"message":${content}}${around}`))
  }),
  artifact: (form: Form, content: string, around: string): Placed => ({
    call: 'send',
    result: wrapped(form, 'task', task(form, `,"status":{"state":COMPLETED},"artifacts":[${content}]${around}`))
  }),
  history: (form: Form, content: string, around: string): Placed => ({
    call: 'get',
    result: task(form, `,"status":{"state":WORKING},"history":[${content}]${around}`)
  }),
  got: (form: Form, content: string, around: string): Placed => ({
    call: 'get',
    result: task(form, `,"status":{"state":WORKING},"artifacts":[ARTIFACT,${content}]${around}`)
  }),
  listed: (form: Form, content: string, around: string): Placed => ({
    call: 'list',
    result: `{"tasks":[TASK,${task(form, `,"status":{"state":WORKING},"artifacts":[${content}]${around}`)}],"nextPageToken":"","pageSize":2,"totalSize":2}`
  }),
  statusUpdate: (form: Form, content: string, around: string): Placed => ({
    call: 'stream',
    result: wrapped(form, 'statusUpdate', update(form, 'status-update', `,"status":{"state":WORKING,"message":${content}}${around}`))
  }),
  artifactUpdate: (form: Form, content: string, around: string): Placed => ({
    call: 'stream',
    result: wrapped(form, 'artifactUpdate', update(form, 'artifact-update', `,"artifact":${content}${around}`))
  })
} as const

const ARTIFACTS: ReadonlySet<PlaceName> = new Set(['artifact', 'got', 'listed', 'artifactUpdate'])
const USUAL: readonly PlaceName[] = ['message', 'artifact', 'statusUpdate']

export function corpus (): OddAnswer[] {
  const found: OddAnswer[] = []
  for (const file of readdirSync(FOLDER).sort()) {
    for (const entry of parse(readFileSync(join(FOLDER, file), 'utf8')) as Entry[]) {
      found.push(...answersOf(file.replace('.yaml', ''), entry))
    }
  }
  return found
}

export function answersOf (family: string, entry: Entry): OddAnswer[] {
  const found: OddAnswer[] = []
  for (const name of entry.forms ?? Object.keys(FORM_NAMES) as FormName[]) {
    const form = FORMS[FORM_NAMES[name]] as Form
    for (const { call, text, place } of textsOf(form, entry)) {
      // Version 0.3 has no lists of tasks; they were added in 1.0.
      if (call === 'list' && form.version === '0.3') continue
      found.push({
        name: `${family}: ${entry.name} (${name}, ${place})`,
        form,
        call,
        status: entry.status ?? 200,
        headers: (entry.headers ?? [`content-type: ${isStream(call) ? 'text/event-stream' : 'application/json'}`]).flatMap(line => [
          line.slice(0, line.indexOf(':')),
          line.slice(line.indexOf(':') + 2)
        ]),
        body: filled(form, text),
        encoding: entry.encoding ?? 'utf8'
      })
    }
  }
  return found
}

const isStream = (call: CallName): boolean => call === 'stream' || call === 'subscribe'

function textsOf (form: Form, entry: Entry): { readonly call: CallName, readonly text: string, readonly place: string }[] {
  const { result, body, events, calls = [events === undefined ? 'send' : 'stream'] } = entry
  const text = events ?? body
  if (text !== undefined) return calls.map(call => ({ call, text, place: call }))
  if (result !== undefined) return calls.map(call => ({ call, text: answered(form, call, result), place: call }))
  return (entry.places ?? USUAL).map(place => {
    const placed = PLACES[place](form, entry.content ?? contentOf(form, place, entry), entry.around ?? '')
    return { call: placed.call, text: answered(form, placed.call, placed.result), place }
  })
}

function contentOf (form: Form, place: PlaceName, { parts = ['TEXT'], members = '' }: Entry): string {
  if (ARTIFACTS.has(place)) return `{"artifactId":"a","parts":[${parts.join(',')}]${members}}`
  return `{${isKindForm(form) ? '"kind":"message",' : ''}"messageId":"m","role":AGENT,"${listName(form)}":[${parts.join(',')}]${members}}`
}

/**
 * The response with this result. In a stream, a healthy event comes before the result and another one after it, so that the test detects
 * readers that stop.
 */
function answered (form: Form, call: CallName, result: string): string {
  const whole = (one: string): string => form.binding === 'JSONRPC' ? `{"jsonrpc":"2.0","id":${RPC_ID},"result":${one}}` : one
  return isStream(call) ? `data: ${whole('RESULT')}\n\ndata: ${whole(result)}\n\ndata: ${whole('RESULT')}\n\n` : whole(result)
}
