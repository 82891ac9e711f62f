/** `__proto__`, `constructor` and similar names are ordinary names: in data, in schemas, as names of schemas and of extensions. */
import t from 'tap'
import {
  bodyOf,
  dataPart,
  dataPathOf,
  FORMS,
  forwarded,
  GOOD,
  messageOf,
  nameOf,
  refused,
  schemaCard,
  sending,
  target,
  textPart
} from './kit.js'

const NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__']
const escaped = (text: string): string => text.replace(/[[\].$]/g, '\\$&')
/** A card written as text: in a literal `__proto__` would set the prototype. */
const cardWith = (schemas: string) => (url: string) => schemaCard(url, { schemas: JSON.parse(schemas) as unknown })

t.test('as keys of the data they are properties the schema does not allow', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    for (const name of NAMES) {
      const body = bodyOf(form, messageOf(form, [dataPart(form, `{"a":"x","b":"y","${name}":{"a":"x"}}`)]))
      refused(
        t,
        one,
        await one.send(sending(form, body)),
        'EXTENSION_DATA_INVALID',
        new RegExp(`${escaped(`${dataPathOf(form)}.${name}`)} is not a property the schema allows`),
        `${nameOf(form)}, ${name}`
      )
    }
    const inherited = bodyOf(form, messageOf(form, [dataPart(form, '{"__proto__":{"a":"x","b":"y"}}')]))
    refused(
      t,
      one,
      await one.send(sending(form, inherited)),
      'EXTENSION_DATA_INVALID',
      new RegExp(`${escaped(dataPathOf(form))}\\.a is required`),
      `${nameOf(form)}, nothing is inherited`
    )
  }
  t.equal(({} as Record<string, unknown>).a, undefined, 'Object.prototype is untouched')
})

t.test('as envelope and message members they change nothing', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    for (const name of NAMES) {
      const hostile = `,"${name}":{"message":{},"parts":[],"taskId":"t","mediaType":"x","method":"GetTask"}`
      const body = bodyOf(form, messageOf(form, [dataPart(form, GOOD).replace(/\}$/, `${hostile}}`)], hostile), hostile)
      forwarded(t, one, await one.send(sending(form, body)), body, `${nameOf(form)}, ${name}`)
    }
    const tagged = bodyOf(
      form,
      messageOf(form, [
        `{"data":${form.binding === 'HTTP+JSON' && form.version === '0.3' ? '{"data":{}}' : '{}'},"metadata":{"__proto__":{"mimeType":"application/json;schema=fightComparison"}}}`
      ])
    )
    forwarded(t, one, await one.send(sending(form, tagged)), tagged, `${nameOf(form)}, no tag is inherited`)
  }
})

t.test('JSON-RPC: a method of that name does not exist', async (t) => {
  const one = await target(t)
  for (const form of FORMS.filter(({ binding }) => binding === 'JSONRPC')) {
    for (const name of NAMES) {
      refused(
        t,
        one,
        await one.send(sending(form, `{"jsonrpc":"2.0","id":1,"method":"${name}","params":{}}`)),
        'METHOD_NOT_FOUND',
        /not an operation of A2A/,
        `${nameOf(form)}, ${name}`
      )
    }
  }
})

t.test('as names of undeclared schemas they are undeclared', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    for (const name of NAMES) {
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, GOOD, `application/json;schema=${name}`)])))),
        'CONTENT_TYPE_NOT_SUPPORTED',
        /does not declare; the card declares fightComparison/,
        `${nameOf(form)}, ${name}`
      )
    }
  }
})

t.test('as names of declared schemas they are found', async (t) => {
  const schema = JSON.stringify({ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] })
  const one = await target(t, { card: cardWith(`{${NAMES.map((name) => `"${name}":${schema}`).join(',')}}`) })
  for (const form of FORMS) {
    for (const name of NAMES) {
      const tag = `application/json;schema=${name}`
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, '{"a":1}', tag)])))),
        'EXTENSION_DATA_INVALID',
        /\.a must be a string/,
        `${nameOf(form)}, ${name}`
      )
      const good = bodyOf(form, messageOf(form, [dataPart(form, '{"a":"x"}', tag)]))
      forwarded(t, one, await one.send(sending(form, good)), good, `${nameOf(form)}, ${name}`)
    }
  }
})

t.test('as properties of a schema they are required of the data itself', async (t) => {
  const one = await target(t, { card: cardWith(`{"fightComparison":{"type":"object","required":${JSON.stringify(NAMES)}}}`) })
  const [form] = FORMS as [typeof FORMS[number]]
  refused(
    t,
    one,
    await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, '{}')])))),
    'EXTENSION_DATA_INVALID',
    /data\.__proto__ is required .*data\.constructor is required .* 4 more problems/,
    'nothing is inherited'
  )
  const good = bodyOf(form, messageOf(form, [dataPart(form, `{${NAMES.map((name) => `"${name}":1`).join(',')}}`)]))
  forwarded(t, one, await one.send(sending(form, good)), good, 'own members count')
})

t.test('a schema\'s property of such a name is enforced', async (t) => {
  const names = NAMES.filter((name) => name !== '__proto__')
  const one = await target(t, {
    card: cardWith(`{"fightComparison":{"type":"object","properties":{${names.map(name => `"${name}":{"type":"string"}`).join(',')}}}}`)
  })
  for (const form of FORMS) {
    for (const name of names) {
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, `{"${name}":5}`)])))),
        'EXTENSION_DATA_INVALID',
        new RegExp(`\\.${name} must be a string`),
        `${nameOf(form)}, ${name}`
      )
    }
    forwarded(t, one, await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, '{}')])))), null, nameOf(form))
  }
})

t.test('a schema\'s property `__proto__` is enforced, or makes the schema unusable', async (t) => {
  const one = await target(t, { card: cardWith('{"fightComparison":{"type":"object","properties":{"__proto__":{"type":"string"}}}}') })
  for (const form of FORMS) {
    const answer = await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, '{"__proto__":5}')]))))
    t.match(String(answer.headers['gateway-decision']), /^reject/)
    t.equal(one.agent.received.length, 0, nameOf(form))
  }
})

t.test('const and enum compare such members as data', async (t) => {
  const value = '{"constructor":1,"valueOf":"x","toString":2,"__proto__":3}'
  const one = await target(t, { card: cardWith(`{"fightComparison":{"properties":{"x":{"const":${value}},"y":{"enum":[${value}]}}}}`) })
  const [form] = FORMS as [typeof FORMS[number]]
  for (const bad of [
    '{"constructor":2}',
    '{}',
    '{"valueOf":null}',
    '{"toString":null}',
    '{"constructor":1,"valueOf":"y","toString":2,"__proto__":3}',
    '{"constructor":1,"valueOf":"x","toString":2,"__proto__":4}'
  ]) {
    for (const key of ['x', 'y']) {
      const answer = await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, `{"${key}":${bad}}`)]))))
      t.match(String(answer.headers['gateway-decision']), /^reject/, `${key}: ${bad}`)
      t.equal(one.agent.received.length, 0)
    }
  }
})

t.test('a required extension of such a name is required', async (t) => {
  const one = await target(t, { card: (url) => schemaCard(url, {}, NAMES.map((uri) => ({ uri, required: true }))) })
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    refused(t, one, await one.send(sending(form, body)), 'EXTENSION_SUPPORT_REQUIRED', /__proto__, constructor, prototype/, nameOf(form))
    forwarded(t, one, await one.send(sending(form, body, { headers: [['A2A-Extensions', NAMES.join(',')]] })), body, nameOf(form))
  }
})
