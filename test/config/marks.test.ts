/** Durations, sizes and paths are converted where the schema marks them, and nowhere else. */
import t from 'tap'
import { convert, namedFiles } from '#config/marks.js'

const VALUE = {
  limits: { body: '5MiB', requestTimeout: '2m' },
  server: { stateDir: 'state', tls: { cert: 'c.pem', key: '/keys/k.pem', clientCa: null } },
  agents: [{ name: 'a', upstream: { timeouts: { connect: '3s' } }, card: { schemas: { s: { default: '2m', file: 'x' } } }, access: { delegation: { maxTime: '5s' } } }],
  extensions: { p: { request: [{ notOlderThan: { age: '5m' } }], inject: [{ fromSecret: { file: 'secret' } }] } },
  unknown: { file: 'x', body: '5MiB' }
}

t.test('marks are applied', async t => {
  t.match(convert(VALUE, '/base'), {
    limits: { body: 5 * 1024 ** 2, requestTimeout: 120_000 },
    server: { stateDir: '/base/state', tls: { cert: '/base/c.pem', key: '/keys/k.pem', clientCa: null } },
    agents: [{ upstream: { timeouts: { connect: 3_000 } }, access: { delegation: { maxTime: 5_000 } } }]
  })
})

t.test('policies, JSON Schemas and unknown keys stay the same objects', async t => {
  const converted = convert(VALUE, '/base') as typeof VALUE
  t.equal(converted.extensions.p, VALUE.extensions.p)
  t.equal(converted.agents[0]?.card.schemas.s, VALUE.agents[0]?.card.schemas.s)
  t.equal(converted.unknown, VALUE.unknown)
})

t.test('files are listed where the gateway reads them with the configuration, also in a wrong value', async t => {
  t.same(namedFiles(VALUE, '/base').sort(), ['/base/c.pem', '/base/secret', '/keys/k.pem'])
  t.same(namedFiles({ server: [1], agents: 'x', identity: { sources: 7 }, delegation: { key: { file: '' } } }, '/base'), [])
  t.same(namedFiles(null, '/base'), [])
})

t.test('aliases of YAML that repeat each other are not expanded', async t => {
  let value: unknown = { file: 'x' }
  for (let i = 0; i < 60; i++) value = { a: value, b: value }
  t.same(namedFiles({ unknown: value, agents: [{ card: { schemas: { s: value } } }] }, '/base'), [])
})
