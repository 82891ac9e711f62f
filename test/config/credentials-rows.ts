/** Every sentence about `upstream.credentials`, as printed: file:line:col: message (hint). */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { PemKeys } from '../identity/signing-keys.js'
import type { Row } from './rows.js'
import { lines } from './rows.js'

const ENV = { KEY: 'a-key', EMPTY: '' }

/** The files that the texts name, readable for their owner only, except `open`. */
export function credentialFiles (t: Test, { ec, ed, rsa, publicEd }: PemKeys): string {
  const directory = t.testdir({
    secret: 'a',
    open: 'a',
    empty: '',
    latin1: Buffer.from([0xe9]),
    folder: {},
    'keys.yaml': '[]',
    'keys.json': '{"keys": []}',
    'ec.pem': ec,
    'ed.pem': ed,
    'rsa.pem': rsa,
    'public.pem': publicEd,
    'text.pem': 'no key',
    'open.pem': ed
  })
  for (const name of ['secret', 'empty', 'latin1', 'ec.pem', 'ed.pem', 'rsa.pem', 'public.pem', 'text.pem']) chmodSync(join(directory, name), 0o600)
  for (const name of ['open', 'open.pem']) chmodSync(join(directory, name), 0o644)
  return directory
}

export const credentialLines = (text: string, directory: string): string[] => lines(text, ENV, directory)

const SOURCES = `identity:
  sources:
    corp: {jwt: {issuer: "https://idp.example.com", audience: [aud], keys: discover}}
    partners: {apiKey: {header: x-api-key, keys: {file: keys.yaml}}}
`
const SERVER = 'server: {publicUrl: "https://agents.example.com"}\n'

interface Around { readonly url?: string, readonly agent?: string, readonly sources?: string, readonly server?: string }

/** Line 6 has the keys, from column 20. */
function withCredentials (keys: string, { url = 'https://agent.example.com', agent = '', sources = SOURCES, server = SERVER }: Around = {}): string {
  return `version: 1\nagents:\n  - name: a\n    upstream:\n      url: "${url}"\n      credentials: {${keys}}\n${agent}${sources}${server}`
}

const entry = (text: string, around?: Around): string => withCredentials(`send: [${text}]`, around)
const identity = (text: string, around?: Around): string => withCredentials(`identity: {${text}}`, around)
const TOKEN = 'endpoint: "https://idp.example.com/token", client: {id: gw, secret: {env: KEY}}'
const JWT_ONLY = SOURCES.split('\n').filter(line => !line.includes('partners')).join('\n')

