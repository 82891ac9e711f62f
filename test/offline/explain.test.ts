import t from 'tap'
import { explanationText } from '#offline/explain/explain-text.js'
import type { Explanation } from '#offline/explain/explanation.js'
import { shownTarget } from '#offline/display.js'
import { gatewayFor } from '../helpers/gateway.js'
import { fakeAgent, plainCard, rawExchange } from '../helpers/raw.js'
import type { Recorded } from './explain-kit.js'
import { asShown, explaining, http, message10, readAnswer, requestIn, rpc, SECRET, SPELLINGS, wire } from './explain-kit.js'

// What `explain` says is what the proxy does: the same recorded bytes go through a real gateway, and the refusal's bytes and the
// forwarded request are compared.

const PAY = 'https://pay.example/v1'
const WATCH = 'https://watch.example/v1'

const yaml = (url: string): string => `
limits: {extensions: 4, body: 2KiB}
agents:
${[
  'name: enforced, path: /enforced, extensions: [pay, watch]',
  'name: observed, path: /observed, mode: observe, extensions: [pay, watch]',
  'name: off, path: /off, mode: "off", extensions: [pay]',
  'name: strip, path: /strip, unlistedExtensions: strip, unknownMethods: forward, extensions: [given]',
  'name: closed, path: /closed, unlistedExtensions: reject, passthrough: [/files], extensions: [given, {watch: {mode: enforce}}]',
  'name: hosted, path: /enforced, host: only.example, extensions: [given]'
].map(agent => `  - {${agent}, upstream: {url: "${url}"}}`).join('\n')}
extensions:
  pay:
    uri: ${PAY}
    owns: {metadata: [amount]}
    inactive: {request: reject}
    request:
      - {id: number, select: {metadata: {key: amount}}, schema: {type: number}}
      - {id: not-on-tasks, when: {taskId: present}, select: {metadata: {key: amount}}, count: {max: 0}}
      - {id: gently, select: {metadata: {key: amount}}, schema: {type: number, maximum: 10}, verdict: warn}
  watch:
    uri: ${WATCH}
    mode: observe
    methods: {x/known: {need: none}}
    routes: [{verb: GET, path: "/things/{id}", need: none}]
    request: [{id: never, select: {metadata: {key: watched}}, count: {max: 0}}]
  given:
    uri: ${PAY}
    activation: {default: inject}
`

const card = (url: string): Record<string, unknown> =>
  plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: PAY, required: true }, { uri: WATCH }] } })

