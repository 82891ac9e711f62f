/** The card of the scripted agent: both versions in one document, all bindings, a signature, and names that no proxy should lose. */
import { createPrivateKey, createSign, generateKeyPairSync } from 'node:crypto'

/** Never fetched by a proxy: the agent records each request for these. */
export const TRAP = '/.conform/trap'

export interface CardOptions {
  /** `http://host:port`, without a final slash. */
  readonly origin: string
  /** `host:port` of the gRPC interface. */
  readonly grpc: string
  /** URIs of extensions that the card declares as required. */
  readonly required: readonly string[]
  readonly extended?: boolean
  /** A text that depends on the caller, in the extended card. */
  readonly caller?: string
}

/** An extension that the card declares and does not require. */
export const OPTIONAL_EXTENSION = 'https://conform.example/extensions/optional/v1'

const KEY = generateKeyPairSync(
  'ec', { namedCurve: 'P-256', privateKeyEncoding: { type: 'pkcs8', format: 'pem' }, publicKeyEncoding: { type: 'spki', format: 'pem' } }
)

/** The text of the card. */
export function cardText (options: CardOptions): string {
  const { origin, grpc, required, extended = false, caller = 'nobody' } = options
  const one = (url: string, protocolBinding: string, protocolVersion: string): object => ({ url, protocolBinding, protocolVersion })
  const extensions = [
    ...required.map(uri => ({ uri, description: 'Required', required: true })),
    { uri: OPTIONAL_EXTENSION, description: 'Optional', params: { limit: 3, nested: { list: [1, 2, 3] } } }
  ]
  const card = {
    name: 'Conformance agent',
    description: 'A scripted agent for the conformance tests of proxies: größer, 大きい, \u{1f9ea}',
    version: '1.0.0',
    protocolVersion: '0.3.0',
    url: `${origin}/jsonrpc`,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [
      { url: `${origin}/jsonrpc`, transport: 'JSONRPC' },
      { url: `${origin}/rest`, transport: 'HTTP+JSON' },
      { url: grpc, transport: 'GRPC' }
    ],
    supportedInterfaces: [
      one(`${origin}/jsonrpc`, 'JSONRPC', '1.0'), one(`${origin}/rest`, 'HTTP+JSON', '1.0'), one(grpc, 'GRPC', '1.0'),
      one(`${origin}/jsonrpc`, 'JSONRPC', '0.3'), one(`${origin}/rest`, 'HTTP+JSON', '0.3'), one(grpc, 'GRPC', '0.3')
    ],
    provider: { organization: 'Conformance', url: `${origin}${TRAP}/provider` },
    documentationUrl: `${origin}${TRAP}/documentation`,
    iconUrl: `${origin}${TRAP}/icon.png`,
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true, extensions },
    supportsAuthenticatedExtendedCard: true,
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [{ id: 'scripted', name: 'Scripted', description: 'Sends what a script says', tags: ['conformance'] }],
    'x-conform': { scripted: true, number: 12345, empty: {}, list: [] },
    ...extended ? { 'x-caller': caller } : {}
  }
  return JSON.stringify({ ...card, signatures: [signatureOf(card, origin)] })
}

/** A signature as spec 1.0.1 §8.4 describes it. `jku` is an address that a proxy may fetch only if its configuration says so. */
function signatureOf (card: object, origin: string): object {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'ES256', typ: 'JOSE', kid: 'conform-1', jku: `${origin}${TRAP}/keys.json` })
  const payload = Buffer.from(canonical(card)).toString('base64url')
  const signature = createSign('SHA256').update(`${header}.${payload}`)
    .sign({ key: createPrivateKey(KEY.privateKey), dsaEncoding: 'ieee-p1363' }).toString('base64url')
  return { protected: header, signature }
}

/** RFC 8785, for values without fractions. */
function canonical (value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(',')}}`
}
