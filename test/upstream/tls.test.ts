/** The files of `upstream.tls`, checked before the gateway uses them for a connection. */
import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import t from 'tap'
import { readTlsFiles } from '#upstream/tls.js'

const NONE = { ca: null, cert: null, key: null, serverName: null }

t.test('the fingerprint depends on the contents, not on the path', async t => {
  const directory = t.testdir({ a: rootCertificates[0] ?? '', b: rootCertificates[0] ?? '', c: rootCertificates[1] ?? '' })
  const of = (name: string): string => readTlsFiles({ ...NONE, ca: join(directory, name) }).fingerprint
  t.equal(of('a'), of('b'))
  t.not(of('a'), of('c'))
  t.not(of('a'), readTlsFiles(NONE).fingerprint)
})

t.test('unusable TLS files are reported with the setting', async t => {
  const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const directory = t.testdir({ 'ca.pem': 'nothing', 'cert.pem': rootCertificates[0] ?? '', 'key.pem': key })
  t.throws(() => readTlsFiles({ ...NONE, ca: join(directory, 'ca.pem') }), { setting: 'ca', unreadable: false, message: /PEM/ })
  t.throws(() => readTlsFiles({ ...NONE, ca: join(directory, 'missing.pem') }), { setting: 'ca', unreadable: true, message: /ENOENT/ })
  t.throws(
    () => readTlsFiles({ ...NONE, cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }),
    { setting: 'key', message: 'the key does not belong to the certificate' },
    'a key of another certificate'
  )
  t.throws(() => readTlsFiles({ ...NONE, cert: join(directory, 'key.pem'), key: join(directory, 'key.pem') }), {
    setting: 'cert',
    message: /PEM/
  })
  const wrong = (): unknown => readTlsFiles({ ...NONE, cert: join(directory, 'cert.pem'), key: join(directory, 'ca.pem') })
  t.throws(wrong, { setting: 'key', unreadable: false, message: /DECODER/ })
})
