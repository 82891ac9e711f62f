/** Connections to an agent: which one a call uses, when they end, and that calls end as with undici's own pool. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { Pool } from 'undici'
import type { Dispatcher } from 'undici'
import { ConnectionPool } from '#upstream/connection-pool.js'
import { ConnectionQueue } from '#upstream/connection-queue.js'
import { failureKind } from '#upstream/failure.js'
import { forward } from '#upstream/forward.js'
import type { ForwardRequest, Forwarding } from '#upstream/forward.js'
import { listenFor, until } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'

const OPTIONS = { pipelining: 1, keepAliveTimeout: 60_000, connect: { timeout: 5_000 } } as const
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const STREAM = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n'

interface Request { readonly socket: Socket, /** Number of the connection, from 0. */ readonly connection: number, readonly head: string }

interface Agent {
  readonly url: string
  readonly requests: Request[]
  readonly sockets: ReadonlySet<Socket>
  /** Connections so far. */
  readonly opened: () => number
}

/** @param answer called with each request whose head is complete */
async function agentFor (t: Test, answer: (request: Request, count: number) => void = () => {}): Promise<Agent> {
  const sockets = new Set<Socket>()
  const requests: Request[] = []
  let opened = 0
  const server = createTcpServer(socket => {
    const connection = opened++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (!text.includes('\r\n\r\n')) return
      const request = { socket, connection, head: text }
      text = ''
      requests.push(request)
      answer(request, requests.length)
    })
  })
  return { url: await listenFor(t, server, sockets), requests, sockets, opened: () => opened }
}

interface Call {
  readonly forwarding: Forwarding
  /** Status and body, or the kind of the failure. */
  readonly ended: Promise<string>
}

function begin (dispatcher: Dispatcher, more: Partial<ForwardRequest> = {}): Call {
  let text = ''
  let forwarding: Forwarding | null = null
  const ended = new Promise<string>(resolve => {
    forwarding = forward({ dispatcher, method: 'GET', path: '/', headers: ['host', 'agent.test'], body: null, ...more }, {
      head: status => { text = `${status} ` },
      data: chunk => {
        text += chunk.toString()
        return true
      },
      end: () => { resolve(text) },
      owner: { place: 'upstream', endAfter: error => { throw error } },
      failed: error => { resolve(`${text}${failureKind(error)} ${String((error as NodeJS.ErrnoException).code)}`) }
    })
  })
  return { forwarding: forwarding as unknown as Forwarding, ended }
}

function poolFor (t: Test, url: string, connections = 4, more: object = {}): ConnectionPool {
  const pool = new ConnectionPool(url, { ...OPTIONS, connections, ...more })
  t.teardown(() => pool.destroy())
  return pool
}

/** One call whose connection is free again. */
async function whole (pool: Dispatcher, more: Partial<ForwardRequest> = {}): Promise<string> {
  const text = await begin(pool, more).ended
  await turn()
  return text
}

t.test('a call uses the connection that became free last', async t => {
  const agent = await agentFor(t)
  const pool = poolFor(t, agent.url)
  const calls = [begin(pool), begin(pool), begin(pool)]
  await until(() => agent.requests.length === 3)
  const held = agent.requests.splice(0).toSorted((a, b) => a.connection - b.connection)
  for (const i of [0, 2, 1]) {
    held[i]?.socket.write(OK)
    await until(() => pool['idle'].length === [0, 2, 1].indexOf(i) + 1)
  }
  t.same(await Promise.all(calls.map(call => call.ended)), ['200 ok', '200 ok', '200 ok'])
  const again = [begin(pool), begin(pool), begin(pool), begin(pool)]
  await until(() => agent.requests.length === 4)
  t.same(agent.requests.map(one => one.connection).toSorted(), [0, 1, 2, 3])
  t.same(agent.requests.slice(0, 1).map(one => one.connection), [1])
  for (const { socket } of agent.requests.splice(0)) socket.write(OK)
  await Promise.all(again.map(call => call.ended))
})

