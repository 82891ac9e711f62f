/**
 * No passthrough prefix lets a call avoid inspection, whatever spelling of an interface's path the client uses. Cards also spell paths in
 * many ways.
 */
import fc from 'fast-check'
import t from 'tap'
import { placeInterfaces } from '#a2a/card/interfaces.js'
import { readCard } from '#a2a/card/card.js'
import { isPassthrough } from '#pipeline/guard.js'
import { buildAgentState } from '#pipeline/agent-snapshot.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { checkTarget } from '#wire/target.js'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { fakeAgent, plainCard, rawExchange } from '../helpers/raw.js'
import { check, runs } from '../helpers/seed.js'

const REQUIRED = 'https://example.com/ext/required/v1'

/** Segments as cards write them: blanks, letters beyond ASCII, marks that nobody has to encode, escapes that nobody needs. */
const SEGMENTS = [
  'my%20agent',
  'MyAgent',
  'caf%C3%A9',
  'caf%c3%a9',
  'café',
  'a+b',
  'a;v=1',
  'a%3Bv',
  'a:b',
  'a%3ab',
  '%61gent',
  'a%7Cb',
  'a|b',
  'ΣΑΣ',
  '%CE%A3%CE%91%CE%A3',
  'a%25',
  "o'hara",
  'a(b)',
  'a,b',
  'a%2Cb',
  'x.y',
  '~x',
  'ﬁle',
  'Ⅷ'
]
/** What no card should write: the interface is not carried, and nothing else carries it either. */
const ODD = ['a//b', 'a/./b', 'a/../b', '%2e%2e/b', 'a%2Fb', 'a%5Cb', 'a/..;x/b', 'a b', 'a%252e', 'a%ff']

type Rewrite = (character: string) => string
const REWRITES: readonly Rewrite[] = [
  one => one,
  one => one.toUpperCase(),
  one => one.toLowerCase(),
  one => /[\w.~/-]/.test(one) ? one : escaped(one),
  one => /[\w.~/-]/.test(one) ? one : escaped(one).toLowerCase(),
  one => one === '/' ? ';x=1/' : one,
  one => one === '/' ? '%3bx/' : one,
  // Those below never pass the guard of targets.
  one => escaped(one),
  one => one === '/' ? '//' : one,
  one => one === '/' ? '/./' : one,
  one => one === '/' ? '/x/../' : one,
  one => one === '/' ? '/;a/' : one,
  one => one === '/' ? '%2f' : one,
  one => one === '/' ? '%5C' : one,
  one => escaped(one).replaceAll('%', '%25')
]

function escaped (text: string): string {
  return [...Buffer.from(text)].map(byte => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')
}

/** A spelling of the path of a card: it decoded, and each character written in one way or another. */
const spelled = (path: string, ways: readonly number[], tail: string): string => {
  let plain = path
  try { plain = decodeURIComponent(path) } catch {}
  const written = [...plain].map((one, i) => {
    if (i === 0) return one
    const rewritten = (REWRITES[(ways[i % ways.length] ?? 0) % REWRITES.length] as Rewrite)(one)
    return rewritten.replace(/[^\x21-\x7e]/gu, escaped)
  }).join('')
  return written + tail
}

function stateOf (
  interfaces: readonly object[],
  upstream = 'http://agent.test'
): { state: AgentState; config: Parameters<typeof isPassthrough>[0] } | null {
  const config = configOf({ yaml: oneAgent(upstream, ['passthrough: [/agents]']) }).agents[0] as Parameters<typeof isPassthrough>[0]
  const raw = plainCard('http://agent.test', { supportedInterfaces: interfaces })
  const read = readCard(raw)
  if (!read.ok) return null
  const document = { card: read.card, bytes: Buffer.from(JSON.stringify(raw)) }
  const loaded = { byVersion: { 0.3: document, '1.0': document }, fetchedAt: 0, origin: 'test' } as unknown as Parameters<
    typeof buildAgentState
  >[0]
  return {
    config,
    state: buildAgentState(loaded, { agent: config, maxExtensions: 8, previous: null, secretOf: SECRET_HIDDEN })
  }
}

const HOME = { url: 'http://agent.test/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
const PASSING = 7
const WAYS = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.nat(PASSING - 1) },
    { weight: 1, arbitrary: fc.integer({ min: PASSING, max: REWRITES.length - 1 }) }
  ),
  { minLength: 1, maxLength: 9 }
)
const TAILS = fc.constantFrom('', '/', ';x', '?y=1', '/;x=2', '%3Bx', '//')

