/** Bodies of requests and responses, of an exact size and of one kind of content. All parties get the same bytes. */
import { DATA_TYPE } from './card.js'
import type { TextKind } from './texts.js'
import { textOf } from './texts.js'

/**
 * Content of a body. `file`: a file of random characters, as base64. `data`: small objects, which the gateway validates one by one against
 * the schema. The others are kinds of text.
 */
export type Shape = TextKind | 'file' | 'data'
export interface Content { readonly bytes: number, readonly shape: Shape }
export interface Work extends Content { readonly name: string }

/** The works of all parties. */
export const WORKS: readonly Work[] = [
  { name: '400 B', bytes: 400, shape: 'text' },
  { name: '4 kB', bytes: 4_000, shape: 'text' },
  { name: '50 kB', bytes: 50_000, shape: 'text' },
  { name: '1 MB', bytes: 1_000_000, shape: 'file' }
]

const KINDS = { markdown: 'Markdown', json: 'JSON in a string', chinese: 'Chinese', data: 'data' } as const
const SIZES = { '4 kB': 4_000, '50 kB': 50_000, '1 MB': 1_000_000 } as const

/** What language models and agents send: each kind in each size. */
export const REAL_WORKS: readonly Work[] = Object.entries(KINDS).flatMap(([shape, title]) =>
  Object.entries(SIZES).map(([size, bytes]) => ({ name: `${size} of ${title}`, bytes, shape: shape as keyof typeof KINDS }))
)

interface Item { readonly sku: string, readonly quantity: number, readonly note?: string }

const FIRST: Item = { sku: 'A-17', quantity: 2 }

/** A call with a DataPart that names a schema. The body has exactly `bytes` bytes. @throws Error when `bytes` is too small for a call */
export function callBody (content: Content, method = 'SendMessage'): Buffer {
  return bodyOf(content, parts => ({
    jsonrpc: '2.0', id: 1, method, params: { message: { messageId: 'm-1', role: 'ROLE_USER', parts } }
  }))
}

/** A task whose artifact conforms to the schema. The body has exactly `bytes` bytes. */
export function responseBody (content: Content): Buffer {
  return bodyOf(content, parts => ({
    jsonrpc: '2.0',
    id: 1,
    result: {
      task: {
        id: 'task-1', contextId: 'context-1', status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ artifactId: 'a-1', parts }]
      }
    }
  }))
}

/** The call of all cases that do not measure bodies. */
export const SMALL = callBody({ bytes: 400, shape: 'text' })
export const SMALL_STREAMING = callBody({ bytes: 400, shape: 'text' }, 'SendStreamingMessage')

function bodyOf ({ bytes, shape }: Content, message: (parts: readonly object[]) => object): Buffer {
  const items = [FIRST]
  const whole = (filler: string): Buffer =>
    Buffer.from(JSON.stringify(message([
      { data: { items }, mediaType: DATA_TYPE },
      shape === 'file' ? { raw: filler, mediaType: 'application/octet-stream' } : { text: filler }
    ])))
  if (shape === 'data') addItems(items, bytes - whole('').length)
  const room = bytes - whole('').length
  if (room < 0) throw new Error(`a body needs ${bytes - room} bytes at least`)
  if (shape === 'data') return whole('x'.repeat(room))
  return whole(shape === 'file' ? base64(room) : textOf(shape, room))
}

function addItems (items: Item[], room: number): void {
  for (let left = room; ;) {
    const item = { sku: `B-${10_000 + items.length}`, quantity: items.length, note: 'with the others' }
    left -= JSON.stringify(item).length + 1
    if (left < 0) return
    items.push(item)
  }
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
