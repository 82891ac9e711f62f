/** The files of `upstream.tls`, before anything is dialled with them. */
import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import t from 'tap'
import { configOf, oneAgent } from '../helpers/gateway.js'
import { readTlsFiles, tlsProblems } from '../../src/upstream/tls.js'

const NONE = { ca: null, cert: null, key: null, serverName: null }

t.test('the fingerprint changes with the contents, wherever they lie', async t => {
  const directory = t.testdir({ a: rootCertificates[0] ?? '', b: rootCertificates[0] ?? '', c: rootCertificates[1] ?? '' })
  const of = (name: string): string => readTlsFiles({ ...NONE, ca: join(directory, name) }).fingerprint
  t.equal(of('a'), of('b'))
  t.not(of('a'), of('c'))
  t.not(of('a'), readTlsFiles(NONE).fingerprint)
})

t.test('what TLS could not use is said with the file', async t => {
  const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const directory = t.testdir({ 'ca.pem': 'nothing', 'cert.pem': rootCertificates[0] ?? '', 'key.pem': key })
  t.throws(() => readTlsFiles({ ...NONE, ca: join(directory, 'ca.pem') }), { message: /^upstream\.tls\.ca: .*ca\.pem: / })
  t.throws(() => readTlsFiles({ ...NONE, ca: join(directory, 'missing.pem') }), { message: /missing\.pem.*ENOENT/ })
  t.throws(() => readTlsFiles({ ...NONE, cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }), { message: /cert\.pem.*key\.pem/ }, 'a key of another certificate')
  const { agents } = configOf({ yaml: oneAgent('https://127.0.0.1:1", tls: {ca: ca.pem}, connections: "8').replace('connections: "8"', 'connections: 8'), baseDir: directory })
  t.match(tlsProblems(agents), [/^agent agent: upstream\.tls\.ca/])
})
