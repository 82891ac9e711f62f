/** Envoy's A2A filter stops parsing after `method`, so it does not see a second one (style.md §2.8). This gateway parses to the end. */
import t from 'tap'
import { bodyOf, FORMS, messageOf, nameOf, refused, sending, target, textPart } from './kit.js'

t.test('a second method after everything else is detected', async (t) => {
  const one = await target(t)
  for (const form of FORMS.filter(({ binding }) => binding === 'JSONRPC')) {
    const filler = `,"metadata":{"x":"${'x'.repeat(100_000)}"}`
    const body = bodyOf(form, messageOf(form, [textPart(form)]), filler).replace(/\}$/, ',"method":"tasks/delete-everything"}')
    refused(t, one, await one.send(sending(form, body)), 'PARSE_ERROR', /duplicate member "method" in the root object/, nameOf(form))
  }
})

t.test('data after the JSON is detected too', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    for (const tail of ['{}', ',', '}', '\u0000', body, '//']) {
      refused(
        t,
        one,
        await one.send(sending(form, body + tail)),
        'PARSE_ERROR',
        new RegExp(`at byte ${Buffer.byteLength(body)}`),
        `${nameOf(form)}, then ${JSON.stringify(tail.slice(0, 5))}`
      )
    }
  }
})
