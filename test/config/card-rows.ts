/** Every sentence about `card.verify`, `card.sign` and `card.views`, as printed: file:line:col: message (hint). */
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Row } from './rows.js'
import { lines } from './rows.js'

const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const OTHER = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const FILES = {
  'keys.json': JSON.stringify({ keys: [EC.publicKey.export({ format: 'jwk' })] }),
  'private.json': JSON.stringify({ keys: [EC.privateKey.export({ format: 'jwk' })] }),
  'card.key': EC.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  'other.key': OTHER.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  'p384.key': generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  'text.key': 'text',
  'open.key': EC.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  'partners.yaml': ''
}

/** The files that the texts name, readable for their owner only, except `open.key`. */
export function cardFiles (t: Test): string {
  const directory = t.testdir(FILES)
  for (const name of Object.keys(FILES)) chmodSync(join(directory, name), name === 'open.key' ? 0o644 : 0o600)
  return directory
}

export const cardLines = (text: string, directory: string): string[] => lines(text, {}, directory)

const SERVER = 'server: {publicUrl: "https://agents.example.com"}\n'
const IDENTITY = 'identity: {sources: {corp: {jwt: {issuer: "https://idp.example.com", audience: [a], keys: {file: keys.json}}}}}\n'
const withCard = (card: string, agent = '', root = SERVER): string =>
  `version: 1\n${root}agents:\n  - name: a\n    upstream: {url: "http://127.0.0.1:1"}${agent}\n    card: {${card}}\n`
const withViews = (views: string, card = 'public: minimal', agent = ''): string => withCard(`${card}, views: [${views}]`, agent, IDENTITY)
const OPEN = '{id: v, skills: [all], extensions: [all]}'

