/** The header list in every form that HTTP allows, and in forms that only resemble it. */
import t from 'tap'
import { rawExchange } from '../helpers/raw.js'
import type { Header } from './kit.js'
import { bodyOf, FORMS, forwarded, messageOf, nameOf, refusalIn, refused, REQUIRED, schemaCard, sending, target, textPart } from './kit.js'

const SECOND = 'https://example.com/ext/second/v1'
const OTHER = 'https://example.com/ext/other'
const demanding = {
  card: (url: string) => schemaCard(url, {}, [{ uri: REQUIRED, required: true }, { uri: SECOND, required: true }, { uri: OTHER }])
}
const lines = (...headers: Header[]) => ({ headers })

t.test('requests for both required extensions pass, one line each', async (t) => {
  const one = await target(t, demanding)
  const forms: [string, Header[]][] = [
    ['one line', [['A2A-Extensions', `${REQUIRED},${SECOND}`]]],
    [
      'two lines',
      [
        ['A2A-Extensions', REQUIRED],
        ['A2A-Extensions', SECOND]
      ]
    ],
    ['the second spelling only', [['X-A2A-Extensions', `${REQUIRED}, ${SECOND}`]]],
    [
      'one in each spelling',
      [
        ['X-A2A-Extensions', REQUIRED],
        ['A2A-Extensions', SECOND]
      ]
    ],
    ['upper case', [['A2A-EXTENSIONS', `${REQUIRED},${SECOND}`]]],
    ['lower case', [['x-a2a-extensions', `${REQUIRED},${SECOND}`]]],
    [
      'blanks, tabs, empty members and duplicates',
      [
        ['A2A-Extensions', `,, ${REQUIRED}\t,\t,${SECOND} , ${REQUIRED},`],
        ['a2a-extensions', ''],
        ['X-A2A-Extensions', SECOND]
      ]
    ]
  ]
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    const header = form.version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions'
    for (const [name, headers] of forms) {
      const answer = await one.send(sending(form, body, { headers }))
      const raw = one.agent.received[0]?.rawHeaders ?? []
      const sent = raw.flatMap((text, i) => i % 2 === 0 && /extensions$/i.test(text) ? [[text.toLowerCase(), raw[i + 1]]] : [])
      t.same([...sent].sort(), [[header, REQUIRED], [header, SECOND]], `${nameOf(form)}, ${name}: one list, in the spelling of the version`)
      forwarded(t, one, answer, body, `${nameOf(form)}, ${name}`)
    }
  }
})

t.test('requests that lack one are rejected, and the message names the missing ones', async (t) => {
  const one = await target(t, demanding)
  const forms: [string, Header[], missing: string[]][] = [
    ['no header', [], [REQUIRED, SECOND]],
    ['an empty one', [['A2A-Extensions', '']], [REQUIRED, SECOND]],
    ['only commas', [['A2A-Extensions', ' , ,,\t']], [REQUIRED, SECOND]],
    ['only one', [['A2A-Extensions', REQUIRED]], [SECOND]],
    ['another list in the second spelling', [['A2A-Extensions', REQUIRED], ['X-A2A-Extensions', OTHER]], [SECOND]],
    ['a trailing slash', [['A2A-Extensions', `${REQUIRED}/,${SECOND}`]], [REQUIRED]],
    ['upper case in the URI', [['A2A-Extensions', `${REQUIRED.replace('ext', 'EXT')},${SECOND}`]], [REQUIRED]],
    ['upper case in the host', [['A2A-Extensions', `${REQUIRED.replace('example', 'EXAMPLE')},${SECOND}`]], [REQUIRED]],
    ['a prefix', [['A2A-Extensions', `${REQUIRED.slice(0, -1)},${SECOND}`]], [REQUIRED]],
    ['a longer one', [['A2A-Extensions', `${REQUIRED}.1,${SECOND}`]], [REQUIRED]],
    ['percent-encoded', [['A2A-Extensions', `${REQUIRED.replace('/v1', '%2Fv1')},${SECOND}`]], [REQUIRED]],
    ['in quotes', [['A2A-Extensions', `"${REQUIRED}",${SECOND}`]], [REQUIRED]],
    ['with a parameter', [['A2A-Extensions', `${REQUIRED};q=1,${SECOND}`]], [REQUIRED]],
    ['separated by semicolons', [['A2A-Extensions', `${REQUIRED};${SECOND}`]], [REQUIRED, SECOND]],
    ['separated by blanks', [['A2A-Extensions', `${REQUIRED} ${SECOND}`]], [REQUIRED, SECOND]],
    ['with underscores in the name', [['A2A_Extensions', `${REQUIRED},${SECOND}`]], [REQUIRED, SECOND]],
    ['singular', [['A2A-Extension', `${REQUIRED},${SECOND}`]], [REQUIRED, SECOND]],
    ['`__proto__`', [['A2A-Extensions', '__proto__,constructor,toString']], [REQUIRED, SECOND]]
  ]
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    for (const [name, headers, missing] of forms) {
      const answer = await one.send(sending(form, body, { headers }))
      t.match(
        refusalIn(answer).message,
        `requires ${missing.length === 1 ? 'an extension' : 'extensions'} that the request does not activate: ${missing.join(', ')}.`,
        `${nameOf(form)}, ${name}: exactly the missing ones`
      )
      refused(
        t,
        one,
        answer,
        'EXTENSION_SUPPORT_REQUIRED',
        // The name that the client sends wins; without one, that of the version.
        new RegExp(form.version === '1.0' || headers.some(([sent]) => sent === 'A2A-Extensions') ? ' "A2A-Extensions: ' : ' "X-A2A-Extensions: '),
        `${nameOf(form)}, ${name}`
      )
    }
  }
})

