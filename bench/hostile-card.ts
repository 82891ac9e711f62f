/**
 * `node dist/bench/hostile-card.js [--seconds N] [--rate N]`: measures how much an agent that serves a hostile card at every refresh slows
 * down the calls of another agent. The script makes two runs with one gateway each. In the first run, the agent's card stays the same. In
 * the second run, each refresh gets another card, which is hostile or as expensive as the bounds allow.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OBJECT_SCHEMAS } from './agent/card.js'
import { openLoop } from './load/open.js'
import { object, range } from './many.js'
import { built, endWithSignals, listening, start, stop, until } from './processes.js'

const CARD = '.well-known'
const BODY = Buffer.from(JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'SendMessage',
  params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x'.repeat(250) }] } }
}))
const REPLY = '{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}]}}}'

const map = <T>(count: number, make: (index: number) => T): Record<string, T> => object(count, index => `k${index}`, make)

/** Cards of one agent, by the number of the refresh. Each call returns a different card. */
const KINDS: readonly ((salt: number) => Record<string, unknown>)[] = [
  salt => map(40, index => ({ pattern: `(?:${'a?'.repeat(345)}${salt}){1000}${index}` })),
  salt => ({ a: { anyOf: range(1_500, index => ({ properties: { [`a${salt}`]: { const: index } } })) } }),
  salt => map(6, index => ({ pattern: `(?:ab${salt % 10}${index}){999}` })),
  salt => ({
    a: {
      $defs: {
        a: {
          minLength: salt,
          maxLength: 9,
          format: 'uri',
          minimum: 1,
          maximum: 2,
          minItems: 1,
          maxItems: 3,
          minProperties: 3,
          maxProperties: 4
        }
      },
      anyOf: range(2_000, () => ({ $ref: '#/$defs/a' }))
    }
  }),
  salt => map(200, index => ({ type: 'object', properties: map(20, field => ({ type: 'string', maxLength: salt + index + field })) }))
]

const option = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : Number(process.argv[at + 1])
}
const SECONDS = option('seconds', 30)
/** Calls per second. */
const RATE = option('rate', 200)
/** Seconds without measurement. */
const WARM_UP = 1

async function agent (schemas: () => Record<string, unknown>): Promise<{ url: string, cards: () => number, close: () => void }> {
  let url = ''
  let cards = 0
  const server = createServer((incoming, response) => {
    response.setHeader('content-type', 'application/json')
    if (incoming.url?.includes(CARD) === true) {
      cards++
      response.end(
        JSON.stringify({
          name: 'agent',
          supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
          capabilities: { extensions: [{ uri: OBJECT_SCHEMAS, params: { schemas: schemas() } }] }
        })
      )
      return
    }
    incoming.resume().on('end', () => { response.end(REPLY) })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, cards: () => cards, close: () => { server.closeAllConnections(); server.close() } }
}

interface Run {
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly calls: number
  readonly rss: number
  readonly cards: number
  readonly outcomes: string
}

async function run (hostile: boolean): Promise<Run> {
  let refresh = 0
  const attacker = await agent(() => {
    // The gateway requests both versions of a card, one after another.
    const turn = Math.floor(refresh++ / 2)
    return hostile ? (KINDS[turn % KINDS.length] as (salt: number) => Record<string, unknown>)(turn) : { a: { type: 'object' } }
  })
  const other = await agent(() => ({ a: { type: 'object' } }))
  const folder = mkdtempSync(join(tmpdir(), 'hostile-card-'))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(
    file,
    'version: 1\nserver: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}\ntelemetry: {audit: {enabled: false}}\nagents:\n' +
      `  - {name: hostile, path: /hostile, upstream: {url: "${attacker.url}"}, card: {refresh: 1s}}\n  - {name: other, path: /other, upstream: {url: "${other.url}"}}\n`
  )
  const gateway = start(process.execPath, [built('src/main.js'), 'serve', '--config', file])
  try {
    const { url, admin = '' } = await listening(gateway, 'the gateway')
    await until(async () => (await fetch(`${admin}/livez`)).ok, 'the gateway is live')
    const load = {
      url: `${url}/other/rpc`,
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: BODY,
      rate: RATE,
      expected: REPLY.length
    }
    await openLoop({ ...load, seconds: WARM_UP })
    const { calls, bad, whole } = await openLoop({ ...load, seconds: SECONDS })
    if (bad > 0) throw new Error(`${bad} calls failed`)
    // Waits until the thread has ended and its memory is free.
    await sleep(8_000)
    const text = await (await fetch(`${admin}/metrics`)).text()
    const outcomes = [...text.matchAll(/^a2a_gateway_card_refreshes_total\{agent="hostile",outcome="(\w+)"\} (\d+)/gm)]
      .map(([, name, count]) => `${name} ${count}`)
      .join(', ')
    return {
      p50: whole.percentile(50) / 1_000,
      p99: whole.percentile(99) / 1_000,
      max: whole.max / 1_000,
      calls,
      rss: Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]) / 2 ** 20,
      cards: attacker.cards(),
      outcomes
    }
  } finally {
    await stop(gateway)
    rmSync(folder, { recursive: true })
    attacker.close()
    other.close()
  }
}

const show = (name: string, { p50, p99, max, calls, rss, cards, outcomes }: Run): void => {
  const times = `p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms  max ${max.toFixed(0)} ms  calls ${calls}`
  console.log(`${name.padEnd(16)} ${times}  memory after ${rss.toFixed(0)} MiB  cards read ${cards} (${outcomes})`)
}
endWithSignals()
const load = loadavg().map(one => one.toFixed(1)).join(' ')
console.log(`${SECONDS} s, ${RATE} calls a second to the other agent; refresh of the hostile agent 1 s; load of the machine ${load}`)
const without = await run(false)
show('without', without)
const hostile = await run(true)
show('hostile cards', hostile)
const more = (hostile.rss - without.rss).toFixed(0)
console.log(`p99 ${(hostile.p99 / without.p99).toFixed(2)} times as long (goal: 2); memory ${more} MiB more (goal: 20)`)
