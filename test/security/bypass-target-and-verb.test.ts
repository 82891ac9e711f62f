/** Routes, verbs, versions and batches that gateway and agent could interpret as different operations. */
import t from 'tap'
import { rawExchange } from '../helpers/raw.js'
import type { Header } from './kit.js'
import {
  BAD,
  bodyOf,
  dataPart,
  FORMS,
  forwarded,
  messageOf,
  methodOf,
  nameOf,
  refusalIn,
  refused,
  REQUIRED,
  schemaCard,
  sending,
  target,
  textPart
} from './kit.js'

const [rpc1, rpc03, rest1, rest03] = FORMS as [typeof FORMS[number], typeof FORMS[number], typeof FORMS[number], typeof FORMS[number]]
const demanding = { card: (url: string) => schemaCard(url, {}, [{ uri: REQUIRED, required: true }]) }

t.test('targets with two readings are rejected before routing', async (t) => {
  const one = await target(t)
  const body = bodyOf(rest1, messageOf(rest1, [dataPart(rest1, BAD)]))
  for (const [path, place] of [
    ['//rest/message:send', /empty segment/],
    ['/rest//message:send', /empty segment/],
    ['/rest/message:send//', /empty segment/],
    ['/rest/./message:send', /dot segment/],
    ['/x/../rest/message:send', /dot segment/],
    ['/rest/.;x/message:send', /dot segment/],
    ['/x/..;/rest/message:send', /dot segment/],
    ['/x/..;a=b/rest/message:send', /dot segment/],
    ['/x/..%3B/rest/message:send', /dot segment/],
    ['/;x/rest/message:send', /empty segment/],
    ['/rest%2fmessage:send', /percent-encoded slash or backslash/],
    ['/rest%2Fmessage:send', /percent-encoded slash/],
    ['/rest%5cmessage:send', /percent-encoded slash/],
    ['/rest\\message:send', /backslash/],
    ['/%72est/message:send', /percent-encoded letter/],
    ['/rest/message%3asen%64', /percent-encoded letter/],
    ['/rest/%2e%2e/rpc', /percent-encoded letter/],
    ['/rest/%252e%252e/rpc', /percent-encoded twice/],
    ['/rest/message:send%00', /percent-encoded control/],
    ['/rest/message:send%0d%0aX:y', /percent-encoded control/],
    ['/rest/message:send%', /without two hexadecimal digits/],
    ['/rest/message:send%zz', /without two hexadecimal digits/],
    ['/rest/message:send%ff', /not UTF-8/],
    ['/rest/message:send#x', /fragment/],
    ['http://127.0.0.1/rest/message:send', /does not begin with/],
    ['*', /does not begin with/],
    ['rest/message:send', /does not begin with/]
  ] as const) {
    const text = await rawExchange(
      one.gateway.url,
      `POST ${path} HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
    )
    t.match(text, /^HTTP\/1\.1 400 /, path)
    // What Node's own parser refuses carries no words of ours.
    if (/gateway-decision/.test(text)) t.match(text, place, path)
    t.equal(one.agent.received.length, 0, path)
  }
})

t.test('addresses that only a lenient router accepts as an operation are not operations', async (t) => {
  const one = await target(t)
  for (const [form, paths] of [
    [
      rest1,
      [
        '/rest/message%3Asend',
        '/rest/message%3asend',
        '/rest/Message:send',
        '/REST/message:send',
        '/rest/message:Send',
        '/rest/message:send/',
        '/rest/message:send;x',
        '/rest/message:send;jsessionid=1',
        '/rest;x/message:send',
        '/rest/message:send.json',
        '/rest/message:send%20',
        '/message:send',
        '/rest/message/send',
        '/rest/message:send:send',
        '/rest/message%3Asend/message:send'
      ]
    ],
    [
      rest03,
      [
        '/rest/v1/message%3Asend',
        '/rest/V1/message:send',
        '/rest/v1/message:send;x',
        '/rest/v1/message:send/',
        '/rest/v1/v1/message:send',
        '/rest/v01/message:send'
      ]
    ],
    [rpc1, ['/RPC', '/rpc;x', '/rpc/x', '/rpc.json', '/rpc%20', '/rpc%3B', '/rp', '/rpc/v1']],
    [rpc03, ['/Rpc', '/rpc;x=y', '/rpc/index']]
  ] as const) {
    for (const path of paths) {
      const answer = await one.send({ ...sending(form, bodyOf(form, messageOf(form, [dataPart(form, BAD)]))), path })
      t.equal(answer.status >= 400, true, `${path}: HTTP ${answer.status}`)
      t.match(String(answer.headers['gateway-decision']), /^reject/, path)
      t.equal(one.agent.received.length, 0, path)
    }
  }
})

t.test('a tenant in the path does not hide the message', async (t) => {
  const one = await target(t)
  const body = bodyOf(rest1, messageOf(rest1, [dataPart(rest1, BAD)]))
  for (const tenant of ['acme', 'a%20b', '%C3%A9', 'rpc', '__proto__']) {
    refused(
      t,
      one,
      await one.send({ ...sending(rest1, body), path: `/rest/${tenant}/message:send` }),
      'EXTENSION_DATA_INVALID',
      /data\.b/,
      tenant
    )
  }
  refused(
    t,
    one,
    await one.send({
      ...sending(rest1, bodyOf(rest1, messageOf(rest1, [textPart(rest1)]), ',"tenant":"other"')),
      path: '/rest/acme/message:send'
    }),
    'INVALID_PARAMS',
    /tenant differs from the tenant of the request path/,
    'two tenants'
  )
})

t.test('other verbs run no operation, whatever an override header contains', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [dataPart(form, BAD)]))
    for (const method of ['PUT', 'PATCH', 'DELETE', 'PROPFIND', 'TRACE', 'QUERY', 'LOCK']) {
      for (const override of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']) {
        const answer = await one.send({ ...sending(form, body, { headers: [[override, 'POST']] }), method })
        t.equal(answer.status >= 400, true, `${nameOf(form)}, ${method}: HTTP ${answer.status}`)
        t.equal(one.agent.received.length, 0, `${nameOf(form)}, ${method}`)
      }
    }
  }
})

t.test('override headers do not reach the agent', async (t) => {
  const one = await target(t)
  const overrides: Header[] = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'X-Original-URL', 'X-Rewrite-URL'].map(
    name => [name, '/admin']
  )
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    const answer = await one.send(sending(form, body, { headers: overrides }))
    const names = Object.keys(one.agent.received[0]?.headers ?? {})
    for (const [name] of overrides) t.notOk(names.includes(name.toLowerCase()), name)
    forwarded(t, one, answer, body, nameOf(form))
  }
})

t.test('a GET with a body is rejected', async (t) => {
  const one = await target(t)
  const body = bodyOf(rest1, messageOf(rest1, [dataPart(rest1, BAD)]))
  for (const [method, path] of [
    ['GET', '/rest/tasks/t'],
    ['GET', '/rest/message:send'],
    ['GET', '/rpc'],
    ['GET', '/.well-known/agent-card.json'],
    ['HEAD', '/rest/tasks']
  ] as const) {
    for (const framing of [
      `Content-Length: ${body.length}\r\n\r\n${body}`,
      `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    ]) {
      const text = await rawExchange(
        one.gateway.url,
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nConnection: close\r\n${framing}`
      )
      t.match(text, /^HTTP\/1\.1 400 [\s\S]*gateway-decision: reject;rule="gateway\/unexpected-body"/, `${method} ${path}`)
      t.equal(one.agent.received.length, 0, path)
    }
  }
})

t.test('a body after a rejected one is not the next request', async (t) => {
  const one = await target(t)
  const inner = bodyOf(rest1, messageOf(rest1, [textPart(rest1)]))
  const smuggled = `POST /rest/message:send HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`
  // The last request shows that the gateway has read everything before it.
  const last = 'GET /rest/tasks HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nConnection: close\r\n\r\n'
  for (const outer of [
    `GET /rest/tasks HTTP/1.1\r\nHost: x\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}${last}`,
    `OPTIONS /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: ${smuggled.length}\r\nConnection: close\r\n\r\n${smuggled}`
  ]) {
    await rawExchange(one.gateway.url, outer, { until: 'close' })
    t.notOk(
      one.agent.received.some(({ method }) => method === 'POST'),
      outer.slice(0, 12)
    )
    one.agent.received.length = 0
  }
})

t.test('A2A-Version: duplicate, unknown, or different from the query is rejected', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    const plain = sending(form, body)
    const own = form.version
    const other = own === '1.0' ? '0.3' : '1.0'
    const named = (headers: Header[], query = '') => ({
      ...plain,
      headers: [['Content-Type', 'application/json'] as const, ...headers],
      path: plain.path + query
    })
    refused(
      t,
      one,
      await one.send(
        named([
          ['A2A-Version', own],
          ['A2A-Version', other]
        ])
      ),
      'BAD_REQUEST_HEADER',
      /a2a-version is sent more than once/,
      `${nameOf(form)}, twice`
    )
    refused(
      t,
      one,
      await one.send(
        named([
          ['A2A-Version', own],
          ['a2a-version', own]
        ])
      ),
      'BAD_REQUEST_HEADER',
      /more than once/,
      `${nameOf(form)}, twice the same`
    )
    refused(
      t,
      one,
      await one.send(named([['A2A-Version', own]], `?A2A-Version=${other}`)),
      'INVALID_PARAMS',
      /the query parameter A2A-Version differ/i,
      `${nameOf(form)}, header against query`
    )
    for (const version of ['2.0', '1', '1.0, 0.3', 'v1.0', '2.1', 'latest', '01.0.x', '1.0\u00a0x']) {
      refused(
        t,
        one,
        await one.send(named([['A2A-Version', version]])),
        'VERSION_NOT_SUPPORTED',
        /send the header "A2A-Version: 1\.0"/,
        `${nameOf(form)}, ${version}`
      )
    }
    forwarded(t, one, await one.send(named([['A2A-Version', own]], `?A2A-Version=${own}`)), body, `${nameOf(form)}, both the same`)
  }
})

t.test('a version in the query that the gateway does not read does not reach the agent', async (t) => {
  const one = await target(t)
  const plain = sending(rpc03, bodyOf(rpc03, messageOf(rpc03, [textPart(rpc03)])))
  for (const query of ['?A2A%2DVersion=1.0', '?%412A-Version=1.0', '?A2A-Version=0.3&A2A-Version=1.0']) {
    const answer = await one.send({ ...plain, path: plain.path + query })
    t.match(String(answer.headers['gateway-decision']), /^reject/, query)
    t.equal(one.agent.received.length, 0, query)
    one.agent.received.length = 0
  }
})

t.test('each version\'s grammar applies only under its own version', async (t) => {
  const one = await target(t, demanding)
  const asking: Header = ['A2A-Extensions', REQUIRED]
  refused(
    t,
    one,
    await one.send(sending(rpc1, bodyOf(rpc03, messageOf(rpc03, [textPart(rpc03)])), { headers: [asking] })),
    'METHOD_NOT_FOUND',
    /belongs to A2A 0\.3/,
    '0.3 method in 1.0'
  )
  refused(
    t,
    one,
    await one.send(sending(rpc03, bodyOf(rpc1, messageOf(rpc1, [textPart(rpc1)])), { headers: [asking] })),
    'VERSION_NOT_SUPPORTED',
    /Send the header "A2A-Version: 1\.0"/,
    '1.0 method without a version'
  )
  refused(
    t,
    one,
    await one.send({
      ...sending(rest03, bodyOf(rest03, messageOf(rest03, [textPart(rest03)])), { headers: [asking] }),
      path: '/rest/message:send'
    }),
    'VERSION_NOT_SUPPORTED',
    /A2A-Version: 1\.0/,
    '1.0 route without a version'
  )
  refused(
    t,
    one,
    await one.send({
      ...sending(rest1, bodyOf(rest1, messageOf(rest1, [textPart(rest1)])), { headers: [asking] }),
      path: '/rest/v1/message:send'
    }),
    'VERSION_NOT_SUPPORTED',
    /A2A/,
    '0.3 route in 1.0'
  )
})

t.test('methods that only look like an operation are not operations', async (t) => {
  const one = await target(t, demanding)
  for (const form of [rpc1, rpc03]) {
    const method = methodOf(form)
    for (const name of [
      method.toLowerCase() === method ? method.toUpperCase() : method.toLowerCase(),
      ` ${method}`,
      `${method} `,
      `${method}\\u0000`,
      `${method}/`,
      `/${method}`,
      method.replace(/s/gi, '\u017f'),
      method.replace('/', '.'),
      `rpc.${method}`,
      `a2a.${method}`
    ]) {
      if (name === method) continue
      const body = bodyOf(form, messageOf(form, [dataPart(form, BAD)])).replace(`"${method}"`, `"${name}"`)
      refused(t, one, await one.send(sending(form, body)), 'METHOD_NOT_FOUND', /method/, `${nameOf(form)}, ${JSON.stringify(name)}`)
    }
  }
})

t.test('unknown methods that are forwarded are still evaluated', async (t) => {
  const one = await target(t, { ...demanding, agent: ['unknownMethods: forward'] })
  for (const form of [rpc1, rpc03]) {
    const named = (message: string) => bodyOf(form, message).replace(`"${methodOf(form)}"`, '"ext/send"')
    refused(
      t,
      one,
      await one.send(sending(form, named(messageOf(form, [textPart(form)])))),
      'EXTENSION_SUPPORT_REQUIRED',
      new RegExp(REQUIRED),
      `${nameOf(form)}, no header`
    )
    refused(
      t,
      one,
      await one.send(sending(form, named(messageOf(form, [dataPart(form, BAD)])), { headers: [['A2A-Extensions', REQUIRED]] })),
      'EXTENSION_DATA_INVALID',
      /data\.b/,
      `${nameOf(form)}, bad data`
    )
  }
})

t.test('a batch is rejected as a whole, whatever its content', async (t) => {
  const one = await target(t)
  for (const form of [rpc1, rpc03]) {
    const good = bodyOf(form, messageOf(form, [textPart(form)]))
    const bad = bodyOf(form, messageOf(form, [dataPart(form, BAD)]))
    for (const body of [`[${good},${bad}]`, `[${bad},${good}]`, `[${good}]`, '[]', `[[${good}]]`]) {
      const answer = await one.send(sending(form, body))
      t.same([answer.status, answer.json?.id, refusalIn(answer).code], [200, null, -32600])
      refused(t, one, answer, 'INVALID_REQUEST', /Batch requests are not supported/, `${nameOf(form)}, ${body.slice(0, 20)}`)
    }
  }
})

t.test('invalid envelopes are rejected', async (t) => {
  const one = await target(t)
  for (const form of [rpc1, rpc03]) {
    const good = bodyOf(form, messageOf(form, [textPart(form)]))
    for (const [body, place] of [
      [good.replace('"2.0"', '"1.0"'), /"jsonrpc"/],
      [good.replace('"2.0"', '2.0'), /"jsonrpc"/],
      [good.replace('"jsonrpc":"2.0",', ''), /"jsonrpc"/],
      [good.replace('"id":1', '"id":1.5'), /"id"/],
      [good.replace('"id":1', '"id":{}'), /"id"/],
      [good.replace('"id":1', '"id":true'), /"id"/],
      [good.replace(`"${methodOf(form)}"`, '7'), /"method"/],
      [good.replace(`"${methodOf(form)}"`, `["${methodOf(form)}"]`), /"method"/],
      [good.replace(/"params":\{(.*)\}\}$/, '"params":[{$1}]}'), /"params"/],
      ['7', /JSON-RPC/],
      ['null', /JSON-RPC/],
      ['"x"', /JSON-RPC/]
    ] as const) {
      const answer = await one.send(sending(form, body))
      t.match(refusalIn(answer).reason, /^INVALID_(?:REQUEST|PARAMS)$/)
      refused(t, one, answer, refusalIn(answer).reason, place, `${nameOf(form)}, ${body.slice(0, 40)}`)
    }
  }
})

t.test('a notification is evaluated like a call', async (t) => {
  const one = await target(t, demanding)
  for (const form of [rpc1, rpc03]) {
    const answer = await one.send(sending(form, bodyOf(form, messageOf(form, [textPart(form)])).replace('"id":1,', '')))
    t.equal(answer.json?.id, null)
    refused(t, one, answer, 'EXTENSION_SUPPORT_REQUIRED', new RegExp(REQUIRED), nameOf(form))
  }
})

t.test('an agent cannot imitate the gateway', async (t) => {
  const one = await target(t)
  one.agent.server.removeAllListeners('request')
  one.agent.server.on('request', (incoming, response) => {
    incoming.resume()
    response.setHeader('gateway-decision', 'reject;rule="object-schemas/x"')
    response.end('{}')
  })
  for (const form of FORMS) {
    const answer = await one.send(sending(form, bodyOf(form, messageOf(form, [textPart(form)]))))
    t.equal(answer.headers['gateway-decision'], undefined, nameOf(form))
  }
})
