/** All installed parties forward the same bytes. Otherwise, a comparison of their figures would have no meaning. */
import t from 'tap'
import { REAL_WORKS, SMALL, SMALL_STREAMING, WORKS, callBody } from '../../bench/agent/bodies.js'
import { EVENT, HEADERS, responseHeaders, streamHeaders } from '../../bench/agent/calls.js'
import { REQUIRED } from '../../bench/agent/card.js'
import { setUp } from '../../bench/bench.js'
import { holdStreams } from '../../bench/load/streams.js'
import { wrongWith } from '../../bench/load/verify.js'
import { KINDS } from '../../bench/parties/all.js'
import { call, until } from '../helpers/http.js'

const { place, tearDown } = await setUp({ pin: false })
t.teardown(tearDown)

const CHECKING = new Set(['gateway', 'gateway-traced', 'nginx-njs', 'envoy-lua'])

/** @param text JSON, without quotes, that stands before the text of the call */
const withText = (text: string): Buffer => Buffer.from(SMALL.toString().replace('"text":"', () => `"text":"${text}`))

for (const kind of KINDS) {
  if (kind.version() === null) {
    t.test(kind.name, { skip: 'not installed' }, async () => {})
    continue
  }
  t.test(kind.name, async t => {
    const party = await kind.start(place)
    t.teardown(() => party.stop())
    const url = `${party.url}/rpc`
    for (const work of [...WORKS, ...REAL_WORKS]) t.equal(await wrongWith(url, HEADERS, callBody(work)), null, work.name)
    for (const work of REAL_WORKS) t.equal(await wrongWith(url, responseHeaders(work), SMALL), null, `response, ${work.name}`)
    t.equal(await wrongWith(url, streamHeaders('burst 50'), SMALL_STREAMING), null, 'a stream')
    const held = await holdStreams(url, streamHeaders('hold'), SMALL_STREAMING, 10, EVENT)
    await held.close()
    await until(
      async () => Number((await call(`${place.agent}/stats`, { method: 'GET' })).json()['streams']) === 0,
      'who goes away to be gone for the agent too'
    )
    t.equal(await wrongWith(url, HEADERS, withText(String.raw`\" \\ \/ \b\f\n\r\t \u00e9 \ud83d\ude00`)), null, 'every escape of JSON')
    const breaches = {
      'not JSON': await answer(url, HEADERS, SMALL.subarray(0, -1)),
      'an escape that JSON does not have': await answer(url, HEADERS, withText(String.raw`\x`)),
      'no extension': await answer(url, { ...HEADERS, 'a2a-extensions': '' }, SMALL),
      'bad data': await answer(url, HEADERS, Buffer.from(SMALL.toString().replace('"quantity":2', '"quantity":0')))
    }
    for (const [what, text] of Object.entries(breaches)) {
      t.equal(
        text.includes('"error"'),
        CHECKING.has(kind.name),
        `${what} is ${CHECKING.has(kind.name) ? 'refused' : 'let pass'}: ${text.slice(0, 80)}`
      )
    }
  })
}

t.test('wrong responses are detected', async t => {
  t.match(
    await wrongWith(`${place.agent}/rpc`, { ...HEADERS, 'bench-stream': 'burst 2' }, SMALL_STREAMING),
    /that are not the 800/,
    'another answer than expected'
  )
})

t.test('bodies have the size in the tables, and request what the card requires', async t => {
  for (const work of [...WORKS, ...REAL_WORKS]) {
    const body = callBody(work)
    t.equal(body.length, work.bytes, work.name)
    t.doesNotThrow(() => JSON.parse(String(body)))
  }
  t.equal(EVENT.length, 400)
  t.equal(HEADERS['a2a-extensions'], REQUIRED)
})

async function answer (url: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<string> {
  return (await call(url, { method: 'POST', headers: [...Object.entries(headers).flat(), 'content-length', String(body.length)], body }))
    .text
}
