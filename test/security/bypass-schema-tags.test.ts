/** The tag that names a schema: all spellings, contradictory tags, and the part whose tag counts. */
import t from 'tap'
import {
  BAD,
  bodyOf,
  dataPart,
  dataPathOf,
  FORMS,
  forwarded,
  GOOD,
  messageOf,
  nameOf,
  refusalIn,
  refused,
  sending,
  TAG,
  target,
  textPart
} from './kit.js'

const V1 = FORMS.filter(({ version }) => version === '1.0')
const RPC03 = { binding: 'JSONRPC', version: '0.3' } as const

t.test('other spellings of the tag name the same schema', async (t) => {
  const one = await target(t)
  const tags = [
    'APPLICATION/JSON; Schema="fightComparison"',
    'application/json;SCHEMA=fightComparison',
    'Application/JSON\t;\tschema=fightComparison',
    'application/json;schema="fight\\Comparison"',
    'application/json; charset=utf-8; schema=fightComparison',
    'application/json;;schema=fightComparison;',
    'application/json;schema=fightComparison;profile="a;b,c"'
  ]
  for (const form of FORMS) {
    for (const tag of tags) {
      const answer = await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, BAD, tag)]))))
      t.same(refusalIn(answer).fields, [`${dataPathOf(form)}.b`])
      refused(t, one, answer, 'EXTENSION_DATA_INVALID', /\.b must be a string/, `${nameOf(form)}, ${tag}`)
      const good = bodyOf(form, messageOf(form, [dataPart(form, GOOD, tag)]))
      forwarded(t, one, await one.send(sending(form, good)), good, `${nameOf(form)}, ${tag}`)
    }
  }
})

t.test('names are compared as they are written', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    for (const name of [
      'fightcomparison',
      'FIGHTCOMPARISON',
      'fightComparison.',
      'fight%43omparison',
      '"fightComparison "',
      '""',
      '"*"',
      '*',
      'other',
      '"../fightComparison"',
      '"fightComparison/properties/a"',
      '"~0"'
    ]) {
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, GOOD, `application/json;schema=${name}`)])))),
        'CONTENT_TYPE_NOT_SUPPORTED',
        /names a schema that the agent's card does not declare; the card declares fightComparison/,
        `${nameOf(form)}, ${name}`
      )
    }
  }
})

t.test('a tag that only some parsers read is rejected', async (t) => {
  const one = await target(t)
  const tags = [
    'application/json;schema=fightComparison;schema=other',
    'application/json;schema=fightComparison;SCHEMA=fightComparison',
    'application/json;schema = fightComparison',
    'application/json; schema= fightComparison',
    'application/json;schema=',
    'application/json;schema',
    'application/json;schema="fightComparison',
    'application/json;schema=fightComparison garbage',
    ' application/json;schema=fightComparison',
    'application/json;schema=fightComparison ',
    '\\ufeffapplication/json;schema=fightComparison',
    'application/json,schema=fightComparison',
    'application/json schema=fightComparison',
    "application/json;schema=fight'Comparison;x",
    'application/json;schema=fightComparison\\u0000',
    'application/json:schema=fightComparison'
  ]
  for (const form of FORMS) {
    for (const tag of tags) {
      const body = bodyOf(form, messageOf(form, [dataPart(form, GOOD, 'TAG').replace('TAG', tag.replaceAll('"', '\\"'))]))
      refused(
        t,
        one,
        await one.send(sending(form, body)),
        'EXTENSION_DATA_INVALID',
        /is not a well-formed media type/,
        `${nameOf(form)}, ${tag}`
      )
    }
  }
})