export const CARD_ROWS: readonly Row[] = [
  ['verify', withCard('verify: {keys: {file: keys.json}}')],
  ['verify, a URL', withCard('verify: {keys: {url: "https://vendor.example/jwks.json"}, require: false, onFailure: warn, uncovered: allow}')],
  ['verify null', withCard('verify: null')],
  [
    'verify without keys',
    withCard('verify: {}'),
    'g.yaml:6:20: agents[0].card.verify.keys is required'
  ],
  [
    'verify with no keys',
    withCard('verify: {keys: {}}'),
    'g.yaml:6:21: agents[0].card.verify.keys needs url or file (such as "file: vendor.jwks.json")'
  ],
  [
    'verify with two',
    withCard('verify: {keys: {file: keys.json, url: "https://vendor.example"}}'),
    'g.yaml:6:28: agents[0].card.verify.keys has both url and file (keep one)'
  ],
  [
    'verify, no file',
    withCard('verify: {keys: {file: none.json}}'),
    'g.yaml:6:34: agents[0].card.verify.keys.file: cannot read "none.json": no such file (paths are relative to the configuration file)'
  ],
  [
    'verify, no set',
    withCard('verify: {keys: {file: text.key}}'),
    'g.yaml:6:34: agents[0].card.verify.keys.file: "text.key" is not valid JSON: the JSON is not valid at byte 1, where the word true was expected'
  ],
  [
    'verify, private keys',
    withCard('verify: {keys: {file: private.json}}'),
    'g.yaml:6:34: agents[0].card.verify.keys.file: "private.json" contains a private key; anybody who reads the key can make tokens, so the issuer must replace it'
  ],
  [
    'verify with HMAC',
    withCard('verify: {keys: {file: keys.json}, algorithms: [HS256]}'),
    'g.yaml:6:59: agents[0].card.verify.algorithms[0] must be one of ES256, RS256, PS256, EdDSA, not "HS256" (did you mean "ES256"?)'
  ],
  ['resign', withCard('signature: resign, sign: {key: {file: card.key}, kid: gw-1, publish: [{file: other.key, kid: gw-2}]}')],
  [
    'resign without sign',
    withCard('signature: resign'),
    'g.yaml:6:23: agents[0].card.signature: resign needs sign (such as "sign: {key: {file: secrets/card.pem}}")'
  ],
  [
    'resign without an address',
    withCard('signature: resign, sign: {key: {file: card.key}}', '', ''),
    'g.yaml:5:23: agents[0].card.signature: resign needs server.publicUrl (the signed card names the address of the gateway)'
  ],
  [
    'sign without resign',
    withCard('sign: {key: {file: card.key}}'),
    'g.yaml:6:12: agents[0].card.sign signs no card: its keys are published only (write signature: resign)'
  ],
  [
    'sign, a key that others can read',
    withCard('signature: resign, sign: {key: {file: open.key}}'),
    'g.yaml:6:50: agents[0].card.sign.key.file: every user of this machine can read "open.key" (chmod 600, or defaultMode: 0400 of a Kubernetes volume)'
  ],
  [
    'sign, no file',
    withCard('signature: resign, sign: {key: {file: none.key}, publish: [{file: none.key}]}'),
    'g.yaml:6:50: agents[0].card.sign.key.file: cannot read "none.key": no such file (paths are relative to the configuration file)',
    'g.yaml:6:78: agents[0].card.sign.publish[0].file: cannot read "none.key": no such file (paths are relative to the configuration file)'
  ],
  [
    'sign, text',
    withCard('signature: resign, sign: {key: {file: text.key}, publish: [{file: text.key}]}'),
    'g.yaml:6:50: agents[0].card.sign.key.file: "text.key" is not the PEM file of a private key without a password',
    'g.yaml:6:78: agents[0].card.sign.publish[0].file: "text.key" is not the PEM file of a key'
  ],
  [
    'sign, another curve',
    withCard('signature: resign, sign: {key: {file: p384.key}}'),
    'g.yaml:6:50: agents[0].card.sign.key.file: "p384.key" has another kind of key than EC P-256, Ed25519, and RSA of 2048 bits or more'
  ],
  [
    'sign, one kid for two keys',
    withCard('signature: resign, sign: {key: {file: card.key}, kid: k, publish: [{file: other.key, kid: k}]}'),
    'g.yaml:6:86: agents[0].card.sign.publish[0].file: "other.key" has the kid "k" of another key'
  ],
  ['views', withViews('{id: v, caller: {groups: [g]}, skills: [s], extensions: ["https://example.com/ext/v1", object-schemas]}, {id: w, skills: [], extensions: [all]}')],
  [
    'views without identity',
    withCard(`public: minimal, views: [${OPEN}]`),
    'g.yaml:6:29: agents[0].card.views needs identity: without it, the gateway knows no caller (add identity, or remove the views)'
  ],
  [
    'views of a card that is served unchanged',
    withViews(OPEN, 'public: none, signature: verbatim'),
    'g.yaml:6:47: agents[0].card.views contradicts signature: verbatim, which serves the card unchanged (write strip or resign)'
  ],
  [
    'a card that waits for an agreement, and calls that do not',
    withCard('changes: hold, onUnavailable: forward'),
    'g.yaml:6:21: agents[0].card.changes: hold contradicts onUnavailable: forward, which forwards calls without checks while a card waits (write onUnavailable: reject)'
  ],
  [
    'texts removed from a card that is served unchanged',
    withCard('texts: strip, signature: verbatim'),
    'g.yaml:6:19: agents[0].card.texts: strip contradicts signature: verbatim, which serves the card unchanged (write report, or signature: strip)'
  ],
  [
    'a view of an unknown source',
    withViews('{id: v, caller: {source: [crop], anonymous: true}, skills: [all], extensions: [all]}'),
    'g.yaml:6:63: agents[0].card.views[0].caller.source[0]: identity has no source "crop" (did you mean "corp"?)',
    'g.yaml:6:70: agents[0].card.views[0].caller.anonymous contradicts source: a request without a caller has none of them (keep one of the two)'
  ],
  [
    'a view twice',
    withViews(`${OPEN}, ${OPEN}`),
    'g.yaml:6:85: agents[0].card.views has "v" twice'
  ],
  [
    'a view of an unknown policy',
    withViews('{id: v, skills: [all], extensions: [object-schema]}, {id: w, skills: [all], extensions: [other-name]}', 'public: minimal', '\n    extensions: [object-schemas]'),
    'g.yaml:7:73: agents[0].card.views[0].extensions[0]: the agent uses no policy "object-schema" (did you mean "object-schemas"?)',
    'g.yaml:7:126: agents[0].card.views[1].extensions[0]: the agent uses no policy "other-name" (write a URI, or the name of a policy in the agent\'s extensions)'
  ],
  [
    'views that strangers go around',
    withViews(OPEN, 'public: full'),
    'g.yaml:6:26: agents[0].card.views hides nothing from unauthenticated requests: public: full shows them the whole card (write public: minimal or none)'
  ],
  [
    'a view that hides what its callers can activate',
    withViews('{id: v, skills: [all], extensions: []}'),
    'g.yaml:6:60: view "v" hides the extension of policy "object-schemas", but its callers can still activate the extension (hiding is not enforcing: add activation.callers to the policy)'
  ],
  [
    'a view with an unusable schema',
    withViews('{id: v, caller: {match: {type: nothing}}, skills: [all], extensions: [all]}'),
    'g.yaml:6:68: agents[0].card.views[0].caller.match cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values'
  ],
  ['publicSkills', withCard('public: minimal, publicSkills: [s]')],
  [
    'publicSkills without minimal',
    withCard('publicSkills: [s]'),
    'g.yaml:6:12: agents[0].card.publicSkills has no effect without public: minimal (write public: minimal)'
  ]
]
