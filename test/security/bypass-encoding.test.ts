/** Bytes that gateway and agent could decode differently: byte order marks, other charsets, compression, odd content types. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import type { Header } from './kit.js'
import { BAD, bodyOf, dataPart, FORMS, forwarded, GOOD, messageOf, nameOf, refusalIn, refused, sending, target, textPart } from './kit.js'

t.test('bytes that are not UTF-8 without a byte order mark are rejected', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const text = bodyOf(form, messageOf(form, [dataPart(form, GOOD)]))
    const bytes = Buffer.from(text)
    const place = (byte: number): Buffer =>
      Buffer.concat([bytes.subarray(0, bytes.indexOf('Lion')), Buffer.from([byte]), bytes.subarray(bytes.indexOf('Lion'))])
    const cases: [name: string, body: Buffer, message: RegExp][] = [
      ['UTF-8 byte order mark', Buffer.from(`\ufeff${text}`), /byte order mark/],
      ['two of them', Buffer.from(`\ufeff\ufeff${text}`), /byte order mark/],
      ['UTF-16 LE', Buffer.from(text, 'utf16le'), /not acceptable JSON/],
      ['UTF-16 LE with mark', Buffer.from(`\ufeff${text}`, 'utf16le'), /not UTF-8/],
      ['UTF-16 BE', Buffer.from(text, 'utf16le').swap16(), /not acceptable JSON/],
      ['UTF-16 BE with mark', Buffer.from(`\ufeff${text}`, 'utf16le').swap16(), /not UTF-8/],
      ['latin1', place(0xe9), /not UTF-8/],
      ['a lone continuation byte', place(0x80), /not UTF-8/],
      ['an overlong quote', Buffer.concat([bytes.subarray(0, -1), Buffer.from([0xc0, 0xa2]), bytes.subarray(-1)]), /not UTF-8/],
      [
        'a surrogate in bytes',
        Buffer.concat([bytes.subarray(0, bytes.indexOf('Lion')), Buffer.from([0xed, 0xa0, 0x80]), bytes.subarray(bytes.indexOf('Lion'))]),
        /not UTF-8/
      ],
      ['a raw NUL in a string', place(0x00), /not valid at byte/],
      ['UTF-7', Buffer.from(text.replace('{', '+AHs-')), /not valid at byte 0/]
    ]
    for (const [name, body, message] of cases) {
      refused(t, one, await one.send(sending(form, body)), 'PARSE_ERROR', message, `${nameOf(form)}, ${name}`)
    }
  }
})

t.test('syntax that only some parsers accept is rejected', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const good = bodyOf(form, messageOf(form, [textPart(form)]))
    for (const body of [
      `/**/${good}`,
      good.replace('{', '{/*x*/'),
      good.replace(/\}$/, ',}'),
      good.replaceAll('"', "'"),
      good.replace('"messageId"', 'messageId'),
      good.replace('"m"', '0x10'),
      good.replace('"m"', 'NaN'),
      good.replace('"m"', '"m\n"'),
      good.replace('"m"', '+1'),
      good.replace('"m"', '.5'),
      good.replace('"m"', '01'),
      `\u00a0${good}`,
      `\u000b${good}`,
      good.replace('"m"', '"\\x41"'),
      `)]}'\n${good}`
    ]) {
      refused(
        t,
        one,
        await one.send(sending(form, body)),
        'PARSE_ERROR',
        /at byte \d+/,
        `${nameOf(form)}, ${JSON.stringify(body.slice(0, 30))}`
      )
    }
  }
})

t.test('lone surrogates in escapes are data: validated, and forwarded unchanged', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const good = bodyOf(
      form,
      messageOf(form, [dataPart(form, '{"a":"\\ud800","b":"\\udfff\\ud83d"}')], ',"metadata":{"\\ud800":1,"\\udfff":2}')
    )
    forwarded(t, one, await one.send(sending(form, good)), good, nameOf(form))
    const bad = bodyOf(form, messageOf(form, [dataPart(form, '{"a":"x","b":"x","\\ud800":1}')]))
    refused(t, one, await one.send(sending(form, bad)), 'EXTENSION_DATA_INVALID', /is not a property the schema allows/, nameOf(form))
  }
})