function corpus (): Recorded[] {
  const all: Recorded[] = []
  for (const { name, lines, path, extensions, body } of SPELLINGS) {
    const post = (what: string, agent: string, headers: readonly string[], text: string): void => {
      all.push(http(`${name}: ${what}`, `POST ${agent}${path}`, [...lines, ...headers], text))
    }
    const pay = `${extensions}: ${PAY}`
    post('accepted', '/enforced', [pay], body({ amount: 3 }))
    post(
      'accepted with more lines and unlisted',
      '/enforced',
      [`${extensions}: https://x.example ,${WATCH}`, pay, 'X-Forwarded-For: 1.2.3.4', 'X-Custom: own', 'Cookie: a=b'],
      body({})
    )
    post('required missing', '/enforced', [], body({ amount: 3 }))
    post('data invalid', '/enforced', [pay], body({ amount: SECRET }))
    post('several broken', '/enforced', [], body({ amount: SECRET, watched: SECRET }, { taskId: 't' }))
    post('observed rule only', '/enforced', [pay], body({ amount: 11, watched: 1 }))
    post('observed', '/observed', [], body({ amount: SECRET }))
    post('off', '/off', [], body({ amount: SECRET }))
    post('injected', '/strip', [`${extensions}: https://x.example`], body({}))
    post('unlisted', '/closed', [`${extensions}: https://x.example`], body({}))
    post(
      'too many extensions',
      '/enforced',
      [`${extensions}: ${Array.from({ length: 9 }, (_, i) => `https://x.example/${i}`).join(', ')}`],
      body({})
    )
    post('bad JSON', '/enforced', [pay], `${body({})}}`)
    post('bad JSON, observed', '/observed', [pay], `{"${SECRET}"`)
    post('no body', '/enforced', [pay], '')
    post('too large', '/enforced', [pay], body({ amount: 1, filler: 'x'.repeat(3_000) }))
    post('compressed', '/enforced', [pay, 'Content-Encoding: gzip'], body({}))
    post('duplicate member', '/enforced', [pay], body({}).replace('"messageId":"m"', '"messageId":"m","messageId":"n"'))
    post('another host\'s agent', '/enforced', [], body({}))
  }
  const v1 = ['Content-Type: application/json', 'A2A-Version: 1.0', `A2A-Extensions: ${PAY}`]
  const send = SPELLINGS[0]?.body({}) ?? ''
  all.push(
    http('unknown method', 'POST /enforced/rpc', v1, rpc(`x/${SECRET}`, {})),
    http('unknown method, forwarded', 'POST /strip/rpc', v1, rpc('x/y', {})),
    http('known method', 'POST /enforced/rpc', v1, rpc('x/known', {})),
    http('known route', `GET /enforced/things/${SECRET.length}`, v1),
    http('no method', 'POST /enforced/rpc', v1, '{"jsonrpc":"2.0","id":"a"}'),
    http('a batch', 'POST /enforced/rpc', v1, `[${send}]`),
    http('null id', 'POST /enforced/rpc', v1, send.replace('17', 'null').replace('m"', '')),
    http(
      'a stream refused',
      'POST /enforced/rpc',
      ['Accept: text/event-stream', ...v1.slice(0, 2)],
      rpc('SendStreamingMessage', message10({}, {}))
    ),
    http('wrong content type', 'POST /enforced/rpc', ['Content-Type: text/plain', ...v1.slice(1)], send),
    http('no content type', 'POST /enforced/rpc', v1.slice(1), send),
    http('unknown version', 'POST /enforced/rpc', [v1[0] as string, 'A2A-Version: 9.9'], send),
    http('unknown version, observed', 'POST /observed/rpc', [v1[0] as string, 'A2A-Version: 9.9'], send),
    http('two versions', 'POST /enforced/rpc?A2A-Version=0.3', v1, send),
    http('version in the query', 'POST /enforced/rpc?A2A-Version=1.0&token=a', [v1[0] as string, v1[2] as string], send),
    http('1.0 method without the header', 'POST /enforced/rpc', [v1[0] as string], send),
    http('0.3 method with the header', 'POST /enforced/rpc', v1, rpc('message/send', {})),
    http('patch number', 'POST /enforced/rpc', [v1[0] as string, 'A2A-Version: 1.0.1', v1[2] as string], send),
    http('wrong verb', 'DELETE /enforced/rpc', v1),
    http('unknown route', 'POST /enforced/nowhere', v1, send),
    http('unknown agent', 'POST /elsewhere/rpc', v1, send),
    http('unknown agent, two hosts', 'POST /elsewhere/rpc', ['A2A-Version: 1.0', 'A2A-Version: 1.0'], send),
    http('bad target', 'POST /enforced//rpc', v1, send),
    http('duplicate header', 'POST /enforced/rpc', [...v1, 'A2A-Version: 1.0'], send),
    http('upgrade', 'POST /enforced/rpc', [...v1, 'Upgrade: websocket'], send),
    http('GET a task', 'GET /enforced/rest/tasks/t-1?historyLength=2', ['A2A-Version: 1.0']),
    http('GET with null', 'GET /enforced/rest/tasks/t-1', ['A2A-Version: 1.0', 'Content-Length: 4'], 'null'),
    http(
      'GET with a body',
      'GET /enforced/rest/tasks/t-1',
      ['A2A-Version: 1.0', 'Content-Type: application/json'],
      '{"a": 1, "b": 2, "c": 3}'
    ),
    http('a tenant of two minds', 'POST /enforced/rest/acme/message:send', v1, JSON.stringify({ ...message10({}, {}), tenant: 'other' })),
    http('extended card', 'GET /enforced/rest/extendedAgentCard', ['A2A-Version: 1.0', 'Accept-Encoding: gzip']),
    http('passthrough', 'POST /closed/files/a?b=c', [...v1, 'X-Own: 1'], send),
    http('preflight', 'OPTIONS /enforced/rpc', ['Origin: https://app.example']),
    {
      name: 'only that host',
      text: http('', 'POST /enforced/rpc', v1.slice(0, 2), send).text.replace('Host: gw.example', 'Host: Only.example:80')
    }
  )
  return all
}

t.test('for the whole corpus, the explanation matches the proxy', async t => {
  const agent = await fakeAgent(t, { card })
  const options = { yaml: yaml(agent.url) }
  const gateway = await gatewayFor(t, options)
  const explain = explaining(options)
  const counts = { forward: 0, reject: 0, answer: 0, pause: 0 }
  for (const recorded of corpus()) {
    const explanation = await explain(recorded)
    counts[explanation.decision]++
    const before = agent.received.length
    const answer = readAnswer(await rawExchange(gateway.url, wire(recorded.text)))
    const received = agent.received.slice(before)
    if (explanation.decision === 'reject') {
      const { refusal } = explanation
      t.same(received, [], `${recorded.name}: nothing reaches the agent`)
      t.same(
        answer,
        { line: `HTTP/1.1 ${refusal?.status} ${refusal?.phrase}`, headers: refusal?.headers, body: refusal?.body },
        `${recorded.name}: refused with the same bytes`
      )
      t.equal(explanation.forwarded, null)
    } else {
      const { forwarded } = explanation
      const request = requestIn(recorded)
      const [got] = received
      t.equal(received.length, 1, `${recorded.name}: reaches the agent`)
      t.match(answer.line, / 200 /, recorded.name)
      t.equal(`${got?.method} ${agent.url}${shownTarget(got?.url ?? '')}`, `${forwarded?.method} ${forwarded?.url}`, recorded.name)
      t.same(
        asShown(request, got?.rawHeaders ?? []),
        { headers: forwarded?.headers, dropped: forwarded?.dropped },
        `${recorded.name}: headers`
      )
      t.same(
        [got?.body.length, got?.body.equals(request.body)],
        [forwarded?.body.bytes, forwarded?.body.unchanged],
        `${recorded.name}: body`
      )
    }
  }
  t.ok(counts.forward >= 20 && counts.reject >= 40, JSON.stringify(counts))
})

t.test('no data of the client is printed', async t => {
  const agent = await fakeAgent(t, { card })
  const explain = explaining({ yaml: yaml(agent.url) })
  for (const recorded of corpus()) {
    const explanation = await explain(recorded)
    t.notMatch(JSON.stringify(explanation), SECRET, recorded.name)
    t.notMatch(explanationText(explanation), SECRET, recorded.name)
  }
})

t.test('sets, rules with verdicts, reasons', async t => {
  const agent = await fakeAgent(t, { card })
  const explain = explaining({ yaml: yaml(agent.url) })
  const named = async (name: string): Promise<Explanation> => await explain(corpus().find(one => one.name === name) as Recorded)

  const broken = await named('1.0 JSONRPC: several broken')
  t.same(broken.extensions, {
    declared: [PAY, WATCH],
    requested: [],
    listed: [],
    evidenced: [PAY],
    active: [],
    injected: [],
    missing: [PAY],
    forbidden: []
  })
  t.same(
    broken.checks.map(({ rule, verdict, path }) => [rule, verdict, path]),
    [
      ['pay/required', 'broken', 'header A2A-Extensions'],
      ['pay/inactive', 'broken', 'params.message.metadata.amount']
    ]
  )
  t.same(
    broken.policies.map(({ name, mode, active, why, rules }) => [
      name,
      mode,
      active,
      why,
      rules.map(({ id, verdict, values }) => [id, verdict, values])
    ]),
    [
      [
        'pay',
        'enforce',
        false,
        null,
        [
          ['number', 'broken', 1],
          ['not-on-tasks', 'broken', 1],
          ['gently', 'observed', 1]
        ]
      ],
      ['watch', 'observe', false, null, [['never', 'observed', 1]]]
    ]
  )
  t.equal(broken.rule, 'pay/required')

  const fine = await named('0.3 HTTP+JSON: accepted')
  t.same(
    fine.policies[0]?.rules.map(({ id, verdict, why }) => [id, verdict, why]),
    [
      ['number', 'passed', null],
      ['not-on-tasks', 'not applicable', 'its "when" does not match'],
      ['gently', 'passed', null]
    ]
  )
  t.equal(fine.versionWhy, 'the header A2A-Version is 0.3')
  t.equal((await named('0.3 JSONRPC: accepted')).versionWhy, 'the request names no version, which means 0.3')
  t.equal((await named('version in the query')).versionWhy, 'the query parameter A2A-Version is 1.0')
  t.equal((await named('version in the query')).forwarded?.url, `${agent.url}/rpc?A2A-Version=***&token=***`)

  const off = await named('1.0 JSONRPC: off')
  t.same(off.policies.map(({ name, why }) => [name, why]), [['pay', 'the agent\'s mode is off']])
  const unread = await named('1.0 JSONRPC: bad JSON')
  t.same(unread.policies.map(({ why }) => why), ['the request could not be read', 'the request could not be read'])
  t.same(unread.checks.map(({ rule }) => rule), ['gateway/json'])
  const layered = await named('1.0 JSONRPC: unlisted')
  t.same(
    layered.policies.map(({ name, layers, from, mode }) => [name, layers, from.mode ?? null, mode]),
    [
      ['given', ['file'], null, 'enforce'],
      ['watch', ['file', 'agent'], 'agent', 'enforce']
    ]
  )
  t.match(await named('unknown method'), { operation: 'Other', method: null }, 'a method that nobody knows may be data')
  t.match(await named('known method'), { operation: 'x/known', method: null }, 'a method by the name that a policy declares')
  t.match(await named('known route'), { operation: 'GET /things/{id}', method: null })
  t.match(explanationText(await named('known method')), /^operation +x\/known$/m)
  t.equal((await named('GET a task')).policies[0]?.rules[0]?.why, 'not for this operation')
  t.same((await named('passthrough')).kind, 'passthrough')
  const { forwarded } = await named('1.0 JSONRPC: accepted with more lines and unlisted')
  t.same(forwarded?.dropped, ['connection'])
  t.same(forwarded?.headers.map(({ name, value, change }) => `${change} ${name}: ${value}`), [
    `changed host: ${new URL(agent.url).host}`,
    'same user-agent: test',
    'same authorization: ***',
    'same content-type: application/json',
    'same x-custom: ***',
    'same cookie: ***',
    'same a2a-version: 1.0',
    'changed a2a-extensions: https://x.example',
    `changed a2a-extensions: ${WATCH}`,
    `changed a2a-extensions: ${PAY}`,
    'changed x-forwarded-for: (the client\'s address)',
    'added x-forwarded-proto: http',
    'added x-forwarded-host: gw.example',
    `same content-length: ${forwarded?.body.bytes}`
  ])
})

t.test('data that a policy owns and no rule looked at is listed by its path', async t => {
  const agent = await fakeAgent(t, { card })
  const narrow = `  - {name: narrow, path: /narrow, extensions: [narrow], upstream: {url: "${agent.url}"}}`
  const policy = `  narrow:
    uri: ${WATCH}
    mode: observe
    owns: {metadata: [$uri]}
    request: [{id: r, select: {metadata: {in: [message], key: $uri}}, schema: true}]
`
  const explain = explaining({ yaml: `${yaml(agent.url).replace('agents:\n', `agents:\n${narrow}\n`)}${policy}` })
  for (const { name, lines, path, body } of SPELLINGS) {
    const explained = async (text: string): Promise<Explanation> => await explain(http(name, `POST /narrow${path}`, lines, text))
    t.same((await explained(body({ [WATCH]: SECRET }))).unexamined, [], name)
    const plain = JSON.parse(body({})) as { readonly params?: object }
    const metadata = { [WATCH]: SECRET }
    const sent = plain.params === undefined ? { ...plain, metadata } : { ...plain, params: { ...plain.params, metadata } }
    const found = await explained(JSON.stringify(sent))
    const place = `${plain.params === undefined ? '' : 'params.'}metadata["${WATCH}"]`
    t.same(found.unexamined, [{ extension: 'narrow', path: place }], name)
    t.match(explanationText(found), `data that no rule looked at\n  narrow: ${place}\n`)
    t.notMatch(explanationText(found), SECRET)
  }
})
