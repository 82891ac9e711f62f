/** The calls to the agent, the agent's responses, and its card. All parties get the same bytes. */

export const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
/** The extension that the card requires. */
export const REQUIRED = 'https://example.com/ext/terms-accepted/v1'
/** The name in the media type of a DataPart: a schema of the card. */
const SCHEMA = 'order'
const DATA_TYPE = `application/json;schema=${SCHEMA}`

/**
 * Content of a call. `file`: a file of random characters, as base64. `text`: lines of prose. `data`: hundreds of small objects, which the
 * gateway validates one by one against the schema.
 */
export type Shape = 'text' | 'file' | 'data'
export interface Work { readonly name: string, readonly bytes: number, readonly shape: Shape }

export const WORKS: readonly Work[] = [
  { name: '400 B', bytes: 400, shape: 'text' },
  { name: '4 kB', bytes: 4_000, shape: 'text' },
  { name: '50 kB', bytes: 50_000, shape: 'text' },
  { name: '50 kB of data', bytes: 50_000, shape: 'data' },
  { name: '1 MB', bytes: 1_000_000, shape: 'file' }
]

export const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/json', 'a2a-version': '1.0', 'a2a-extensions': REQUIRED, accept: 'application/json'
}
/** @param answer the stream that the agent sends: `burst 50`, `paced 3` or `hold`; see the agent */
export const streamHeaders = (answer: string): Record<string, string> => ({
  ...HEADERS,
  accept: 'text/event-stream',
  'bench-stream': answer
})

/** A call with a DataPart that names a schema. The body has exactly `bytes` bytes. @throws Error when `bytes` is too small for a call */
export function callBody ({ bytes, shape }: Pick<Work, 'bytes' | 'shape'>, method = 'SendMessage'): Buffer {
  const items: object[] = [{ sku: 'A-17', quantity: 2 }]
  const whole = (filler: object[]): Buffer =>
    Buffer.from(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ data: { items }, mediaType: DATA_TYPE }, ...filler] } }
      })
    )
  if (shape === 'data') {
    for (let length = whole([{ text: '' }]).length; ;) {
      const item = { sku: `B-${10_000 + items.length}`, quantity: items.length, note: 'with the others' }
      length += JSON.stringify(item).length + 1
      if (length > bytes) break
      items.push(item)
    }
  }
  const part = (filler: string): object => shape === 'file' ? { raw: filler, mediaType: 'application/octet-stream' } : { text: filler }
  const room = bytes - whole([part('')]).length
  if (room < 0) throw new Error(`a call needs ${bytes - room} bytes at least`)
  return whole([part(shape === 'file' ? base64(room) : prose(room))])
}

/** Lines of text, some with characters beyond ASCII. The text takes `bytes` bytes as JSON. */
function prose (bytes: number): string {
  const line = 'Please order these – and say “when”: the first shelf is empty since Monday.\n'
  const cost = Buffer.byteLength(JSON.stringify(line)) - 2
  return line.repeat(Math.floor(bytes / cost)) + 'x'.repeat(bytes % cost)
}

/** Random characters from a fixed seed, so that each run has the same file. */
function base64 (characters: number): string {
  const bytes = Buffer.alloc(Math.ceil(characters / 4) * 3)
  for (let i = 0, seed = 1; i < bytes.length; i++) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    bytes[i] = seed >> 16
  }
  return bytes.toString('base64').slice(0, characters)
}

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

/**
 * The card of the agent.
 * @param base URL of the agent, with its path
 * @param policies number of further extensions that the card declares
 * @param nodes number of subschemas of the schema; 0: the card has no object schemas
 */
export function card (base: string, policies: number, nodes: number): object {
  const more = Array.from({ length: policies }, (_none, i) => ({ uri: extension(i) }))
  return {
    name: 'bench',
    description: 'Takes orders.',
    version: '1',
    supportedInterfaces: [{ url: `${base}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: {
      streaming: true,
      extensions: [{ uri: REQUIRED, required: true }, ...(nodes === 0 ? [] : [{ uri: OBJECT_SCHEMAS }]), ...more]
    },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'order', name: 'Order', description: 'Takes an order.', tags: ['order'] }],
    ...(nodes === 0 ? {} : { schemas: { [SCHEMA]: schema(nodes) } })
  }
}

export const extension = (i: number): string => `https://example.com/ext/further-${i}/v1`

function schema (nodes: number): object {
  const unused = Object.fromEntries(Array.from({ length: Math.max(0, nodes - 6) }, (_none, i) => [`field${i}`, { type: 'string' }]))
  const item = {
    type: 'object',
    required: ['sku', 'quantity'],
    properties: { sku: { type: 'string', minLength: 1 }, quantity: { type: 'integer', minimum: 1 }, note: { type: 'string' } },
    additionalProperties: false
  }
  return {
    type: 'object',
    required: ['items'],
    properties: { items: { type: 'array', items: item }, ...unused },
    additionalProperties: false
  }
}