t.test('other content types and charsets are rejected before the body is read', async (t) => {
  const one = await target(t)
  const types: (string | null)[] = [
    null,
    '',
    'text/plain',
    'application/jsonx',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/json;charset=utf-16le',
    'application/json; charset="utf-7"',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json garbage',
    'application/json, text/plain',
    'application/json;',
    'application/json;;',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'application/vnd.api+json',
    'application/json; charset',
    'application/ json',
    '*/*',
    'application/json\u00a0',
    'application/json;charset=',
    'application/cbor'
  ]
  const legal = new Set(['application/json;', 'application/json;;'])
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [dataPart(form, BAD)]))
    for (const type of types) {
      const plain = sending(form, body, { headers: [['Content-Type', type ?? '']] })
      const answer = await one.send(
        type === null ? { ...plain, headers: (plain.headers ?? []).filter(([name]) => name !== 'Content-Type') } : plain
      )
      if (type !== null && legal.has(type)) {
        refused(
          t,
          one,
          answer,
          'EXTENSION_DATA_INVALID',
          /data\.b/,
          `${nameOf(form)}, ${type}: empty parameters are legal, and the body is judged`
        )
      } else {
        t.equal(refusalIn(answer).code, form.binding === 'JSONRPC' || form.version === '0.3' ? -32005 : 400)
        refused(t, one, answer, 'CONTENT_TYPE_NOT_SUPPORTED', /The header Content-Type must be/, `${nameOf(form)}, ${type}`)
      }
    }
  }
})

t.test('the accepted spellings of JSON are all evaluated alike', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const types = [
      'APPLICATION/JSON',
      'Application/Json; Charset=UTF-8',
      'application/json\t;\tcharset=utf-8',
      'application/json; charset="utf-8"',
      'application/json ; x=y',
      ' application/json',
      'application/json\t'
    ]
    if (form.binding === 'HTTP+JSON') types.push('application/a2a+json', 'APPLICATION/A2A+JSON; charset=utf-8')
    for (const type of types) {
      const headers: Header[] = [['Content-Type', type]]
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, BAD)])), { headers })),
        'EXTENSION_DATA_INVALID',
        /data\.b must be a string/,
        `${nameOf(form)}, ${type}`
      )
      const good = bodyOf(form, messageOf(form, [dataPart(form, GOOD)]))
      forwarded(t, one, await one.send(sending(form, good, { headers })), good, `${nameOf(form)}, ${type}`)
    }
  }
})

t.test('JSON-RPC does not use application/a2a+json', async (t) => {
  const one = await target(t)
  for (const form of FORMS.filter(({ binding }) => binding === 'JSONRPC')) {
    refused(
      t,
      one,
      await one.send(
        sending(form, bodyOf(form, messageOf(form, [textPart(form)])), { headers: [['Content-Type', 'application/a2a+json']] })
      ),
      'CONTENT_TYPE_NOT_SUPPORTED',
      /must be application\/json, in UTF-8/,
      nameOf(form)
    )
  }
})

t.test('two Content-Type headers are rejected', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    refused(
      t,
      one,
      await one.send(
        sending(form, body, {
          headers: [
            ['Content-Type', 'application/json'],
            ['content-type', 'text/plain']
          ]
        })
      ),
      'BAD_REQUEST_HEADER',
      /content-type is sent more than once/,
      nameOf(form)
    )
  }
})

t.test('bodies in other codings than gzip are rejected, and gzip hides nothing', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const text = bodyOf(form, messageOf(form, [dataPart(form, GOOD)]))
    for (const [encoding, body] of [
      ['gzip, gzip', gzipSync(gzipSync(text))],
      ['br', text],
      ['identity, gzip', text],
      ['deflate', text],
      ['aws-chunked', text],
      ['identity;q=1', text]
    ] as const) {
      const answer = await one.send(sending(form, body, { headers: [['Content-Encoding', encoding]] }))
      refused(t, one, answer, 'CONTENT_ENCODING_NOT_SUPPORTED', /without Content-Encoding/, `${nameOf(form)}, ${encoding}`)
      t.equal(answer.status, 415)
    }
    refused(
      t,
      one,
      await one.send(sending(form, text, { headers: [['Content-Encoding', 'gzip']] })),
      'PARSE_ERROR',
      /not one complete gzip member/,
      `${nameOf(form)}, not compressed`
    )
    const bad = gzipSync(bodyOf(form, messageOf(form, [dataPart(form, BAD)])))
    const hidden = await one.send(sending(form, bad, { headers: [['Content-Encoding', 'gzip']] }))
    refused(t, one, hidden, 'EXTENSION_DATA_INVALID', /./, `${nameOf(form)}, compressed`)
    const twice = await one.send(sending(form, text, { headers: [['Content-Encoding', 'identity'], ['Content-Encoding', 'gzip']] }))
    refused(t, one, twice, 'CONTENT_ENCODING_NOT_SUPPORTED', /without Content-Encoding/, `${nameOf(form)}, two lines`)
    forwarded(
      t,
      one,
      await one.send(sending(form, text, { headers: [['Content-Encoding', 'identity']] })),
      text,
      `${nameOf(form)}, identity`
    )
  }
})