t.test('no spelling of a card\'s path passes without inspection', async t => {
  const missed: unknown[] = []
  let passed = 0
  check(
    'security/bypass-passthrough-spellings/carried',
    fc.property(
      fc.array(fc.constantFrom(...SEGMENTS), { minLength: 1, maxLength: 3 }),
      fc.constantFrom('JSONRPC', 'HTTP+JSON'),
      fc.constantFrom('1.0', '0.3', '2.0'),
      WAYS,
      TAILS,
      (segments, protocolBinding, protocolVersion, ways, tail) => {
        const written = `/agents/${segments.join('/')}`
        const made = stateOf([HOME, { url: `http://agent.test${written}`, protocolBinding, protocolVersion }])
        if (made === null) return
        const operation = protocolBinding === 'JSONRPC' ? '' : protocolVersion === '0.3' ? '/v1/message:send' : '/message:send'
        const target = spelled(written + operation, ways, tail)
        if (checkTarget(target) !== null) return
        passed++
        if (isPassthrough(made.config, made.state.router, target.split('?')[0] ?? '')) {
          missed.push({ written, protocolBinding, protocolVersion, target })
        }
      }
    ),
    { numRuns: 600 }
  )
  t.same(missed, [])
  t.ok(passed > runs(60), `${passed} spellings got past the guard of targets`)
})

t.test('an interface in a spelling that is not served is not forwarded either', async t => {
  const missed: unknown[] = []
  let seen = 0
  check(
    'security/bypass-passthrough-spellings/uncarried',
    fc.property(fc.constantFrom(...ODD), fc.constantFrom('JSONRPC', 'HTTP+JSON'), WAYS, TAILS, (odd, protocolBinding, ways, tail) => {
      const interfaces = [HOME, { url: `http://agent.test/agents/${odd}`, protocolBinding, protocolVersion: '1.0' }]
      const made = stateOf(interfaces)
      const { pathname } = new URL(`http://agent.test/agents/${odd}`)
      if (made === null) return
      if (made.state.interfaces.length > 1) missed.push({ odd, carried: true })
      // As an agent that resolves what a URL parser does not would serve it.
      let plain = pathname
      try {
        plain = decodeURIComponent(decodeURIComponent(pathname))
      } catch {}
      const resolved = new URL(
        `http://x${plain
          .replaceAll(/;[^/]*/g, '')
          .replaceAll('\\', '/')
          .replaceAll(/\/{2,}/g, '/')}`
      ).pathname
      const target = spelled(resolved + (protocolBinding === 'JSONRPC' ? '' : '/message:send'), ways, tail)
      if (checkTarget(target) !== null) return
      seen++
      if (isPassthrough(made.config, made.state.router, target.split('?')[0] ?? '')) missed.push({ odd, protocolBinding, target })
    }),
    { numRuns: 200 }
  )
  t.same(missed, [])
  t.ok(seen > runs(10), `${seen} spellings`)
})

t.test('a path that is not an interface still passes below the prefix', async t => {
  const made = stateOf([HOME, { url: 'http://agent.test/agents/my%20agent', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }])
  if (made === null) return t.fail('the card is read')
  for (const path of ['/agents', '/agents/other', '/agents/my', '/agents/my%20agents', '/agents/my%20agent/docs', '/agents/myagent']) {
    t.equal(isPassthrough(made.config, made.state.router, path), true, path)
  }
  t.equal(placeInterfaces({ supportedInterfaces: [HOME] }).length, 1)
})

t.test('through a gateway: only inspected requests arrive, and the card\'s own address works in both cases of its escapes', async t => {
  const paths = ['/agents/my%20agent', '/agents/caf%C3%A9', '/agents/%61gent;v']
  for (const path of paths) {
    const agent = await fakeAgent(t, {
      card: url => plainCard(url, {
        supportedInterfaces: [{ url: url + path, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
        capabilities: { extensions: [{ uri: REQUIRED, required: true }] }
      })
    })
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['passthrough: [/agents]']) })
    const body =
      '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}'
    const head = (target: string, close: boolean, more = ''): string =>
      `POST ${target} HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n${more}${close ? 'Connection: close\r\n' : ''}Content-Length: ${body.length}\r\n\r\n${body}`
    // eslint-disable-next-line no-restricted-properties -- a few examples for real sockets, with a fixed seed
    const spellings = fc
      .sample(fc.tuple(WAYS, fc.constantFrom('', '/', ';x', '%3Bx')), { seed: 3, numRuns: 40 })
      .map(([ways, tail]) => spelled(path, ways, tail))
    const exact = [
      path,
      path.toLowerCase(),
      path.replace(/%[\da-f]{2}/gi, one => one.toLowerCase()),
      path.toUpperCase().replace('/AGENTS', '/agents')
    ]
    const targets = [...exact, ...spellings].filter(target => target.startsWith('/agents'))
    await rawExchange(gateway.url, targets.map((target, i) => head(target, i === targets.length - 1)).join(''), { until: 'close' })
    t.same(agent.received.map(({ url }) => url), [], path)
    const served =
      (
        (await (await fetch(`${gateway.url}/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })).json()) as {
          supportedInterfaces: { url: string }[]
        }
      ).supportedInterfaces[0]?.url ?? ''
    const { pathname } = new URL(served)
    const lower = pathname.replace(/%[\dA-F]{2}/g, one => one.toLowerCase())
    await rawExchange(
      gateway.url,
      [pathname, lower].map((target, i) => head(target, i === 1, `A2A-Extensions: ${REQUIRED}\r\n`)).join(''),
      { until: 'close' }
    )
    t.same(agent.received.map(({ url }) => url), [path, path], 'inspected, they arrive as the card spells the path')
  }
})
