/** The headers of calls to the agent, and the agent's short responses and events. */
import { DATA_TYPE, REQUIRED } from './card.js'
import type { Content, Shape } from './bodies.js'
import { responseBody } from './bodies.js'

export const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/json', 'a2a-version': '1.0', 'a2a-extensions': REQUIRED, accept: 'application/json'
}
/** @param answer the stream that the agent sends: `burst 50`, `paced 3` or `hold`; see the agent */
export const streamHeaders = (answer: string): Record<string, string> => ({
  ...HEADERS,
  accept: 'text/event-stream',
  'bench-stream': answer
})
/** Requests a response of the content. */
export const responseHeaders = ({ bytes, shape }: Content): Record<string, string> => ({
  ...HEADERS,
  'bench-response': `${shape} ${bytes}`
})

const reply = { data: { items: [{ sku: 'A-17', quantity: 2 }] }, mediaType: DATA_TYPE }

/** A task whose artifact conforms to the schema. */
export const ANSWER = Buffer.from(
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    result: {
      task: {
        id: 'task-1',
        contextId: 'context-1',
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ artifactId: 'a-1', parts: [reply, { text: 'It is on its way.' }] }]
      }
    }
  })
)

const responses = new Map<string, Buffer>()

/** @param wanted the value of `bench-response`, as `responseHeaders` writes it */
export function responseTo (wanted: string): Buffer {
  let response = responses.get(wanted)
  if (response === undefined) {
    const [shape = '', bytes] = wanted.split(' ')
    response = responseBody({ shape: shape as Shape, bytes: Number(bytes) })
    responses.set(wanted, response)
  }
  return response
}

/** One event of 400 bytes. */
export const EVENT = event({
  statusUpdate: {
    taskId: 'task-1',
    contextId: 'context-1',
    status: { state: 'TASK_STATE_WORKING', message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: '' }] } }
  }
})

function event (result: object): Buffer {
  const text = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`
  return Buffer.from(text.replace('"text":""', `"text":"${'x'.repeat(400 - text.length)}"`))
}
