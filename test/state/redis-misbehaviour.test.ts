/** Servers that send replies that no Redis server sends. Tests with a real server are in test/system. */
import t from 'tap'
import type { Test } from 'tap'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { RedisStore } from '#state/redis-store.js'
import type { TaskKey } from '#state/store.js'
import { until } from '../helpers/http.js'

const KEY: TaskKey = { agent: 'a', tenant: null, taskId: 't' }
const FIELDS = new Map([['state', 'working']])

/** Reads commands of clients: lists of strings. */
function commandsOf (text: string): string[][] {
  const found: string[][] = []
  const lines = text.split('\r\n')
  for (let i = 0; i < lines.length && lines[i] !== '';) {
    const n = Number((lines[i++] ?? '').slice(1))
    found.push(Array.from({ length: n }, () => {
      i++
      return lines[i++] ?? ''
    }))
  }
  return found
}

type Answer = (socket: Socket, command: readonly string[], nth: number) => string | null

interface Fake { readonly store: RedisStore, readonly lines: string[], readonly connections: () => number }

/** @param answer what goes back for each command of a connection, of which the first is the probe; null for nothing */
async function fake (t: Test, answer: Answer, onConnect: (socket: Socket) => void = () => {}, timeout = 100): Promise<Fake> {
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    connections++
    sockets.add(socket)
    let nth = 0
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      for (const command of commandsOf(chunk.toString())) {
        const text = answer(socket, command, nth++)
        if (text !== null && !socket.destroyed) socket.write(text)
      }
    })
    onConnect(socket)
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const lines: string[] = []
  const log = (fields: object, message: string): void => { lines.push(`${JSON.stringify(fields)} ${message}`) }
  const { port } = server.address() as AddressInfo
  const store = new RedisStore(
    { store: `redis://:s3cret@127.0.0.1:${port}`, maxTasks: 1, ttl: 60_000, timeout, prefix: '' },
    { info: log, warn: log }
  )
  t.teardown(async () => {
    await store.close()
    for (const socket of sockets) socket.destroy()
    await new Promise(resolve => server.close(resolve))
  })
  return { store, lines, connections: () => connections }
}

/** As a server would, up to the probe. */
function handshake ([name]: readonly string[], rest: (nth: number) => string | null, nth: number): string | null {
  if (name === 'AUTH') return '+OK\r\n'
  return nth === 1 ? '*0\r\n' : rest(nth)
}

const isReady = ({ lines }: Fake) => (): boolean => lines.some(line => line.includes('connected'))