export const CREDENTIALS_ROWS: readonly Row[] = [
  ['nothing', withCredentials('')],
  ['right, a secret', entry('{header: X-Agent-Key, fromSecret: {env: KEY}, for: [partners, corp]}')],
  ['right, a secret of a file', entry('{header: authorization, fromSecret: {file: secret}, prefix: "Bearer "}')],
  ['right, client credentials', entry(`{clientCredentials: {${TOKEN}, audience: a, resource: "https://a", scopes: [a, b], auth: post}}`)],
  ['right, an exchange', entry(`{exchange: {${TOKEN}, audience: a, actorToken: {file: secret, type: jwt}, subjectTokenType: jwt}, for: [corp]}`)],
  ['right, for within the exchange', entry(`{exchange: {${TOKEN}, audience: a, for: [corp]}}`)],
  ['right, an exchange for all', entry(`{exchange: {${TOKEN}, audience: a}}`, { sources: JWT_ONLY })],
  ['right, an endpoint on this machine', entry(`{clientCredentials: {${TOKEN.replace('https://idp.example.com', 'http://127.0.0.1:1')}}}`)],
  ['right, identity', identity('key: {file: ec.pem}, kid: k1, publish: [{file: public.pem, kid: k2}, {file: ed.pem, kid: k2}, {file: rsa.pem}], ttl: 30s, claims: [subject], body: true, header: X-Caller')],
  [
    'no kind',
    entry('{header: x-a}'),
    'g.yaml:6:28: agents[0].upstream.credentials.send[0] needs fromSecret, clientCredentials or exchange (one of them)'
  ],
  [
    'two kinds',
    entry(`{header: x-a, fromSecret: {env: KEY}, clientCredentials: {${TOKEN}}}`),
    'g.yaml:6:66: agents[0].upstream.credentials.send[0] has both fromSecret and clientCredentials (give each a separate entry)'
  ],
  [
    'no header',
    entry('{fromSecret: {env: KEY}}'),
    'g.yaml:6:28: agents[0].upstream.credentials.send[0] needs header (such as "header: x-api-key")'
  ],
  [
    'a header for tokens',
    entry(`{header: x-a, prefix: "Bearer ", clientCredentials: {${TOKEN}}}`),
    'g.yaml:6:29: agents[0].upstream.credentials.send[0].header has no effect with clientCredentials (tokens go into Authorization, after "Bearer ")',
    'g.yaml:6:42: agents[0].upstream.credentials.send[0].prefix has no effect with clientCredentials (tokens go into Authorization, after "Bearer ")'
  ],
  [
    'no place',
    entry('{header: x-a, fromSecret: {}}'),
    'g.yaml:6:54: agents[0].upstream.credentials.send[0].fromSecret needs file or env (such as "{file: secrets/token}")'
  ],
  [
    'two places',
    entry('{header: x-a, fromSecret: {env: KEY, file: secret}}'),
    'g.yaml:6:55: agents[0].upstream.credentials.send[0].fromSecret has both file and env (keep one)'
  ],
  [
    'no place of the client secret',
    entry('{clientCredentials: {endpoint: "https://idp.example.com/token", client: {id: gw, secret: {}}}}'),
    'g.yaml:6:117: agents[0].upstream.credentials.send[0].clientCredentials.client.secret needs file or env (such as "{file: secrets/token}")'
  ],
  [
    'an unset variable',
    entry('{header: x-a, fromSecret: {env: NONE}}'),
    'g.yaml:6:60: agents[0].upstream.credentials.send[0].fromSecret.env: environment variable NONE is not set'
  ],
  [
    'an empty variable',
    entry(`{clientCredentials: {${TOKEN.replace('KEY', 'EMPTY')}}}`),
    'g.yaml:6:123: agents[0].upstream.credentials.send[0].clientCredentials.client.secret.env: environment variable EMPTY is empty'
  ],
  [
    'no file',
    entry('{header: x-a, fromSecret: {file: none}}'),
    'g.yaml:6:61: agents[0].upstream.credentials.send[0].fromSecret.file: cannot read "none": no such file (paths are relative to the configuration file)'
  ],
  [
    'an unusable actor token',
    entry(`{exchange: {${TOKEN}, audience: a, actorToken: {file: latin1}}, for: [corp]}`),
    'g.yaml:6:153: agents[0].upstream.credentials.send[0].exchange.actorToken.file: the file "latin1" is not UTF-8 (paths are relative to the configuration file)'
  ],
  [
    'no actor token',
    entry(`{exchange: {${TOKEN}, audience: a, actorToken: {}}, for: [corp]}`),
    'g.yaml:6:146: agents[0].upstream.credentials.send[0].exchange.actorToken needs file or env (such as "{file: secrets/token}")'
  ],
  [
    'reserved headers',
    entry(['A2A_Version', 'host', 'Content-Length', 'transfer_encoding', 'connection', 'traceparent', 'x-forwarded-for', 'x-original.url', 'te'].map(name => `{header: ${name}, fromSecret: {env: KEY}}`).join(', ')),
    'g.yaml:6:37: agents[0].upstream.credentials.send[0].header cannot be "A2A_Version" (the header has a meaning in HTTP, in A2A or for the gateway)',
    'g.yaml:6:84: agents[0].upstream.credentials.send[1].header cannot be "host" (the header has a meaning in HTTP, in A2A or for the gateway)',
    'g.yaml:6:124: agents[0].upstream.credentials.send[2].header cannot be "Content-Length" (the header has a meaning in HTTP, in A2A or for the gateway)',
    'g.yaml:6:174: agents[0].upstream.credentials.send[3].header cannot be "transfer_encoding" (the header has a meaning in HTTP, in A2A or for the gateway)',
    'g.yaml:6:227: agents[0].upstream.credentials.send[4].header cannot be "connection" (the header has a meaning in HTTP, in A2A or for the gateway)',
    'g.yaml:6:273: agents[0].upstream.credentials.send[5].header cannot be "traceparent" (the header has a meaning in HTTP, in A2A or for the gateway)',
    'g.yaml:6:320: agents[0].upstream.credentials.send[6].header cannot be "x-forwarded-for" (the header has a meaning in HTTP, in A2A or for the gateway)',
    'g.yaml:6:371: agents[0].upstream.credentials.send[7].header cannot be "x-original.url" (the header has a meaning in HTTP, in A2A or for the gateway)',
    'g.yaml:6:421: agents[0].upstream.credentials.send[8].header cannot be "te" (the header has a meaning in HTTP, in A2A or for the gateway)'
  ],
  [
    'an endpoint without TLS',
    entry(`{clientCredentials: {${TOKEN.replace('https', 'http')}}}`),
    'g.yaml:6:59: agents[0].upstream.credentials.send[0].clientCredentials.endpoint must be an https URL (http is for this machine only: the request contains secrets)'
  ],
  [
    'an endpoint with credentials',
    entry(`{clientCredentials: {${TOKEN.replace('https://', 'https://u:p@')}}}`),
    'g.yaml:6:59: agents[0].upstream.credentials.send[0].clientCredentials.endpoint must not carry credentials (they would appear in logs)'
  ],
  [
    'unknown sources',
    entry('{header: x-a, fromSecret: {env: KEY}, for: [partner, others]}'),
    'g.yaml:6:72: agents[0].upstream.credentials.send[0].for[0]: identity has no source "partner" (did you mean "partners"?)',
    'g.yaml:6:81: agents[0].upstream.credentials.send[0].for[1]: identity has no source "others" (known sources: corp, partners)'
  ],
  [
    'sources without identity',
    entry('{header: x-a, fromSecret: {env: KEY}, for: [corp]}', { sources: '' }),
    'g.yaml:6:72: agents[0].upstream.credentials.send[0].for[0]: identity has no source "corp" (the configuration has no identity.sources)'
  ],
  [
    'for twice',
    entry(`{exchange: {${TOKEN}, audience: a, for: [corp]}, for: [corp]}`),
    'g.yaml:6:134: agents[0].upstream.credentials.send[0] and agents[0].upstream.credentials.send[0].exchange both have for (keep the one of the entry)'
  ],
  [
    'an exchange of keys',
    entry(`{exchange: {${TOKEN}, audience: a}, for: [corp, partners]}`),
    'g.yaml:6:147: agents[0].upstream.credentials.send[0].for[1]: the source "partners" has no access tokens to exchange (name sources of the kind jwt)'
  ],
  [
    'an exchange for all sources',
    entry(`{exchange: {${TOKEN}, audience: a}}`),
    'g.yaml:6:29: agents[0].upstream.credentials.send[0].exchange needs for (the names of jwt sources)'
  ],
  [
    'an exchange without identity',
    entry(`{exchange: {${TOKEN}, audience: a}}`, { sources: '' }),
    'g.yaml:6:29: agents[0].upstream.credentials.send[0].exchange needs identity (only the access token of an authenticated caller can be exchanged)'
  ],
  [
    'never sent',
    entry('{header: x-a, fromSecret: {env: KEY}, for: [partners]}, {header: X_A, fromSecret: {env: KEY}, for: [partners]}, {header: x-a, fromSecret: {env: KEY}}, {header: x-a, fromSecret: {env: KEY}}'),
    'g.yaml:6:84: agents[0].upstream.credentials.send[1] is never sent: an entry before it has the header "x-a" for the same callers (the gateway uses the first entry)',
    'g.yaml:6:179: agents[0].upstream.credentials.send[3] is never sent: an entry before it has the header "x-a" for the same callers (the gateway uses the first entry)'
  ],
  [
    'without encryption',
    entry('{header: x-a, fromSecret: {env: KEY}}', { url: 'http://agent.example.com' }),
    'g.yaml:6:21: agents[0].upstream.credentials.send sends credentials over http to agent.example.com (use https)'
  ],
  [
    'a secret that others can read',
    entry(`{header: x-a, fromSecret: {file: open}}, {exchange: {${TOKEN.replace('env: KEY', 'file: open')}, audience: a, actorToken: {file: open}}, for: [corp]}`),
    'g.yaml:6:61: agents[0].upstream.credentials.send[0].fromSecret.file: every user of this machine can read "open" (chmod 600, or defaultMode: 0400 of a Kubernetes volume)',
    'g.yaml:6:156: agents[0].upstream.credentials.send[1].exchange.client.secret.file: every user of this machine can read "open" (chmod 600, or defaultMode: 0400 of a Kubernetes volume)',
    'g.yaml:6:196: agents[0].upstream.credentials.send[1].exchange.actorToken.file: every user of this machine can read "open" (chmod 600, or defaultMode: 0400 of a Kubernetes volume)'
  ],
  [
    'a key that others can read',
    identity('key: {file: open.pem}'),
    'g.yaml:6:44: agents[0].upstream.credentials.identity.key.file: every user of this machine can read "open.pem" (chmod 600, or defaultMode: 0400 of a Kubernetes volume)'
  ],
  [
    'identity without identity',
    identity('key: {file: ed.pem}', { sources: '', server: '' }),
    'g.yaml:6:21: agents[0].upstream.credentials.identity needs identity (without identity.sources, no request has a caller)',
    'g.yaml:6:21: agents[0].upstream.credentials.identity needs server.publicUrl (the tokens name it as their issuer)'
  ],
  [
    'identity in Authorization',
    identity('key: {file: ed.pem}, header: Authorization'),
    'g.yaml:6:61: agents[0].upstream.credentials.identity.header cannot be "Authorization" (choose another header, such as gateway-identity)'
  ],
  [
    'identity in a reserved header',
    identity('key: {file: ed.pem}, header: a2a-caller'),
    'g.yaml:6:61: agents[0].upstream.credentials.identity.header cannot be "a2a-caller" (the header has a meaning in HTTP, in A2A or for the gateway)'
  ],
  [
    'identity in a header of send',
    withCredentials('send: [{header: X_Caller, fromSecret: {env: KEY}}], identity: {key: {file: ed.pem}, header: x-caller}'),
    'g.yaml:6:113: agents[0].upstream.credentials.identity.header is the header of an entry of send too (choose another header)'
  ],
  [
    'no key',
    identity('ttl: 30s'),
    'g.yaml:6:31: agents[0].upstream.credentials.identity.key is required'
  ],
  [
    'no file of a key',
    identity('key: {file: none.pem}, publish: [{file: none.pem}]'),
    'g.yaml:6:44: agents[0].upstream.credentials.identity.key.file: cannot read "none.pem": no such file (paths are relative to the configuration file)',
    'g.yaml:6:72: agents[0].upstream.credentials.identity.publish[0].file: cannot read "none.pem": no such file (paths are relative to the configuration file)'
  ],
  [
    'other files',
    identity('key: {file: text.pem}, publish: [{file: text.pem}]'),
    'g.yaml:6:44: agents[0].upstream.credentials.identity.key.file: "text.pem" is not the PEM file of a private key without a password',
    'g.yaml:6:72: agents[0].upstream.credentials.identity.publish[0].file: "text.pem" is not the PEM file of a key'
  ],
  [
    'one kid for the key of the card and another key',
    identity('key: {file: ed.pem}, kid: k', { agent: '    card: {signature: resign, sign: {key: {file: ec.pem}, kid: k}}\n' }),
    'g.yaml:6:44: agents[0].upstream.credentials.identity.key.file: "ed.pem" has the kid "k" of another key'
  ],
  [
    'right, one key for the card and the header',
    identity('key: {file: ed.pem}, kid: k', { agent: '    card: {signature: resign, sign: {key: {file: ed.pem}, kid: k}}\n' })
  ],
  [
    'a public key',
    identity('key: {file: public.pem}'),
    'g.yaml:6:44: agents[0].upstream.credentials.identity.key.file: "public.pem" is not the PEM file of a private key without a password'
  ],
  [
    'a digest that passthrough does not have',
    identity('key: {file: ed.pem}, body: true', { agent: '    passthrough: [/docs]\n' }),
    'g.yaml:6:59: agents[0].upstream.credentials.identity.body has no effect below passthrough (the gateway does not read those bodies, so the agent must not require the digest there)'
  ]
]