t.test('calls one after the other share a connection while streams are open', async t => {
  const agent = await agentFor(t, ({ socket, head }) => { socket.write(head.startsWith('GET /stream') ? STREAM : OK) })
  const pool = poolFor(t, agent.url, 1_000)
  const streams = Array.from({ length: 200 }, () => begin(pool, { path: '/stream' }))
  await until(() => agent.requests.length === 200)
  for (let i = 0; i < 300; i++) if (await whole(pool) !== '200 ok') t.fail('a call')
  t.equal(agent.opened(), 201)
  for (const { socket } of agent.requests.slice(0, 200)) socket.write('0\r\n\r\n')
  t.same(new Set(await Promise.all(streams.map(one => one.ended))), new Set(['200 ok']))
})

t.test('connections that the agent closes leave the list; an open one is used before a new one', async t => {
  const agent = await agentFor(t)
  const pool = poolFor(t, agent.url)
  const calls = [begin(pool), begin(pool), begin(pool)]
  await until(() => agent.requests.length === 3)
  for (const { socket } of agent.requests) socket.write(OK)
  await Promise.all(calls.map(call => call.ended))
  await until(() => pool['idle'].length === 3)
  const [first, second, third] = agent.requests.splice(0)
  first?.socket.end()
  third?.socket.resetAndDestroy()
  await until(() => pool['idle'].length === 1)
  const call = begin(pool)
  await until(() => agent.requests.length === 1)
  t.equal(agent.requests[0]?.connection, second?.connection)
  agent.requests[0]?.socket.write(OK)
  t.equal(await call.ended, '200 ok')
  t.equal(agent.opened(), 3)
  t.equal(pool['clients'].size, 1)
})

t.test('idle connections end after their timeout, and nothing is left of them', async t => {
  const agent = await agentFor(t, ({ socket }) => { socket.write(OK) })
  const pool = poolFor(t, agent.url, 100, { keepAliveTimeout: 50 })
  for (let round = 1; round <= 3; round++) {
    t.same(new Set(await Promise.all(Array.from({ length: 50 }, () => begin(pool).ended))), new Set(['200 ok']))
    await until(() => agent.sockets.size === 0)
    await until(() => pool['clients'].size === 0 && pool['idle'].length === 0)
    t.equal(agent.opened(), 50 * round)
  }
})

for (const queued of [true, false]) {
  t.test(`no more connections than the limit, and calls begin in order, ${queued ? 'behind a queue' : 'in the pool'}`, async t => {
    const agent = await agentFor(t)
    const pool = poolFor(t, agent.url, 2)
    const waiting = queued ? { queue: new ConnectionQueue(pool, 60_000) } : {}
    const calls = Array.from({ length: 12 }, (_, i) => begin(pool, { path: `/${i}`, ...waiting }))
    for (let i = 0; i < 12; i++) {
      await until(() => agent.requests.length > i)
      t.ok(agent.requests.length <= i + 2)
      agent.requests[i]?.socket.write(OK)
    }
    t.same(new Set(await Promise.all(calls.map(call => call.ended))), new Set(['200 ok']))
    t.same(agent.requests.slice(2).map(one => one.head.split(' ')[1]), Array.from({ length: 10 }, (_, i) => `/${i + 2}`))
    t.equal(agent.opened(), 2)
  })
}

t.test('an aborted call frees its place', async t => {
  const agent = await agentFor(t)
  const pool = poolFor(t, agent.url, 1)
  const queue = new ConnectionQueue(pool, 60_000)
  for (const bytes of ['', STREAM]) {
    const one = begin(pool, { queue })
    await until(() => agent.requests.length === 1)
    agent.requests[0]?.socket.write(bytes)
    await turn()
    const two = begin(pool, { queue, path: '/two' })
    one.forwarding.abort()
    await until(() => agent.requests.length === 2)
    t.match(agent.requests[1]?.head, /^GET \/two /)
    two.forwarding.abort()
    agent.requests.length = 0
  }
})

t.test('a call that was aborted before its connection was open', async t => {
  const agent = await agentFor(t, ({ socket }) => { socket.write(OK) })
  const pool = poolFor(t, agent.url, 1)
  const queue = new ConnectionQueue(pool, 60_000)
  const one = begin(pool, { queue })
  one.forwarding.abort()
  t.equal(await whole(pool, { queue, path: '/two' }), '200 ok')
  t.same(agent.requests.map(({ head }) => head.split(' ')[1]), ['/two'])
})