t.test('invalid responses', async t => {
  const rows: [string, string][] = [
    ['no RESP', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['a number', ':1\r\n:1\r\n'],
    ['an odd list', '*1\r\n$1\r\na\r\n:1\r\n'],
    ['a list of lists', '*2\r\n*0\r\n*0\r\n:1\r\n'],
    ['a list of numbers', '*2\r\n:1\r\n:2\r\n:1\r\n'],
    ['null', '*-1\r\n:1\r\n'],
    ['something for the second', '*0\r\n$1\r\na\r\n'],
    ['more than was asked for', '*0\r\n:1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n'],
    ['binary', '\u0000\u0001\u00ff\u00fe'],
    ['a length that is none', '*x\r\n'],
    ['a negative length', '$-5\r\n'],
    ['half an answer', '*2\r\n$5\r\nsta']
  ]
  for (const [name, text] of rows) {
    const one = await fake(t, (_socket, command, nth) => handshake(command, nth => nth === 2 ? text : null, nth))
    await until(isReady(one))
    const found = await one.store.read(KEY)
    t.ok(found === 'unavailable' || (name === 'more than was asked for' && found === 'unknown'), name)
    await until(() => one.connections() > 1)
    t.ok(one.connections() > 1, `${name}: another connection is made`)
    t.notMatch(one.lines.join('\n'), /HTTP|s3cret/)
    await one.store.close()
  }
})

t.test('a claim is new after OK only, and seen after null only', async t => {
  const replies: [string, string][] = [
    ['+OK\r\n', 'new'],
    ['$-1\r\n', 'seen'],
    ['$2\r\nOK\r\n', 'new'],
    ['+ok\r\n', 'unavailable'],
    [':1\r\n', 'unavailable'],
    ['*0\r\n', 'unavailable'],
    ['-ERR no\r\n', 'unavailable'],
    ['nonsense\r\n', 'unavailable']
  ]
  for (const [reply, outcome] of replies) {
    const one = await fake(t, (_socket, command, nth) => handshake(command, () => command[0] === 'SET' ? reply : null, nth))
    await until(isReady(one))
    t.same(await one.store.claim('a', [{ key: 'k', window: 1_000 }]), [outcome], reply)
    await one.store.close()
  }
})

t.test('after a fault, no task gets the record of another', async t => {
  const one = await fake(
    t,
    (_socket, command, nth) =>
      handshake(command, nth => (nth === 2 ? '!\r\n' : nth % 2 === 0 ? '*2\r\n$1\r\na\r\n$1\r\nb\r\n' : ':1\r\n'), nth),
    undefined,
    500
  )
  await until(isReady(one))
  t.same(await Promise.all([one.store.read(KEY), one.store.read({ ...KEY, taskId: 'u' })]), ['unavailable', 'unavailable'])
})

t.test('a server that closes in the middle of a response', async t => {
  const one = await fake(t, (socket, command, nth) => handshake(command, () => {
    socket.end('*2\r\n$5\r\nstate\r\n$7\r\nwor')
    return null
  }, nth))
  await until(isReady(one))
  t.equal(await one.store.read(KEY), 'unavailable')
  await until(() => one.connections() > 1)
})

t.test('a server that is slow: each call waits for the timeout at most', async t => {
  const one = await fake(t, (socket, command, nth) => handshake(command, () => {
    setTimeout(() => { if (!socket.destroyed) socket.write(command[0] === 'HGETALL' ? '*0\r\n' : ':1\r\n') }, 400)
    return null
  }, nth))
  await until(isReady(one))
  const start = performance.now()
  t.equal(await one.store.read(KEY), 'unavailable')
  t.ok(performance.now() - start < 350)
})

t.test('a server that accepts and sends nothing is unavailable', async t => {
  const one = await fake(t, () => null)
  await until(() => one.connections() === 1)
  t.equal(one.store.read(KEY), 'unavailable')
  t.equal(await one.store.write(KEY, FIELDS), false)
  const start = performance.now()
  await one.store.close()
  t.ok(performance.now() - start < 1_000)
})

t.test('a server that closes every connection is retried less and less often, and reported once', async t => {
  const one = await fake(t, () => null, socket => socket.destroy())
  await sleep(1_500)
  t.ok(one.connections() > 2 && one.connections() < 10, String(one.connections()))
  t.ok(one.lines.length <= 2, one.lines.join('\n'))
})

t.test('an error that repeats its input is reported by its first word', async t => {
  const one = await fake(t, (_socket, command, nth) =>
    command[0] === 'AUTH' ? '-ERR unknown command `AUTH`, with args beginning with: `s3cret`\r\n' : handshake(command, () => null, nth)
  )
  await until(() => one.lines.length > 0)
  t.match(one.lines[0], /"reason":"ERR"/)
  t.notMatch(one.lines.join('\n'), /s3cret/)
})

t.test('a replica that was the primary is replaced with another connection', async t => {
  const one = await fake(t, (_socket, command, nth) =>
    handshake(command, () => "-READONLY You can't write against a read only replica.\r\n", nth)
  )
  await until(isReady(one))
  t.equal(await one.store.write(KEY, FIELDS), false)
  await until(() => one.connections() > 1)
  t.match(one.lines.join('\n'), /"reason":"READONLY"/)
})

t.test('a hanging server does not get more and more commands', async t => {
  let received = 0
  const one = await fake(t, (_socket, command, nth) => handshake(command, () => {
    received++
    return null
  }, nth), undefined, 2_000)
  await until(isReady(one))
  const reads = Array.from({ length: 30_000 }, (_, i) => one.store.read({ ...KEY, taskId: String(i) }))
  t.ok(reads.filter(read => read === 'unavailable').length >= 20_000, 'at once')
  t.ok(received <= 10_001)
  t.same(new Set(await Promise.all(reads)), new Set(['unavailable']))
})
