/** Two members with the same name: parsers keep the first, the last or both, so gateway and agent would read different requests. */
import t from 'tap'
import {
  BAD,
  bodyOf,
  dataPart,
  FORMS,
  forwarded,
  GOOD,
  listOf,
  messageOf,
  methodOf,
  nameOf,
  refused,
  rootOf,
  sending,
  target,
  textPart
} from './kit.js'

t.test('a duplicate name in an object is rejected, and the message names the object', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const root = rootOf(form)
    const list = listOf(form)
    const good = dataPart(form, GOOD)
    const bad = dataPart(form, BAD)
    const cases: [name: string, body: string, place: string][] = [
      [
        'message',
        bodyOf(form, messageOf(form, [good]), `,"message":${messageOf(form, [bad])}`),
        form.binding === 'JSONRPC' ? '"message" in params' : '"message" in the root object'
      ],
      ['parts', bodyOf(form, messageOf(form, [good], `,"${list}":[${bad}]`)), `"${list}" in ${root}`],
      ['parts, the good ones last', bodyOf(form, messageOf(form, [bad], `,"${list}":[${good}]`)), `"${list}" in ${root}`],
      ['a member of a part', bodyOf(form, messageOf(form, [good.replace(/\}$/, ',"data":null}')])), `"data" in ${root}.${list}[0]`],
      [
        'parts deep inside the data',
        bodyOf(form, messageOf(form, [textPart(form), `{"data":{"x":[0,{"y":{"${list}":1,"${list}":2}}]}}`])),
        `"${list}" in ${root}.${list}[1].data.x[1].y`
      ],
      ['escaped data', bodyOf(form, messageOf(form, [good.replace(/\}$/, ',"\\u0064ata":{}}')])), `"data" in ${root}.${list}[0]`],
      [
        'escaped twice over',
        bodyOf(form, messageOf(form, [good.replace('"data"', '"d\\u0061ta"').replace(/\}$/, ',"\\u0064\\u0061\\u0074\\u0061":{}}')])),
        `"data" in ${root}.${list}[0]`
      ],
      ['taskId', bodyOf(form, messageOf(form, [good], ',"taskId":"","taskId":"t"')), `"taskId" in ${root}`],
      ['three times', bodyOf(form, messageOf(form, [good], ',"x":1,"x":1,"x":1')), `"x" in ${root}`],
      ['the empty name', bodyOf(form, messageOf(form, [good], ',"metadata":{"":1,"":2}')), `"" in ${root}.metadata`],
      ['__proto__', bodyOf(form, messageOf(form, [good], ',"metadata":{"__proto__":1,"__proto__":2}')), `"__proto__" in ${root}.metadata`]
    ]
    for (const [name, body, place] of cases) {
      const answer = await one.send(sending(form, body))
      refused(t, one, answer, 'PARSE_ERROR', new RegExp(`duplicate member ${place.replace(/[[\].]/g, '\\$&')}`), `${nameOf(form)}, ${name}`)
    }
  }
})

t.test('JSON-RPC: a duplicate name in the envelope is rejected', async (t) => {
  const one = await target(t)
  for (const form of FORMS.filter(({ binding }) => binding === 'JSONRPC')) {
    const params = `{"message":${messageOf(form, [dataPart(form, BAD)])}}`
    const method = methodOf(form)
    const harmless = form.version === '1.0' ? 'GetTask' : 'tasks/get'
    for (const [body, member] of [
      [`{"jsonrpc":"2.0","id":1,"method":"${harmless}","method":"${method}","params":${params}}`, 'method'],
      [`{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"id":"x"},"params":${params}}`, 'params'],
      [`{"jsonrpc":"2.0","id":1,"id":2,"method":"${method}","params":${params}}`, 'id'],
      [`{"jsonrpc":"1.0","jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`, 'jsonrpc'],
      [`{"jsonrpc":"2.0","id":1,"m\\u0065thod":"${harmless}","method":"${method}","params":${params}}`, 'method'],
      [`{"jsonrpc":"2.0","id":1,"method":"${method}","p\\u0061rams":{},"params":${params}}`, 'params']
    ] as const) {
      refused(
        t,
        one,
        await one.send(sending(form, body)),
        'PARSE_ERROR',
        new RegExp(`duplicate member "${member}" in the root object`),
        `${nameOf(form)}, ${body.slice(0, 60)}`
      )
    }
  }
})

t.test('one name in several objects is not a duplicate, and neither is a colon in a string', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const body = bodyOf(
      form,
      messageOf(
        form,
        [textPart(form, '\\"a\\":1,\\"a\\":2'), textPart(form, '{:::}'), dataPart(form, GOOD)],
        ',"metadata":{"metadata":{"metadata":{}},"m":[{"a":1},{"a":1}]}'
      )
    )
    forwarded(t, one, await one.send(sending(form, body)), body, nameOf(form))
  }
})
