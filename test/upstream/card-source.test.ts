import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { Agent } from 'undici'
import { CardSource } from '#agents/card/card-source.js'
import type { CardSourceOptions } from '#agents/card/card-keeper.js'
import type { LoadedCards } from '#a2a/card/loaded-cards.js'
import { startAgent } from '../helpers/agents.js'
import { CARD_CONFIG } from '../helpers/card-config.js'

/** The part of a test that the helpers use. */
interface Test { teardown (end: () => unknown): unknown }

const NEW = '/.well-known/agent-card.json'
const OLD = '/.well-known/agent.json'
const card = (name: string, more: object = {}): string => JSON.stringify({ name, url: 'http://agent.test/rpc', ...more })

interface Served { server: Server, url: string, seen: IncomingMessage[] }

async function serve (t: Test, handler: RequestListener, port = 0): Promise<Served> {
  const seen: IncomingMessage[] = []
  const server = createServer((req, res) => {
    seen.push(req)
    handler(req, res)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => stop(server))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

function stop (server: Server): void {
  server.close()
  server.closeAllConnections()
}

const at = (path: string, body: string | ((req: IncomingMessage, res: ServerResponse) => void)): RequestListener => (req, res) => {
  if (req.url !== path) res.writeHead(404, { 'content-type': 'text/plain' }).end('not here')
  else if (typeof body === 'string') res.setHeader('content-type', 'application/json').end(body)
  else body(req, res)
}

interface Watch {
  source: CardSource
  cards: LoadedCards[]
  outcomes: string[]
  lines: string[]
  expired: number
  names: () => string[]
  /** Waits for a condition, checked after every event. */
  until: (done: () => boolean) => Promise<void>
}

type Config = Partial<CardSourceOptions['config']>

function watch (t: Test, upstream: string, config: Config = {}, options: Partial<CardSourceOptions> = {}): Watch {
  const agent = new Agent()
  const self: Watch = {
    source: undefined as unknown as CardSource,
    cards: [],
    outcomes: [],
    lines: [],
    expired: 0,
    names: () => {
      const byVersion = self.cards.at(-1)?.byVersion
      return byVersion === undefined ? [] : [byVersion['0.3'].card.name, byVersion['1.0'].card.name]
    },
    until: async (done) => {
      const deadline = Date.now() + 5000
      while (!done()) {
        if (Date.now() > deadline) {
          throw new Error(`waited in vain: ${JSON.stringify({ ...self.source.status, outcomes: self.outcomes, lines: self.lines })}`)
        }
        await sleep(5)
      }
    }
  }
  const line = (level: string) => (_values: object, message: string): void => { self.lines.push(`${level} ${message}`) }
  self.source = new CardSource({
    agent: 'a',
    config: { ...CARD_CONFIG, ...config },
    headers: {},
    extended: null,
    upstream: new URL(upstream),
    limits: { card: 10_000, jsonDepth: 64, jsonMembers: 1000 },
    dispatcher: () => agent,
    onCards: cards => {
      self.cards.push(cards)
    },
    onRefresh: outcome => {
      self.outcomes.push(outcome)
    },
    onExpired: () => {
      self.expired++
    },
    log: { info: line('info'), warn: line('warn'), error: line('error') },
    ...options
  })
  t.teardown(async () => {
    await self.source.close()
    await agent.destroy()
  })
  return self
}

t.test('the two well-known paths', async (t) => {
  const { url, seen } = await serve(t, at(`/base${NEW}`, card('new')))
  const w = watch(t, `${url}/base/?x=1`)
  t.match(w.source.status, { state: 'loading', fetchedAt: null, nextAt: null, problem: null, origin: null })
  await w.source.refreshNow()
  t.same(w.names(), ['new', 'new'])
  t.equal(w.cards[0]?.byVersion['0.3'], w.cards[0]?.byVersion['1.0'], 'same bytes, one document')
  t.match(w.source.status, { state: 'ok', problem: null, origin: `${url}/base${NEW}`, fetchedAt: Number, nextAt: Number })
  t.same(seen.map((req) => [req.url, req.headers.accept, req.headers['a2a-version'] ?? '']).sort(),
    [[`/base${NEW}`, 'application/json', ''], [`/base${NEW}`, 'application/json', '1.0']])
  t.same(w.outcomes, ['changed'])

  for (const status of [404, 405, 410, 501]) {
    const { url } = await serve(t, (req, res) => {
      if (req.url === OLD) res.end(card('old'))
      else res.writeHead(status).end('no')
    })
    const w = watch(t, url)
    await w.source.refreshNow()
    t.same(w.names(), ['old', 'old'], String(status))
    t.equal(w.source.status.origin, url + OLD)
  }
})

t.test('other statuses do not lead to the older path', async (t) => {
  for (const status of [400, 401, 403, 429, 500, 503]) {
    const { url, seen } = await serve(t, (req, res) => {
      if (req.url === OLD) res.end(card('old'))
      else res.writeHead(status, { 'content-type': 'text/html' }).end('<p>secret')
    })
    const w = watch(t, url)
    await w.source.refreshNow()
    t.equal(w.cards.length, 0)
    t.equal(seen.length, 2)
    t.match(w.source.status, { state: 'failed', problem: new RegExp(`${NEW} responded with ${status}`) })
    t.same(w.outcomes, [status === 429 || status >= 500 ? 'unreachable' : 'invalid'])
    t.equal(w.lines.length, 1)
    t.notOk(w.lines[0]?.includes('secret'))
  }
})

t.test('neither path', async (t) => {
  const { url } = await serve(t, at('/', ''))
  const w = watch(t, url)
  await w.source.refreshNow()
  t.equal(w.source.status.problem, `${url}${NEW} responded with 404; so did ${url}${OLD}`)
})

t.test('card.url is used unchanged, from its own origin', async (t) => {
  const elsewhere = await serve(t, at('/cards/a?v=2', card('elsewhere')))
  const origins: string[] = []
  const agent = new Agent()
  t.teardown(() => agent.destroy())
  const w = watch(
    t,
    'http://127.0.0.1:1',
    { url: `${elsewhere.url}/cards/a?v=2` },
    {
      dispatcher: origin => {
        origins.push(origin)
        return agent
      }
    }
  )
  await w.source.refreshNow()
  t.same(w.names(), ['elsewhere', 'elsewhere'])
  t.same(origins, [elsewhere.url, elsewhere.url])
  t.equal(w.source.status.origin, `${elsewhere.url}/cards/a`, 'no query in logs')
  const gone = watch(t, elsewhere.url, { url: `${elsewhere.url}/gone` })
  await gone.source.refreshNow()
  t.equal(gone.source.status.problem, `${elsewhere.url}/gone responded with 404`, 'no other path is tried')
})

t.test('the gateway follows no redirect', async (t) => {
  const target = await serve(t, at(NEW, card('target')))
  for (const status of [301, 302, 307, 308]) {
    const { url } = await serve(t, (_req, res) => { res.writeHead(status, { location: target.url + NEW }).end() })
    const w = watch(t, url)
    await w.source.refreshNow()
    t.equal(w.source.status.problem, `${url}${NEW} responded with ${status}; the gateway follows no redirect; set card.url to the final address`)
    t.same(w.outcomes, ['invalid'])
  }
  t.equal(target.seen.length, 0)
})

t.test('an agent that serves another card to 1.0 callers', async (t) => {
  let v1: (res: ServerResponse) => void = (res) => res.end(card('one'))
  let plain: (res: ServerResponse) => void = (res) => res.end(card('hybrid'))
  const { url } = await serve(t, at(NEW, (req, res) => {
    res.setHeader('vary', 'A2A-Version')
    if (req.headers['a2a-version'] === '1.0') v1(res)
    else plain(res)
  }))
  const w = watch(t, url)
  await w.source.refreshNow()
  t.same(w.names(), ['hybrid', 'one'])

  v1 = (res) => res.writeHead(500).end()
  await w.source.refreshNow()
  t.same(w.names(), ['hybrid', 'one'], 'a variant that is out of order is not replaced by the other')
  t.match(w.source.status, { state: 'stale', problem: /with A2A-Version: 1.0, .* responded with 500/ })

  v1 = (res) => res.writeHead(400).end()
  await w.source.refreshNow()
  t.same(w.names(), ['hybrid', 'hybrid'], 'a variant that is refused is')

  v1 = (res) => res.writeHead(500).end()
  await w.source.refreshNow()
  t.equal(w.outcomes.at(-1), 'unchanged', 'once it stands in, an error of the other does not matter')

  v1 = (res) => res.end(card('one'))
  plain = (res) => res.writeHead(400).end('no interface of 0.3')
  await w.source.refreshNow()
  t.same(w.names(), ['one', 'one'], 'and the other way round')

  v1 = (res) => res.end('{')
  plain = (res) => res.end(card('hybrid'))
  await w.source.refreshNow()
  t.same([w.names(), w.outcomes.at(-1)], [['one', 'one'], 'invalid'], 'a broken variant is a broken card')

  v1 = (res) => res.destroy()
  await w.source.refreshNow()
  t.equal(w.outcomes.at(-1), 'unreachable', 'nor is a lost connection a refusal')
})

t.test('conditional requests', async (t) => {
  let name = 'first'
  const { url, seen } = await serve(t, at(NEW, (req, res) => {
    const etag = `W/"${name}${req.headers['a2a-version'] ?? ''}"`
    res.setHeader('etag', etag).setHeader('last-modified', 'Mon, 01 Jan 2024 00:00:00 GMT').setHeader('cache-control', 'max-age=100')
    if (req.headers['if-none-match'] === etag) res.writeHead(304).end()
    else res.end(card(name))
  }))
  let now = 1000
  const w = watch(t, url, {}, { now: () => now, random: () => 0.5 })
  await w.source.refreshNow()
  t.match(w.source.status, { fetchedAt: 1000, nextAt: 101_000 })
  now = 5000
  await w.source.refreshNow()
  t.match(w.source.status, { fetchedAt: 5000, nextAt: 105_000 })
  t.equal(seen.at(-1)?.headers['if-modified-since'], 'Mon, 01 Jan 2024 00:00:00 GMT')
  name = 'second'
  await w.source.refreshNow()
  await w.source.refreshNow()
  t.same(w.outcomes, ['changed', 'not_modified', 'changed', 'not_modified'])
  t.same(w.cards.map((one) => one.byVersion['0.3'].card.name), ['first', 'second'])
})

t.test('304 without validators sent', async (t) => {
  const { url } = await serve(t, (_req, res) => { res.writeHead(304).end() })
  const w = watch(t, url)
  await w.source.refreshNow()
  t.match(w.source.status.problem, /responded with 304, although/)
})

t.test('same bytes: no new card', async (t) => {
  const { url } = await serve(t, at(NEW, card('same')))
  const w = watch(t, url)
  await w.source.refreshNow()
  await w.source.refreshNow()
  t.same([w.outcomes, w.cards.length], [['changed', 'unchanged'], 1])
})

t.test('bodies that are not a card', async (t) => {
  const html = '<!doctype html><title>secret</title>'
  const cases: [what: string, type: string, body: string | Buffer, problem: RegExp][] = [
    [
      'HTML',
      'text/html; charset=utf-8',
      html,
      /does not contain a card: the JSON is not valid at byte 0.* It responded with 200 with content type "text\/html"\.$/
    ],
    ['HTML as JSON', 'application/json', html, /not valid at byte 0[^.]*\.$/],
    ['odd content type', 'text/ht\tml', html, /content type|not valid/],
    ['nothing', 'application/json', '', /empty/],
    ['half', 'application/json', card('x').slice(0, -1), /the JSON ends at byte/],
    ['duplicate keys', 'application/json', '{"url":"http://a/","url":"http://b/"}', /duplicate member "url"/],
    ['not UTF-8', 'application/json', Buffer.from([0x22, 0xff, 0x22]), /not UTF-8/],
    ['too deep', 'application/json', '['.repeat(100) + ']'.repeat(100), /nested deeper than 64/],
    ['too many members', 'application/json', JSON.stringify(Array(1001).fill(0)), /more than 1000/],
    ['an array', 'application/json', '[]', /does not contain a usable card: the card is not a JSON object but an array/],
    ['no interface', 'application/json', '{"name":"x"}', /names no interface/],
    ['another binding only', 'application/json', card('x', { preferredTransport: 'SOAP' }), /does not support the binding "SOAP"/]
  ]
  for (const [what, type, body, problem] of cases) {
    const { url } = await serve(t, at(NEW, (_req, res) => { res.setHeader('content-type', type).end(body) }))
    const w = watch(t, url)
    await w.source.refreshNow()
    await w.source.refreshNow()
    t.match(w.source.status, { state: 'failed', problem }, what)
    t.same(w.outcomes, ['invalid', 'invalid'])
    t.equal(w.lines.length, 1, 'one line')
    t.match(w.lines[0], /^error agent a has no card: http:/)
    t.notOk(/secret|\n/.test(w.lines[0] ?? ''), 'nothing of the body')
  }
})

t.test('JSON by another name, and with a byte order mark', async (t) => {
  const { url } = await serve(t, at(NEW, (_req, res) => { res.setHeader('content-type', 'text/plain').end(`\ufeff${card('plain')}`) }))
  const w = watch(t, url)
  await w.source.refreshNow()
  t.same(w.names(), ['plain', 'plain'])
})

t.test('content-encoding is rejected', async (t) => {
  const { url, seen } = await serve(t, at(NEW, (_req, res) => { res.setHeader('content-encoding', 'gzip').end(gzipSync(card('x'))) }))
  const w = watch(t, url)
  await w.source.refreshNow()
  t.match(w.source.status.problem, /responded with 200 and a content-encoding/)
  t.equal(seen[0]?.headers['accept-encoding'], undefined)
  const identity = await serve(t, at(NEW, (_req, res) => { res.setHeader('content-encoding', 'identity').end(card('x')) }))
  const v = watch(t, identity.url)
  await v.source.refreshNow()
  t.equal(v.source.status.state, 'ok')
})

t.test('a body without end is cut at the limit', async (t) => {
  let written = 0
  const { url } = await serve(t, at(NEW, (_req, res) => {
    res.setHeader('content-type', 'application/json')
    const more = (): void => {
      while (!res.destroyed && res.write(' '.repeat(1000))) written += 1000
    }
    res.on('drain', more)
    more()
  }))
  const w = watch(t, url)
  await w.source.refreshNow()
  t.match(w.source.status.problem, /responded with 200 and more than 10000 bytes \(limits.card\)/)
  t.ok(written < 50_000_000, String(written))
  await w.source.close()
})

t.test('the limit itself is allowed', async (t) => {
  const full = (size: number) => card('x').padEnd(size, ' ')
  let body = full(10_000)
  const { url } = await serve(t, at(NEW, (_req, res) => { res.end(body) }))
  const w = watch(t, url)
  await w.source.refreshNow()
  t.equal(w.source.status.state, 'ok')
  body = full(10_001)
  await w.source.refreshNow()
  t.equal(w.source.status.state, 'stale')
})

t.test('slow agents', async (t) => {
  const cases: Record<string, RequestListener> = {
    'no answer': () => {},
    'no end': (_req, res) => { res.write('{') },
    trickle: (_req, res) => {
      const timer = setInterval(() => res.write(' '), 10)
      res.on('close', () => clearInterval(timer))
    },
    'no end of an error': (_req, res) => { res.writeHead(500).write('x') }
  }
  for (const [what, handler] of Object.entries(cases)) {
    const { url } = await serve(t, handler)
    const w = watch(t, url, {}, { timeout: 80 })
    const start = Date.now()
    await w.source.refreshNow()
    t.ok(Date.now() - start < 1000, what)
    t.match(w.source.status.problem, what === 'no end of an error' ? /responded with 500/ : /did not deliver the card within 80 ms/)
    t.same(w.outcomes, ['unreachable'])
  }
})

t.test('connections that break', async (t) => {
  const { url } = await serve(t, at(NEW, (_req, res) => {
    res.writeHead(200, { 'content-length': '500' }).write('{')
    setTimeout(() => res.destroy(), 10)
  }))
  const w = watch(t, url)
  await w.source.refreshNow()
  t.match(w.source.status.problem, /cannot be reached: the connection broke \(UND_ERR_SOCKET\)/)
  const nobody = watch(t, 'http://127.0.0.1:1')
  await nobody.source.refreshNow()
  t.equal(nobody.source.status.problem, `http://127.0.0.1:1${NEW} cannot be reached: connection refused (ECONNREFUSED)`)
  t.same(nobody.outcomes, ['unreachable'])
  t.same(nobody.lines, [
    `warn agent a has no card: http://127.0.0.1:1${NEW} cannot be reached: connection refused (ECONNREFUSED); trying again`
  ])
})

t.test('the agent starts after the gateway, goes away and comes back', async (t) => {
  const first = await serve(t, at(NEW, card('x')))
  const port = Number(new URL(first.url).port)
  stop(first.server)
  await once(first.server, 'close')

  const w = watch(t, first.url, { refresh: 20 })
  w.source.start()
  await w.until(() => w.outcomes.length >= 3)
  t.match(w.source.status, { state: 'failed', nextAt: Number })
  t.same(w.lines.length, 1, 'no repetition')

  const second = await serve(t, at(NEW, card('x')), port)
  await w.until(() => w.cards.length === 1)
  t.equal(w.source.status.state, 'ok')
  await w.until(() => w.outcomes.at(-1) === 'unchanged')

  stop(second.server)
  await w.until(() => w.outcomes.at(-1) === 'unreachable')
  t.equal(w.source.status.state, 'stale')
  await serve(t, at(NEW, card('x')), port)
  await w.until(() => w.outcomes.at(-1) === 'unchanged')
  t.equal(w.cards.length, 1, 'the same card is not announced again')
  t.match(w.lines.map((line) => line.split(':', 1)[0]), [
    'warn agent a has no card', 'info agent a', 'warn agent a has no newer card', 'info agent a'
  ])
  t.match(w.lines[1], 'card loaded')
  t.match(w.lines.at(-1), 'the card can be fetched again')
})

t.test('each new problem is one line', async (t) => {
  let status = 500
  const { url } = await serve(t, (_req, res) => { res.writeHead(status).end() })
  const w = watch(t, url)
  for (status of [500, 500, 502, 502, 500]) await w.source.refreshNow()
  t.match(w.lines, [/responded with 500/, /responded with 502/, /responded with 500/])
  t.equal(w.lines.length, 3)
})

t.test('back-off', async (t) => {
  let up = false
  const { url } = await serve(t, at(NEW, (_req, res) => { res.writeHead(up ? 200 : 503).end(up ? card('x') : '') }))
  const w = watch(t, url, { refresh: 3000 }, { now: () => 0, random: () => 0.5 })
  const waits: unknown[] = []
  for (let i = 0; i < 5; i++) {
    await w.source.refreshNow()
    waits.push(w.source.status.nextAt)
  }
  up = true
  await w.source.refreshNow()
  waits.push(w.source.status.nextAt)
  up = false
  await w.source.refreshNow()
  waits.push(w.source.status.nextAt)
  t.same(waits, [500, 1000, 2000, 3000, 3000, 3000, 500])
})

t.test('expiry', async (t) => {
  let up = true
  const { url } = await serve(t, at(NEW, (req, res) => {
    if (!up) return res.writeHead(503).end()
    res.setHeader('etag', '"x"')
    return req.headers['if-none-match'] === '"x"' ? res.writeHead(304).end() : res.end(card('x'))
  }))
  const w = watch(t, url, { refresh: 20, maxStale: 300 })
  w.source.start()
  const start = Date.now()
  await w.until(() => Date.now() - start > 400)
  t.equal(w.expired, 0, 'every success counts, a 304 too')
  up = false
  await w.until(() => w.expired === 1)
  t.equal(w.source.status.state, 'expired')
  const failures = w.outcomes.length
  await w.until(() => w.outcomes.length > failures + 3)
  t.equal(w.expired, 1, 'once')
  up = true
  await w.until(() => w.cards.length === 2)
  t.match(w.source.status, { state: 'ok', problem: null })
  t.match(w.lines, [/card loaded/, /has no newer card/, /^error agent a: the card has expired/, /can be fetched again/])
})

t.test('maxStale below refresh: the card lives until a refresh fails', async (t) => {
  let up = true
  const { url, seen } = await serve(t, at(NEW, (_req, res) => { res.writeHead(up ? 200 : 503).end(up ? card('x') : '') }))
  const w = watch(t, url, { refresh: 100, maxStale: 0 }, { random: () => 0.5 })
  w.source.start()
  await w.until(() => w.outcomes.length === 3)
  t.same([w.expired, seen.length], [0, 6], 'and the agent is not hammered')
  up = false
  await w.until(() => w.outcomes.length === 5)
  t.same([w.expired, w.source.status.state], [1, 'expired'])
})

t.test('after expiry an unusable variant is replaced', async (t) => {
  let up = true
  const { url } = await serve(t, at(NEW, (req, res) => {
    if (req.headers['a2a-version'] === undefined) res.end(card('plain'))
    else res.writeHead(up ? 200 : 500).end(up ? card('one') : '')
  }))
  const w = watch(t, url, { refresh: 20, maxStale: 200 })
  w.source.start()
  await w.until(() => w.cards.length === 1)
  up = false
  await w.until(() => w.cards.length === 2)
  t.same(w.names(), ['plain', 'plain'])
  t.equal(w.expired, 1)
})

t.test('a card that its user cannot use', async (t) => {
  let name = 'good'
  const { url } = await serve(t, at(NEW, (_req, res) => { res.setHeader('etag', `"${name}"`).end(card(name)) }))
  const used: string[] = []
  const w = watch(t, url, {}, {
    onCards: ({ byVersion }) => {
      if (byVersion['0.3'].card.name === 'bad') throw new Error('schemas.order does not compile')
      used.push(byVersion['0.3'].card.name)
    }
  })
  await w.source.refreshNow()
  name = 'bad'
  await w.source.refreshNow()
  t.match(w.source.status, { state: 'stale', problem: `${url}${NEW} does not contain a usable card: schemas.order does not compile` })
  await w.source.refreshNow()
  name = 'good'
  await w.source.refreshNow()
  t.same(w.outcomes, ['changed', 'invalid', 'invalid', 'unchanged'])
  t.same(used, ['good'])
  t.equal(w.lines.filter((line) => line.startsWith('error')).length, 1)
})

t.test('warnings of a card are logged once', async (t) => {
  const { url } = await serve(t, at(NEW, card('x', { capabilities: { extensions: [{ uri: 'urn:a', required: 'true' }, {}] } })))
  const w = watch(t, url)
  await w.source.refreshNow()
  await w.source.refreshNow()
  t.match(w.lines, [/^info .*card loaded/, /^warn agent a: warnings about the card: .*"required" is not a boolean.*; .*has no URI/])
  t.equal(w.lines.length, 2)
})

t.test('a card on disk', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'card-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'card.json')
  writeFileSync(path, card('one'))
  const w = watch(t, 'http://127.0.0.1:1', { file: path, refresh: 20 }, { dispatcher: () => { throw new Error('dialled') } })
  w.source.start()
  await w.until(() => w.outcomes.at(-1) === 'unchanged')
  t.same(w.names(), ['one', 'one'])
  t.equal(w.source.status.origin, path)
  writeFileSync(path, card('two'))
  await w.until(() => w.names()[0] === 'two')
  rmSync(path)
  await w.until(() => w.source.status.state === 'stale')
  t.equal(w.source.status.problem, `${path} does not exist`)
  writeFileSync(path, '{')
  await w.until(() => w.outcomes.at(-1) === 'invalid')
  writeFileSync(path, ' '.repeat(10_001))
  await w.until(() => w.source.status.problem?.includes('limits.card') === true)
  writeFileSync(path, card('two'))
  await w.until(() => w.source.status.state === 'ok')
  const folder = watch(t, 'http://127.0.0.1:1', { file: dir })
  await folder.source.refreshNow()
  t.match(folder.source.status.problem, /is not a file$/)
})

t.test('joined refreshes, close', async (t) => {
  const { url, seen } = await serve(t, () => {})
  const w = watch(t, url)
  const one = w.source.refreshNow()
  t.equal(w.source.refreshNow(), one)
  await w.until(() => seen.length === 2)
  await w.source.close()
  await one
  await w.source.refreshNow()
  t.same([w.outcomes, w.lines, seen.length], [[], [], 2], 'nothing is said after close')
  t.match(w.source.status, { state: 'loading', nextAt: null })
})

t.test('cards of the official SDKs', async (t) => {
  for (const kind of ['v1', 'dual', 'v03'] as const) {
    const agent = await startAgent({ kind, card: { name: kind, extensions: [{ uri: 'urn:a', required: true }] } })
    t.teardown(() => agent.close())
    const w = watch(t, agent.url, {}, { now: () => 0, random: () => 0.5 })
    await w.source.refreshNow()
    const { 0.3: plain, '1.0': one } = w.cards[0]?.byVersion ?? {}
    t.match(
      [plain?.card, one?.card],
      Array(2).fill({ name: kind, extensions: [{ uri: 'urn:a', required: true }], extendedCard: true, warnings: [] }),
      kind
    )
    t.equal(plain === one, kind !== 'dual')
    const interfaces = one?.card.interfaces.map(({ binding, version, url }) => `${version} ${binding} ${url.pathname}`)
    const of = (version: string) => [`${version} JSONRPC /a2a/jsonrpc`, `${version} HTTP+JSON /a2a/rest`]
    t.same(interfaces?.sort(), [...(kind === 'v1' ? [] : of('0.3')), ...(kind === 'v03' ? [] : of('1.0'))].sort())
    t.same(plain?.card.interfaces.map(({ binding, version, url }) => `${version} ${binding} ${url.pathname}`).sort(), interfaces?.sort())
    await w.source.refreshNow()
    t.equal(w.outcomes[1], 'not_modified')
    t.equal(w.source.status.nextAt, kind === 'v03' ? 60_000 : 1_800_000)
  }
})
