/** Words of the corpus, which stand for healthy elements of a binding and version. */
import type { Form } from '../../security/kit.js'
import { dataPart, textPart } from '../../security/kit.js'

/** In a body: the id of the request. */
export const RPC_ID = '\u0001'

/** True when objects state their kind: 0.3 over JSON-RPC. All other forms use ProtoJSON. */
export const isKindForm = ({ binding, version }: Form): boolean => version === '0.3' && binding === 'JSONRPC'

/** Name of a message's list of parts. Artifacts always have `parts`. */
export const listName = ({ binding, version }: Form): string => version === '0.3' && binding === 'HTTP+JSON' ? 'content' : 'parts'

/** @param member member name in the wrapper: `task`, `statusUpdate` */
export function wrapped (form: Form, member: string, object: string): string {
  return isKindForm(form) ? object : `{"${member}":${object}}`
}

const WORDS: Readonly<Record<string, (form: Form) => string>> = {
  ID: () => RPC_ID,
  TEXT: form => textPart(form),
  DATA: form => dataPart(form, '{"a":1}', 'application/json'),
  LIST: listName,
  AGENT: form => (isKindForm(form) ? '"agent"' : '"ROLE_AGENT"'),
  USER: form => (isKindForm(form) ? '"user"' : '"ROLE_USER"'),
  WORKING: form => (isKindForm(form) ? '"working"' : '"TASK_STATE_WORKING"'),
  COMPLETED: form => (isKindForm(form) ? '"completed"' : '"TASK_STATE_COMPLETED"'),
  KIND_TASK: form => (isKindForm(form) ? '"kind":"task",' : ''),
  KIND_MESSAGE: form => (isKindForm(form) ? '"kind":"message",' : ''),
  MESSAGE: form => `{${isKindForm(form) ? '"kind":"message",' : ''}"messageId":"m","role":AGENT,"LIST":[DATA]}`,
  ARTIFACT: () => '{"artifactId":"a","parts":[DATA]}',
  TASK: form => `{${isKindForm(form) ? '"kind":"task",' : ''}"id":"t","contextId":"c","status":{"state":WORKING},"artifacts":[ARTIFACT]}`,
  STATUS_UPDATE: form =>
    `{${isKindForm(form) ? '"kind":"status-update",' : ''}"taskId":"t","contextId":"c","status":{"state":WORKING,"message":MESSAGE}}`,
  ARTIFACT_UPDATE: form => `{${isKindForm(form) ? '"kind":"artifact-update",' : ''}"taskId":"t","contextId":"c","artifact":ARTIFACT}`,
  /** A healthy result of a call that sends. */
  RESULT: form => wrapped(form, 'task', 'TASK'),
  /** The beginning of a response before its result, and the end after the result. */
  OPEN: form => (form.binding === 'JSONRPC' ? '{"jsonrpc":"2.0","id":ID,"result":' : ''),
  CLOSE: form => (form.binding === 'JSONRPC' ? '}' : ''),
  /** A result different from RESULT, which no client may read without evaluation. */
  EVIL: form =>
    `OPEN ${wrapped(form, 'message', isKindForm(form) ? '{"kind":"message","messageId":"evil","role":AGENT,"parts":[TEXT]}' : '{"messageId":"evil","role":AGENT,"LIST":[TEXT]}')} CLOSE`,
  ANSWER: () => 'OPEN RESULT CLOSE',
  LONG: () => 'x'.repeat(5_000)
}

const WORD = new RegExp(`\\b(?:${Object.keys(WORDS).join('|')})\\b`, 'g')

export function filled (form: Form, text: string): string {
  let now = text
  // The texts of words contain words themselves.
  for (let depth = 0; depth < 6; depth++) now = now.replace(WORD, word => WORDS[word]?.(form) ?? word)
  return now
}
