import t from 'tap'
import { ExtendedCardNames } from '#a2a/card/extended-card-names.js'
import { schemasThatDiffer, unionCard } from '#a2a/card/union.js'

t.test('the union has what either card declares; the public card alone decides about interfaces', async t => {
  const raw = {
    name: 'public',
    url: 'http://a/',
    signatures: [1],
    supportedInterfaces: [{ url: 'http://a/' }],
    schemas: { a: 1, b: 1 },
    'x-own': 1,
    capabilities: { streaming: true, extensions: [{ uri: 'urn:a', required: true, params: { x: 1, schemas: { p: 1 } } }, { uri: 'urn:b' }] },
    defaultInputModes: ['text/plain'],
    skills: [{ id: 's', name: 'old' }, { id: 't' }]
  }
  const extended = {
    name: 'extended',
    url: 'http://b/',
    signatures: [2],
    preferredTransport: 'GRPC',
    additionalInterfaces: [{ url: 'http://b/' }],
    schemas: { b: 2, c: 2 },
    'x-more': 2,
    extensions: [{ uri: 'urn:root' }],
    capabilities: { streaming: false, extensions: [{ uri: 'urn:a', params: { y: 2, schemas: { q: 2 } } }, { uri: 'urn:b', required: true }, { uri: 'urn:c' }, 7] },
    defaultInputModes: ['text/plain', 'image/png'],
    skills: [{ id: 's', name: 'new' }, { id: 'u' }]
  }
  t.same(unionCard(raw, extended), {
    ...raw,
    'x-more': 2,
    schemas: { a: 1, b: 2, c: 2 },
    capabilities: {
      streaming: true,
      extensions: [
        { uri: 'urn:a', required: true, params: { x: 1, y: 2, schemas: { p: 1, q: 2 } } }, { uri: 'urn:b', required: true }, { uri: 'urn:c' }, 7
      ]
    },
    extensions: [{ uri: 'urn:root' }],
    defaultInputModes: ['text/plain', 'image/png'],
    skills: [{ id: 't' }, { id: 's', name: 'new' }, { id: 'u' }]
  })
  t.same(schemasThatDiffer(raw, extended), [
    'the extended card has another schema "b" than the card; the gateway applies that of the extended card'
  ])
  t.same(schemasThatDiffer(raw, { schemas: { a: 1 } }), [])
  t.same(unionCard({}, {}), { capabilities: {} })
  t.same(unionCard({ capabilities: 7, schemas: 7, skills: 7 }, { capabilities: { extensions: [{ uri: 'urn:a' }] }, schemas: {}, skills: [] }), {
    capabilities: { extensions: [{ uri: 'urn:a' }] }, schemas: 7, skills: 7
  })
})

t.test('seen names are bounded', async t => {
  const seen = new ExtendedCardNames()
  seen.learn({ capabilities: { extensions: [{ uri: 'urn:a', params: { schemas: { p: {} } } }] }, schemas: { r: {}, ['x'.repeat(301)]: {} } })
  t.same([seen.hasExtension('urn:a'), seen.hasSchema('p'), seen.hasSchema('r'), seen.hasSchema('x'.repeat(301))], [true, true, true, false])
  for (let card = 0; card < 10; card++) seen.learn({ schemas: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`${card}-${i}`, {}])) })
  t.same([seen.hasSchema('1-99'), seen.hasSchema('9-99')], [true, false])
  seen.learn({ capabilities: { extensions: {} }, schemas: 7 })
})