t.test('a request that undici rejects takes no place', async t => {
  const agent = await agentFor(t, ({ socket }) => { socket.write(OK) })
  const pool = poolFor(t, agent.url, 1)
  const queue = new ConnectionQueue(pool, 60_000)
  for (let i = 0; i < 3; i++) {
    t.match(await whole(pool, { queue, headers: ['x', 'a\nb'] }), /^other UND_ERR_INVALID_ARG$/)
    t.equal(await whole(pool, { queue }), '200 ok')
  }
  t.equal(agent.opened(), 1)
})

t.test('a certificate for another name takes no place', async t => {
  const fixture = (name: string): Buffer => readFileSync(join(inTests('fixtures/tls'), name))
  const server = createServer({ key: fixture('wrong.key.pem'), cert: fixture('wrong.pem') }, (_request, response) => { response.end('ok') })
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => { sockets.add(socket) })
  const url = (await listenFor(t, server, sockets)).replace('http:', 'https:')
  const pool = poolFor(t, url, 1, { connect: { ca: fixture('ca.pem') } })
  const queue = new ConnectionQueue(pool, 60_000)
  const calls = Array.from({ length: 3 }, () => begin(pool, { queue }).ended)
  t.same(new Set(await Promise.all(calls)), new Set(['tls ERR_TLS_CERT_ALTNAME_INVALID']))
  t.equal(pool['clients'].size, 0)
})

t.test('destroy ends every connection, and fails calls that run, wait and come', async t => {
  const agent = await agentFor(t, ({ socket }) => { socket.write(STREAM) })
  const pool = poolFor(t, agent.url, 2)
  const idle = begin(pool)
  await until(() => agent.requests.length === 1)
  agent.requests[0]?.socket.write('0\r\n\r\n')
  await idle.ended
  const calls = [begin(pool), begin(pool), begin(pool)]
  await until(() => agent.requests.length === 3)
  await turn()
  const destroyed = pool.destroy()
  const late = begin(pool)
  await Promise.all([destroyed, pool.destroy()])
  t.same(await Promise.all([...calls, late].map(call => call.ended)), [
    '200 okother UND_ERR_DESTROYED', '200 okother UND_ERR_DESTROYED', 'other UND_ERR_DESTROYED', 'other UND_ERR_DESTROYED'
  ])
  await until(() => agent.sockets.size === 0)
  t.equal(agent.opened(), 2)
})

interface Scene { readonly agent: Agent, readonly pool: Dispatcher }

const POST = { method: 'POST', headers: ['host', 'agent.test', 'content-type', 'text/plain'], body: Buffer.from('body') }

