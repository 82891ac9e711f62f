/** Objects that two agents interpret differently: two oneof members, a contradictory kind, two names for one message. */
import t from 'tap'
import { BAD, bodyOf, dataPart, FORMS, forwarded, GOOD, messageOf, nameOf, refused, sending, TAG, target, textPart } from './kit.js'

const [rpc1, rpc03, rest1, rest03] = FORMS as [typeof FORMS[number], typeof FORMS[number], typeof FORMS[number], typeof FORMS[number]]

t.test('1.0: two members of a part\'s oneof are rejected', async (t) => {
  const one = await target(t)
  for (const form of [rpc1, rest1]) {
    for (const other of ['text', 'raw', 'url']) {
      for (const part of [`{"${other}":"eA==","data":${BAD}}`, `{"data":${BAD},"${other}":"eA==","mediaType":"${TAG}"}`]) {
        refused(
          t,
          one,
          await one.send(sending(form, bodyOf(form, messageOf(form, [part])))),
          'INVALID_PARAMS',
          /parts\[0\] contains both "(?:text|raw|url|data)" and "(?:raw|url|data)"/,
          `${nameOf(form)}, ${part}`
        )
      }
    }
    const empty = `{"text":"","data":${BAD},"mediaType":"${TAG}"}`
    refused(
      t,
      one,
      await one.send(sending(form, bodyOf(form, messageOf(form, [empty])))),
      'INVALID_PARAMS',
      /contains both "text" and "data"/,
      'an empty text is a text'
    )
  }
})

t.test('1.0: a null next to the data hides nothing', async (t) => {
  const one = await target(t)
  for (const form of [rpc1, rest1]) {
    refused(
      t,
      one,
      await one.send(sending(form, bodyOf(form, messageOf(form, [`{"text":null,"data":${BAD},"mediaType":"${TAG}"}`])))),
      'EXTENSION_DATA_INVALID',
      /parts\[0\]\.data\.b/,
      'text: null'
    )
    refused(
      t,
      one,
      await one.send(sending(form, bodyOf(form, messageOf(form, [`{"data":null,"mediaType":"${TAG}"}`])))),
      'EXTENSION_DATA_INVALID',
      /parts\[0\]\.data /,
      'data: null'
    )
    refused(
      t,
      one,
      await one.send(sending(form, bodyOf(form, messageOf(form, [`{"data":[${GOOD}],"mediaType":"${TAG}"}`])))),
      'EXTENSION_DATA_INVALID',
      /parts\[0\]\.data must be an object/,
      'data in an array'
    )
    refused(
      t,
      one,
      await one.send(sending(form, bodyOf(form, messageOf(form, [`{"data":{"data":${GOOD}},"mediaType":"${TAG}"}`])))),
      'EXTENSION_DATA_INVALID',
      /parts\[0\]\.data\.a is required/,
      '0.3 nesting means nothing in 1.0'
    )
  }
})

t.test('1.0: `kind` does not count', async (t) => {
  const one = await target(t)
  for (const form of [rpc1, rest1]) {
    refused(
      t,
      one,
      await one.send(sending(form, bodyOf(form, messageOf(form, [`{"kind":"text","data":${BAD},"mediaType":"${TAG}"}`])))),
      'EXTENSION_DATA_INVALID',
      /parts\[0\]\.data\.b/,
      nameOf(form)
    )
  }
})

t.test('0.3: a kind that contradicts the member is rejected', async (t) => {
  const one = await target(t)
  const parts = [
    `{"kind":"text","data":${BAD},"metadata":{"mimeType":"${TAG}"}}`,
    `{"kind":"file","data":${BAD},"metadata":{"mimeType":"${TAG}"}}`,
    '{"kind":"data","text":"hello"}',
    '{"kind":"text","file":{"bytes":"eA=="}}'
  ]
  for (const form of [rpc03, rest03]) {
    for (const part of parts) {
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [part])))),
        'INVALID_PARAMS',
        /\[0\] has kind "(?:text|file|data)" but contains "(?:text|file|data)"/,
        `${nameOf(form)}, ${part}`
      )
    }
    for (const part of [
      `{"kind":"data","text":"x","data":${BAD}}`,
      `{"kind":"text","text":"x","data":${BAD}}`,
      `{"text":"x","data":${BAD}}`,
      `{"file":{},"data":${BAD}}`
    ]) {
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [part])))),
        'INVALID_PARAMS',
        /\[0\] contains both/,
        `${nameOf(form)}, ${part}`
      )
    }
  }
})

t.test('0.3: an unknown kind, or none, does not hide data', async (t) => {
  const one = await target(t)
  for (const kind of ['', '"kind":"DATA",', '"kind":"json",', '"kind":null,']) {
    const part = `{${kind}"data":${BAD},"metadata":{"mimeType":"${TAG}"}}`
    refused(
      t,
      one,
      await one.send(sending(rpc03, bodyOf(rpc03, messageOf(rpc03, [part])))),
      'EXTENSION_DATA_INVALID',
      /parts\[0\]\.data .*without kind "data"/,
      part
    )
  }
})

t.test('0.3 HTTP+JSON: `request` is another name for `message`', async (t) => {
  const one = await target(t)
  const hostile = messageOf(rest03, [dataPart(rest03, BAD)])
  const harmless = messageOf(rest03, [textPart(rest03)])
  for (const body of [
    `{"message":${harmless},"request":${hostile}}`,
    `{"request":${hostile},"message":${harmless}}`,
    `{"message":null,"request":${hostile}}`
  ]) {
    refused(t, one, await one.send(sending(rest03, body)), 'INVALID_PARAMS', /request occurs together with "message"/, body.slice(0, 20))
  }
  refused(
    t,
    one,
    await one.send(sending(rest03, `{"request":${hostile}}`)),
    'EXTENSION_DATA_INVALID',
    /^request\.content\[0\]\.data\.data\.b/,
    'request alone is read'
  )
})

t.test('0.3: `content` and `parts` are two names of one list', async (t) => {
  const one = await target(t)
  for (const form of [rpc03, rest03]) {
    for (const extra of [`,"content":[${dataPart(rest03, BAD)}]`, `,"parts":[${dataPart(rpc03, BAD)}]`]) {
      if (messageOf(form, []).includes(extra.slice(1, 8))) continue
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [textPart(form)], extra)))),
        'INVALID_PARAMS',
        /content occurs together with "parts"/,
        `${nameOf(form)}${extra.slice(0, 10)}`
      )
    }
  }
  const other = `{"kind":"message","messageId":"m","role":"user","parts":[${dataPart(rpc03, BAD)}]}`
  refused(
    t,
    one,
    await one.send(sending(rest03, `{"message":${other}}`)),
    'EXTENSION_DATA_INVALID',
    /^message\.parts\[0\]\.data\.b/,
    'the JSON-RPC form over HTTP+JSON is read'
  )
  const nested = `{"messageId":"m","role":"ROLE_USER","content":[${dataPart(rest03, BAD)}]}`
  refused(
    t,
    one,
    await one.send(sending(rpc03, bodyOf(rpc03, nested))),
    'EXTENSION_DATA_INVALID',
    /^params\.message\.content\[0\]\.data\.data\.b/,
    'and the other way round'
  )
})

t.test('1.0: `content` and `request` are ordinary members; their content is not a message', async (t) => {
  const one = await target(t)
  for (const form of [rpc1, rest1]) {
    const body = bodyOf(form, messageOf(form, [textPart(form)], `,"content":[${dataPart(form, GOOD)}]`))
    forwarded(t, one, await one.send(sending(form, body)), body, nameOf(form))
  }
})
