/** Schemas and certificates that cannot be used are reported where they stand, with everything else. */
import { generateKeyPairSync } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import t from 'tap'
import { CHECKS, readConfiguration } from '../../src/cli/configuration.js'
import { formatDiagnostic, parseConfig } from '../../src/config/load.js'

const AGENT = 'version: 1\nagents:\n  - name: a\n    upstream: {url: "https://127.0.0.1:1"}\n    extensions: [p]\n'
const policy = (lines: string): string => `${AGENT}extensions:\n  p:\n    uri: urn:p\n${lines}`

function lines (text: string, baseDir = import.meta.dirname): string[] {
  const result = parseConfig(text, { file: 'g.yaml', baseDir, env: {}, checks: CHECKS })
  return (result.ok ? result.warnings : result.problems).map(formatDiagnostic)
}

t.test('a schema that does not compile: at the key that the pointer leads to', async t => {
  t.same(lines(policy(`    methods:
      a.b: {params: {type: nonsense}}
    request:
      - id: r
        select: {part: {match: {properties: {a/b: {pattern: "(?=x)"}}}}}
        when: {match: {$ref: "https://elsewhere.example/s.json"}}
        unless: {match: {$schema: "urn:draft-03"}}
        schema:
          properties:
            list:
              items:
                anyOf:
                  - type: string
                  - {minLength: -1}
`)), [
    'g.yaml:10:28: extensions.p.methods["a.b"].params cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values',
    'g.yaml:13:61: extensions.p.request[0].select.part.match cannot be used: /properties/a~1b/pattern: the pattern "(?=x)" cannot run in linear time: look-ahead (?= is not supported',
    'g.yaml:14:30: extensions.p.request[0].when.match cannot be used: /$ref: the reference "https://elsewhere.example/s.json" leads out of the schema; nothing is fetched, so copy what it names into "$defs"',
    'g.yaml:15:35: extensions.p.request[0].unless.match cannot be used: /$schema: the "$schema" is not one of draft-07, 2019-09 and 2020-12',
    'g.yaml:22:33: extensions.p.request[0].schema cannot be used: /properties/list/items/anyOf/1/minLength: not valid against its meta-schema: must be >= 0'
  ])
})

t.test('a schema of an agent\'s overlay', async t => {
  const text = 'version: 1\nagents:\n  - name: a\n    upstream: {url: "https://127.0.0.1:1"}\n    extensions: [{object-schemas: {methods: {m: {params: {type: 5}}}}}]\n'
  t.same(lines(text), ['g.yaml:5:65: agents[0].extensions[0].object-schemas.methods.m.params cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values'])
})

t.test('what is wrong in other ways is said once, and all of it', async t => {
  t.same(lines(policy(`    request:
      - id: r
        select: {part: {match: []}}
        schema: {fromCard: [nowhere]}
      - 7
      - {id: s, select: {part: {}}, schema: {type: 5}}
    methods: [x]
`)), [
    'g.yaml:11:32: extensions.p.request[0].select.part.match must be a mapping or true or false, not a list',
    'g.yaml:12:29: extensions.p.request[0].schema.fromCard[0] must be a JSON Pointer into the card (it starts with "/"; "~" is written "~0")',
    'g.yaml:13:9: extensions.p.request[1] must be a mapping, not the number 7',
    'g.yaml:14:52: extensions.p.request[2].schema cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values',
    'g.yaml:15:14: extensions.p.methods must be a mapping, not a list'
  ])
})

t.test('certificates that TLS cannot use: at the setting', async t => {
  const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const directory = t.testdir({ 'ca.pem': 'nothing', 'cert.pem': rootCertificates[0] ?? '', 'key.pem': key })
  const tls = (settings: string): string => `version: 1\nagents:\n  - name: a\n    upstream: {url: "https://h", tls: {${settings}}}\n`
  const [one, ...more] = lines(tls('ca: ca.pem'), directory)
  t.match(one, /^g\.yaml:4:44: agents\[0\]\.upstream\.tls\.ca cannot be used: .*PEM.* \(a PEM file of certificates\)$/)
  t.same(more, [])
  t.same(lines(tls('cert: cert.pem, key: key.pem'), directory), ['g.yaml:4:61: agents[0].upstream.tls.key cannot be used: the key is not that of the certificate (the PEM file of the private key that belongs to cert)'])
  t.match(lines(tls('cert: ca.pem, key: key.pem'), directory), [/^g\.yaml:4:46: agents\[0\]\.upstream\.tls\.cert cannot be used: .* \(a PEM file of one certificate and those above it\)$/])
  t.same(lines(tls('ca: missing.pem'), directory), ['g.yaml:4:44: agents[0].upstream.tls.ca: cannot read "missing.pem": no such file (paths are relative to the configuration file)'])
  t.same(lines(tls('ca: 7'), directory), ['g.yaml:4:44: agents[0].upstream.tls.ca must be a string or null, not the number 7'])
})

t.test('commands read it so, with and without a file', async t => {
  const directory = t.testdir({ 'g.yaml': policy('    request: [{id: r, select: {part: {}}, schema: {type: 5}}]\n') })
  t.match(readConfiguration({ file: `${directory}/g.yaml`, env: {}, overrides: {} }), { ok: false, problems: [{ line: 9, col: 58 }] })
  t.match(readConfiguration({ file: null, env: {}, overrides: { upstream: 'http://h' } }), { ok: true })
})
