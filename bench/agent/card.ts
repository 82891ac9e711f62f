/** The card of the agent, and the schema of its data. */

export const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
/** The extension that the card requires. */
export const REQUIRED = 'https://example.com/ext/terms-accepted/v1'
/** The name in the media type of a DataPart: a schema of the card. */
const SCHEMA = 'order'
export const DATA_TYPE = `application/json;schema=${SCHEMA}`

export const extension = (i: number): string => `https://example.com/ext/further-${i}/v1`

/**
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