t.test('tags that disagree are rejected, tags that agree count as one', async (t) => {
  const one = await target(t)
  const quoted = TAG.replace('fightComparison', '\\"fightComparison\\"')
  for (const form of V1) {
    for (const [part, path] of [
      [`{"data":${GOOD},"mediaType":"text/plain","metadata":{"mimeType":"${TAG}"}}`, 'metadata.mimeType'],
      [`{"data":${GOOD},"mediaType":"${TAG}","metadata":{"mediaType":"application/json"}}`, 'metadata.mediaType'],
      [`{"data":${GOOD},"mediaType":"${TAG}","metadata":{"mediaType":"${TAG};x=1"}}`, 'metadata.mediaType'],
      [`{"data":${GOOD},"metadata":{"mediaType":"application/json;schema=other","mimeType":"${TAG}"}}`, 'metadata.mimeType']
    ] as const) {
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [part])))),
        'EXTENSION_DATA_INVALID',
        new RegExp(`parts\\[0\\]\\.${path.replace('.', '\\.')} state different media types`),
        `${nameOf(form)}, ${part}`
      )
    }
    const agreeing = `{"data":${BAD},"mediaType":"${TAG}","metadata":{"mediaType":"${quoted}","mimeType":"APPLICATION/JSON; schema=fightComparison"}}`
    refused(
      t,
      one,
      await one.send(sending(form, bodyOf(form, messageOf(form, [agreeing])))),
      'EXTENSION_DATA_INVALID',
      /parts\[0\]\.data\.b must be a string/,
      `${nameOf(form)}, all three agree`
    )
    for (const slot of ['mediaType', 'mimeType']) {
      const part = `{"data":${BAD},"metadata":{"${slot}":"${TAG}"}}`
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [part])))),
        'EXTENSION_DATA_INVALID',
        /parts\[0\]\.data\.b/,
        `${nameOf(form)}, only metadata.${slot}`
      )
    }
  }
  const disagreeing = `{"kind":"data","data":${GOOD},"mediaType":"text/plain","metadata":{"mimeType":"${TAG}"}}`
  refused(
    t,
    one,
    await one.send(sending(RPC03, bodyOf(RPC03, messageOf(RPC03, [disagreeing])))),
    'EXTENSION_DATA_INVALID',
    /state different media types/,
    '0.3'
  )
  const only = `{"kind":"data","data":${BAD},"mediaType":"${TAG}"}`
  refused(
    t,
    one,
    await one.send(sending(RPC03, bodyOf(RPC03, messageOf(RPC03, [only])))),
    'EXTENSION_DATA_INVALID',
    /parts\[0\]\.data\.b/,
    '0.3, mediaType of the part'
  )
})

t.test('the first tagged part counts, whatever comes before it', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const before = [
      textPart(form),
      dataPart(form, '{"any":"thing"}', 'application/json'),
      dataPart(form, '[1]', 'application/xml'),
      textPart(form)
    ].map(part => (form.version === '0.3' ? part.replace('[1]', '{}') : part))
    const answer = await one.send(sending(form, bodyOf(form, messageOf(form, [...before, dataPart(form, BAD), dataPart(form, GOOD)]))))
    t.same(refusalIn(answer).fields, [`${dataPathOf(form, 4)}.b`])
    refused(t, one, answer, 'EXTENSION_DATA_INVALID', /\[4\]/, nameOf(form))
    const later = bodyOf(
      form,
      messageOf(form, [dataPart(form, GOOD), dataPart(form, BAD), dataPart(form, GOOD, 'application/json;schema=other')])
    )
    forwarded(t, one, await one.send(sending(form, later)), later, `${nameOf(form)}: later ones are forwarded unread, object-schemas §3`)
  }
})

// An agent that compares `application/json;schema=` as text (the specification's own words) does not flag the first part, and takes the
// second.
t.test('a first part that only a lenient agent flags does not hide the next one', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const others = [
      'application/json; schema=fightComparison',
      'application/json;schema="fightComparison"',
      'APPLICATION/JSON;schema=fightComparison',
      'application/json;x=1;schema=fightComparison'
    ]
    for (const tag of others) {
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, GOOD, tag), dataPart(form, BAD)])))),
        'EXTENSION_DATA_INVALID',
        /\[1\]/,
        `${nameOf(form)}, ${tag}`
      )
    }
  }
})

t.test('a first part that is tagged in a place not every agent reads does not hide the next one', async (t) => {
  const one = await target(t)
  for (const form of V1) {
    const elsewhere = `{"data":${GOOD},"metadata":{"mimeType":"${TAG}"}}`
    refused(
      t,
      one,
      await one.send(sending(form, bodyOf(form, messageOf(form, [elsewhere, dataPart(form, BAD)])))),
      'EXTENSION_DATA_INVALID',
      /\[1\]/,
      `${nameOf(form)}, tagged in metadata only`
    )
  }
})

t.test('a task id of any type and spelling is a task id', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    for (const id of ['"t"', '0', '7', 'true', 'false', '{}', '[]', '" "']) {
      for (const data of [GOOD, BAD]) {
        const answer = await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, data)], `,"taskId":${id}`))))
        if (id.startsWith('"')) {
          refused(t, one, answer, 'STRUCTURED_INPUT_TASK_RUNNING', /leave out taskId to start a new task/, `${nameOf(form)}, ${id}`)
        } else {
          // Some agents make a text of it, others take it for absent.
          refused(t, one, answer, 'INVALID_PARAMS', /taskId must be a string/, `${nameOf(form)}, ${id}`)
        }
      }
    }
    for (const id of ['""', 'null']) {
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, BAD)], `,"taskId":${id}`)))),
        'EXTENSION_DATA_INVALID',
        /\.b must be a string/,
        `${nameOf(form)}, ${id} is none`
      )
    }
  }
})

t.test('messages and parts of the wrong type hide no data', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    for (const part of ['null', '7', '"x"', '[]', `[${dataPart(form, BAD)}]`]) {
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [part, dataPart(form, BAD)])))),
        'INVALID_PARAMS',
        /\[0\] must be an object/,
        `${nameOf(form)}, ${part} first`
      )
    }
  }
})
