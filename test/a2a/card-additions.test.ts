import t from 'tap'
import { amendCard, replacedByAdditions, withAdditions } from '#a2a/card/additions.js'
import type { CardRequirement } from '#a2a/card/additions.js'

const extensions = (list: unknown, ...advertise: { uri: string; required?: boolean; description?: string; params?: object }[]): unknown =>
  (
    withAdditions({ name: 'a', capabilities: { streaming: true, extensions: list } }, { advertise: advertise as never, schemas: {} }) as {
      capabilities: { extensions: unknown }
    }
  ).capabilities.extensions

t.test('an extension is added to those of the card, whatever the card has there', async t => {
  t.same(extensions([{ uri: 'urn:a' }], { uri: 'urn:b', required: true, params: { x: 1 } }), [
    { uri: 'urn:a' },
    { uri: 'urn:b', required: true, params: { x: 1 } }
  ])
  for (const odd of [undefined, null, {}, 'x']) t.same(extensions(odd, { uri: 'urn:b' }), [{ uri: 'urn:b' }])
  t.same(withAdditions({ capabilities: 7 }, { advertise: [{ uri: 'urn:b' }], schemas: {} }), {
    capabilities: { extensions: [{ uri: 'urn:b' }] }
  })
})

t.test('a declared extension is merged: added keys win, required if either entry requires it', async t => {
  const own = { uri: 'urn:a', description: 'own', params: { x: 1 }, more: true }
  t.same(extensions([{ uri: 'urn:0' }, own], { uri: 'urn:a', params: { y: 2 } }), [{ uri: 'urn:0' }, { ...own, params: { y: 2 } }])
  const both = (a: unknown, b: boolean | undefined): unknown =>
    (
      extensions([{ uri: 'urn:a', ...(a === undefined ? {} : { required: a }) }], {
        uri: 'urn:a',
        ...(b === undefined ? {} : { required: b })
      }) as [{ required?: unknown }]
    )[0].required
  t.same(
    [
      both(undefined, undefined),
      both(undefined, true),
      both(false, true),
      both(null, true),
      both(true, false),
      both('true', false),
      both(true, undefined),
      both(false, false)
    ],
    [undefined, true, true, true, true, 'true', true, false]
  )
})

t.test('schemas are added by name, replace those of the card, and the gateway reports this', async t => {
  const add = { advertise: [], schemas: { a: { type: 'string' } } }
  t.same(withAdditions({ x: 1 }, add), { x: 1, schemas: { a: { type: 'string' } } })
  t.same(withAdditions({ schemas: { a: true, b: false } }, add), { schemas: { a: { type: 'string' }, b: false } })
  t.same(replacedByAdditions({ schemas: { a: true, b: false } }, add), [
    'the card\'s own schema "a" is replaced by that of card.schemas in the configuration'
  ])
  t.same(replacedByAdditions({ schemas: { b: false } }, add), [])
  t.same(replacedByAdditions({}, add), [])
  t.match(replacedByAdditions({ schemas: [] }, add), [/not an object/])
})

t.test('without additions the card stays the same, and no card is changed in place', async t => {
  const card = Object.freeze({ capabilities: Object.freeze({ extensions: Object.freeze([]) }), schemas: Object.freeze({}) })
  t.equal(withAdditions(card, { advertise: [], schemas: {} }), card)
  t.doesNotThrow(() => withAdditions(card, { advertise: [{ uri: 'urn:a' }], schemas: { a: true } }))
})

t.test('requirements of policies: the card says what is enforced, and each change is listed', async t => {
  const demand = (required: boolean, advertised: string | null, ...uris: string[]): CardRequirement => ({
    required,
    advertised,
    appliesTo: declared => uris.filter(uri => declared.has(uri)),
    by: 'policy "p"'
  })
  const amended = (raw: object, ...requirements: CardRequirement[]): [unknown, string[]] => {
    const { card, changes } = amendCard(raw as never, { advertise: [], schemas: {}, requirements })
    return [card, changes.map(({ part, name, change, by }) => `${part} ${name} ${change} ${by}`)]
  }
  const declaring = (...list: unknown[]): object => ({ capabilities: { streaming: true, extensions: list } })
  const always = demand(true, 'urn:a', 'urn:a')
  t.same(amended(declaring({ uri: 'urn:a', x: 1 }, 7), always), [
    declaring({ uri: 'urn:a', x: 1, required: true }, 7),
    ['extension urn:a required policy "p"']
  ])
  t.same(amended(declaring({ uri: 'urn:b' }), always), [
    declaring({ uri: 'urn:b' }, { uri: 'urn:a', required: true }),
    ['extension urn:a added policy "p"']
  ])
  for (const odd of [{}, { capabilities: 7 }, { capabilities: { extensions: {} } }]) {
    t.match(amended(odd, always), [{ capabilities: { extensions: [{ uri: 'urn:a', required: true }] } }, [/added/]])
  }
  t.same(amended({ extensions: [{ uri: 'urn:a' }] }, always), [
    { extensions: [{ uri: 'urn:a', required: true }] },
    ['extension urn:a required policy "p"']
  ], 'at the root')
  const never = demand(false, null, 'urn:a', 'urn:b')
  t.same(amended(declaring({ uri: 'urn:a', required: 'yes' }, { uri: 'urn:a', required: true }, { uri: 'urn:b' }), never), [
    declaring({ uri: 'urn:a', required: false }, { uri: 'urn:a', required: false }, { uri: 'urn:b' }),
    ['extension urn:a optional policy "p"']
  ], 'each entry of the extension')
  const card = declaring({ uri: 'urn:a', required: true })
  t.equal(amended(card, always)[0], card, 'the same card when nothing differs')
  t.equal(amended(card, demand(false, null))[0], card)
})