t.test('a URI in another place does not request the extension', async (t) => {
  const one = await target(t, demanding)
  const list = JSON.stringify([REQUIRED, SECOND])
  for (const form of FORMS) {
    for (const [name, body] of [
      ['message.extensions', bodyOf(form, messageOf(form, [textPart(form)], `,"extensions":${list}`))],
      ['metadata of the message', bodyOf(form, messageOf(form, [textPart(form)], `,"metadata":{"${REQUIRED}":{},"${SECOND}":{}}`))],
      ['metadata of the request', bodyOf(form, messageOf(form, [textPart(form)]), `,"metadata":{"A2A-Extensions":${list}}`)],
      ['extensions of the request', bodyOf(form, messageOf(form, [textPart(form)]), `,"extensions":${list}`)]
    ] as const) {
      refused(t, one, await one.send(sending(form, body)), 'EXTENSION_SUPPORT_REQUIRED', new RegExp(SECOND), `${nameOf(form)}, ${name}`)
    }
    const plain = sending(form, bodyOf(form, messageOf(form, [textPart(form)])))
    for (const query of [`?A2A-Extensions=${REQUIRED},${SECOND}`, `?a2a-extensions=${encodeURIComponent(`${REQUIRED},${SECOND}`)}`]) {
      refused(
        t,
        one,
        await one.send({ ...plain, path: plain.path + query }),
        'EXTENSION_SUPPORT_REQUIRED',
        new RegExp(SECOND),
        `${nameOf(form)}, query`
      )
    }
  }
})

t.test('a trailer after the body does not request the extension', async (t) => {
  const one = await target(t, demanding)
  const body = '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}'
  const text = await rawExchange(
    one.gateway.url,
    'POST /rest/message:send HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n' +
      `Trailer: A2A-Extensions\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\nA2A-Extensions: ${REQUIRED},${SECOND}\r\n\r\n`
  )
  t.match(text, /EXTENSION_SUPPORT_REQUIRED/)
  t.equal(one.agent.received.length, 0)
})

t.test('a Connection header cannot remove the list between gateway and agent', async (t) => {
  const one = await target(t, demanding)
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    const answer = await one.send(
      sending(
        form,
        body,
        lines(['A2A-Extensions', `${REQUIRED},${SECOND}`], ['Connection', 'a2a-extensions, x-a2a-extensions, a2a-version, content-type'])
      )
    )
    const headers: Record<string, string | string[] | undefined> = one.agent.received[0]?.headers ?? {}
    t.match(String(headers[form.version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions']), SECOND)
    t.equal(headers['content-type'], 'application/json')
    forwarded(t, one, answer, body, nameOf(form))
  }
})

t.test('more URIs than the limit are rejected, the limit itself is not', async (t) => {
  const one = await target(t, { root: ['limits: {extensions: 8}'] })
  const uris = (count: number) => Array.from({ length: count }, (_, i) => `https://example.com/${i}`).join(',')
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    forwarded(t, one, await one.send(sending(form, body, lines(['A2A-Extensions', uris(8)]))), body, nameOf(form))
    refused(
      t,
      one,
      await one.send(sending(form, body, lines(['A2A-Extensions', uris(5)], ['X-A2A-Extensions', uris(9)]))),
      'INVALID_REQUEST',
      /more than 8 extensions/,
      nameOf(form)
    )
  }
})

t.test('unlisted URIs are rejected if configured, in any spelling', async (t) => {
  const one = await target(t, { agent: ['unlistedExtensions: reject'] })
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    for (const uri of ['https://example.com/unlisted', '__proto__', 'constructor', 'prototype', 'hasOwnProperty']) {
      refused(
        t,
        one,
        await one.send(sending(form, body, lines(['X-A2A-Extensions', uri]))),
        'EXTENSION_NOT_ALLOWED',
        /does not list/,
        `${nameOf(form)}, ${uri}`
      )
    }
  }
})

// CVE-2024-45614 (Puma) and its kind: CGI-like agents read `A2A_Extensions` and `A2A-Extensions` as one variable.
t.test('underscore twins of the gateway\'s headers do not reach the agent', async (t) => {
  const one = await target(t)
  const twins: Header[] = [
    ['A2A_Extensions', 'https://example.com/x'],
    ['X_A2A-Extensions', 'https://example.com/x'],
    ['a2a_version', '9.9'],
    ['X_Forwarded_For', '203.0.113.7'],
    ['x_forwarded-proto', 'https'],
    ['X_Real_IP', '203.0.113.7'],
    ['Content_Length', '1'],
    ['Transfer_Encoding', 'chunked'],
    ['X_HTTP_Method_Override', 'DELETE'],
    ['Gateway_Decision', 'forward'],
    ['A2A.Extensions', 'https://example.com/x'],
    ['x.forwarded.for', '203.0.113.7'],
    ['Gateway.Decision', 'forward']
  ]
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    const answer = await one.send(sending(form, body, { headers: [...twins, ['X_Other_Header', 'kept']] }))
    const names = Object.keys(one.agent.received[0]?.headers ?? {})
    t.same(names.filter((name) => /[_.]/.test(name)), ['x_other_header'], nameOf(form))
    forwarded(t, one, answer, body, nameOf(form))
  }
})