/** What an agent does, the calls, and how each of them ends. All of it is the same with undici's Pool. */
const SCENES: Readonly<Record<string, {
  readonly answer: (request: Request, count: number) => void
  readonly calls: (scene: Scene) => Promise<string[]>
  readonly expected: readonly string[]
  readonly opened: number
}>> = {
  'the agent has just closed the idle connection': {
    answer: ({ socket }) => { socket.write(OK) },
    calls: async ({ agent, pool }) => {
      const first = await whole(pool)
      for (const socket of agent.sockets) socket.end()
      return [first, await whole(pool), await whole(pool, POST)]
    },
    expected: ['200 ok', '200 ok', '200 ok'],
    opened: 2
  },
  'the agent has just reset the idle connection': {
    answer: ({ socket }) => { socket.write(OK) },
    calls: async ({ agent, pool }) => {
      const first = await whole(pool, POST)
      for (const socket of agent.sockets) socket.resetAndDestroy()
      return [first, await whole(pool, POST), await whole(pool)]
    },
    expected: ['200 ok', 'reset ECONNRESET', '200 ok'],
    opened: 2
  },
  'the agent resets the connection instead of an answer': {
    answer: ({ socket }, count) => { if (count === 2) socket.resetAndDestroy(); else socket.write(OK) },
    calls: async ({ pool }) => [await whole(pool), await whole(pool), await whole(pool)],
    expected: ['200 ok', 'reset ECONNRESET', '200 ok'],
    opened: 2
  },
  'the agent ends the connection instead of an answer': {
    answer: ({ socket }, count) => { if (count === 2) socket.end(); else socket.write(OK) },
    calls: async ({ pool }) => [await whole(pool), await whole(pool, POST), await whole(pool)],
    expected: ['200 ok', 'reset UND_ERR_SOCKET', '200 ok'],
    opened: 2
  },
  'bytes that nobody asked for, on an idle connection': {
    answer: ({ socket }) => { socket.write(OK) },
    calls: async ({ agent, pool }) => {
      const first = await whole(pool)
      for (const socket of agent.sockets) socket.write(OK.replace('ok', 'no'))
      await until(() => agent.sockets.size === 0)
      return [first, await whole(pool)]
    },
    expected: ['200 ok', '200 ok'],
    opened: 2
  },
  'a second answer behind the first': {
    answer: ({ socket }) => { socket.write(OK + OK.replace('ok', 'no')) },
    calls: async ({ pool }) => [await begin(pool).ended, await begin(pool).ended, await begin(pool).ended],
    expected: ['200 ok', '200 ok', '200 ok'],
    opened: 3
  },
  HEAD: {
    answer: ({ socket }) => { socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n') },
    calls: async ({ pool }) => [await whole(pool, { method: 'HEAD' }), await whole(pool, { method: 'HEAD' })],
    expected: ['200 ', '200 '],
    opened: 2
  },
  '100 Continue that nobody asked for': {
    answer: ({ socket }, count) => { socket.write((count === 1 ? 'HTTP/1.1 100 Continue\r\n\r\n' : '') + OK) },
    calls: async ({ pool }) => [await whole(pool, POST), await whole(pool, POST)],
    expected: ['reset UND_ERR_SOCKET', '200 ok'],
    opened: 2
  },
  'interim responses': {
    answer: ({ socket }) => { socket.write(`HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${OK}`) },
    calls: async ({ pool }) => [await whole(pool), await whole(pool)],
    expected: ['200 ok', '200 ok'],
    opened: 1
  },
  'an upgrade that nobody asked for': {
    answer: ({ socket }, count) => {
      socket.write(count === 1 ? 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n' : OK)
    },
    calls: async ({ pool }) => [await whole(pool), await whole(pool)],
    expected: ['reset UND_ERR_SOCKET', '200 ok'],
    opened: 2
  },
  'connection: close': {
    answer: ({ socket }) => { socket.end(OK.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n')) },
    calls: async ({ pool }) => [await whole(pool), await whole(pool), await whole(pool)],
    expected: ['200 ok', '200 ok', '200 ok'],
    opened: 3
  },
  'an answer before the request is complete': {
    answer: ({ socket }) => { socket.write(OK) },
    calls: async ({ pool }) => {
      const never = (): Readable => new Readable({ read () {} })
      const upload = async (): Promise<string> => {
        const body = never()
        const call = begin(pool, { method: 'POST', headers: ['host', 'agent.test', 'content-length', '10'], body })
        body.push('1234')
        return await call.ended
      }
      return [await upload(), await upload(), await whole(pool)]
    },
    expected: ['200 ok', '200 ok', '200 ok'],
    opened: 3
  },
  'what is not HTTP': {
    answer: ({ socket }, count) => { socket.write(count === 1 ? 'hello there\r\n\r\n' : OK) },
    calls: async ({ pool }) => [await whole(pool), await whole(pool)],
    expected: ['protocol undefined', '200 ok'],
    opened: 2
  }
}

for (const [name, { answer, calls, expected, opened }] of Object.entries(SCENES)) {
  t.test(`as with undici's Pool: ${name}`, async t => {
    for (const Create of [ConnectionPool, Pool]) {
      const agent = await agentFor(t, answer)
      const pool = new Create(agent.url, { ...OPTIONS, connections: 1 })
      t.same(await calls({ agent, pool }), expected, Create.name)
      t.equal(agent.opened(), opened, Create.name)
      await pool.destroy()
    }
  })
}

t.test('refused connections take no place, as with undici\'s Pool', async t => {
  for (const Create of [ConnectionPool, Pool]) {
    const pool = new Create('http://127.0.0.1:1', { ...OPTIONS, connections: 2 })
    const queue = new ConnectionQueue(pool, 60_000)
    const ended = await Promise.all(Array.from({ length: 20 }, () => begin(pool, { queue }).ended))
    t.same(new Set(ended), new Set(['refused ECONNREFUSED']), Create.name)
    await pool.destroy()
  }
})
