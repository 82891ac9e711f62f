/** Depth, members and size, each on both sides of its limit. */
import t from 'tap'
import { BAD, bodyOf, dataPart, FORMS, forwarded, messageOf, nameOf, refused, sending, target, textPart } from './kit.js'
import type { Form } from './kit.js'

/** JSON-RPC: root, params, message, parts, part = 5 open; HTTP+JSON has no params. */
const openAt = (form: typeof FORMS[number]): number => form.binding === 'JSONRPC' ? 5 : 4

/** ProtoJSON of proto 0.3.0 has the document one level deeper. */
const wraps = (form: Form): boolean => form.version === '0.3' && form.binding === 'HTTP+JSON'
const looseData = (form: Form, data: string): string => wraps(form) ? `{"data":{"data":${data}}}` : `{"data":${data}}`

t.test('64 levels pass, 65 do not, of any kind', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    for (const [open, close] of [['[', ']'], ['{"x":', '}'], ['[{"x":', '}]']] as const) {
      const each = open === '[{"x":' ? 2 : 1
      const nested = (levels: number) => {
        const left = levels - openAt(form) - (wraps(form) ? 1 : 0)
        const count = Math.floor(left / each)
        const inner = left % each === 1 ? '[]' : '0'
        return bodyOf(form, messageOf(form, [looseData(form, `${open.repeat(count)}${inner}${close.repeat(count)}`)]))
      }
      const fits = nested(64)
      if (form.version === '1.0' || open !== '[') {
        forwarded(t, one, await one.send(sending(form, fits)), fits, `${nameOf(form)}, 64 times ${open}`)
      }
      refused(
        t,
        one,
        await one.send(sending(form, nested(65))),
        'PARSE_ERROR',
        /nested deeper than 64 levels/,
        `${nameOf(form)}, 65 times ${open}`
      )
      refused(
        t,
        one,
        await one.send(sending(form, nested(100_000))),
        'PARSE_ERROR',
        /nested deeper than 64 levels/,
        `${nameOf(form)}, 100,000 times ${open}`
      )
    }
    refused(t, one, await one.send(sending(form, '['.repeat(1_000_000))), 'PARSE_ERROR', /nested deeper/, `${nameOf(form)}, never closed`)
    const quoted = bodyOf(form, messageOf(form, [textPart(form, '['.repeat(1_000))]))
    forwarded(t, one, await one.send(sending(form, quoted)), quoted, `${nameOf(form)}, brackets in a string`)
  }
})

t.test('members up to the limit pass, one more does not', async (t) => {
  const one = await target(t, { root: ['limits: {jsonMembers: 100}'] })
  for (const form of FORMS) {
    const body = (elements: number) =>
      bodyOf(form, messageOf(form, [looseData(form, `{"x":[${Array.from({ length: elements }, () => '0').join(',')}]}`)]))
    // Members of the envelope and the message come first: what is left is for the array.
    const own = (body(0).match(/":/g) ?? []).length + 1
    const fits = body(100 - own)
    forwarded(t, one, await one.send(sending(form, fits)), fits, `${nameOf(form)}, 100 members`)
    refused(
      t,
      one,
      await one.send(sending(form, body(101 - own))),
      'PARSE_ERROR',
      /more than 100 members and elements/,
      `${nameOf(form)}, 101 members`
    )
  }
})

t.test('a huge number of members is rejected at once, with or without invalid data in between', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    for (const filler of [
      Array.from({ length: 100_001 }, (_, i) => `"k${i}":0`).join(','),
      `"x":[${'0,'.repeat(100_001)}0]`,
      `"x":[${'[],'.repeat(100_001)}0]`
    ]) {
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, BAD)], `,"metadata":{${filler}}`)))),
        'PARSE_ERROR',
        /more than 100000 members and elements/,
        nameOf(form)
      )
    }
  }
})

t.test('bytes up to the limit pass, one more does not, declared or chunked', async (t) => {
  const one = await target(t, { root: ['limits: {body: 2KiB}'] })
  for (const form of FORMS) {
    const empty = bodyOf(form, messageOf(form, [textPart(form, '')]))
    const sized = (bytes: number) => bodyOf(form, messageOf(form, [textPart(form, 'x'.repeat(bytes - empty.length))]))
    const fits = sized(2_048)
    for (const headers of [[], [['Transfer-Encoding', 'chunked'] as const]]) {
      const name = `${nameOf(form)}, ${headers.length === 0 ? 'declared' : 'chunked'}`
      forwarded(t, one, await one.send(sending(form, fits, { headers })), fits, name)
      const answer = await one.send(sending(form, sized(2_049), { headers }))
      t.equal(answer.status, 413)
      refused(t, one, answer, 'REQUEST_TOO_LARGE', /larger than 2048 bytes/, name)
    }
  }
})
