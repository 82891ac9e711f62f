/**
 * `node dist/bench/hostile-card.js [--seconds N] [--rate N]`: measures how much an agent that serves a hostile card at every refresh slows
 * down the calls of another agent. The script makes two runs with one gateway each. In the first run, the agent's card stays the same. In
 * the second run, each refresh gets another card, which is hostile or as expensive as the bounds allow.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageRoot } from '../src/config/paths.js'

const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
const CARD = '.well-known'
const BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'SendMessage',
  params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x'.repeat(250) }] } }
})
const REPLY = '{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}]}}}'

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index))
const map = <T>(count: number, make: (index: number) => T): Record<string, T> =>
  Object.fromEntries(many(count, index => [`k${index}`, make(index)]))

/** Cards of one agent, by the number of the refresh. Each call returns a different card. */
const KINDS: readonly ((salt: number) => Record<string, unknown>)[] = [
  salt => map(40, index => ({ pattern: `(?:${'a?'.repeat(345)}${salt}){1000}${index}` })),
  salt => ({ a: { anyOf: many(1_500, index => ({ properties: { [`a${salt}`]: { const: index } } })) } }),
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
      anyOf: many(2_000, () => ({ $ref: '#/$defs/a' }))
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
  const gateway = spawn(process.execPath, [join(packageRoot(), 'dist/src/main.js'), 'serve', '--config', file], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  try {
    const { url, admin } = await new Promise<{ url: string, admin: string }>((resolve, reject) => {
      let text = ''
      gateway.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        const line = text.split('\n').find(one => one.includes('"msg":"listening"'))
        if (line !== undefined) resolve(JSON.parse(line) as { url: string, admin: string })
      })
      gateway.once('exit', () => { reject(new Error(text)) })
    })
    const metrics = async (): Promise<string> => await (await fetch(`${admin}/metrics`)).text()
    const keepAlive = new Agent({ keepAlive: true })
    const call = (): Promise<number> => new Promise((resolve, reject) => {
      const begin = performance.now()
      request(
        `${url}/other/rpc`,
        { method: 'POST', agent: keepAlive, headers: { 'content-type': 'application/json', 'a2a-version': '1.0' } },
        response => {
          response.resume().on('end', () => {
            resolve(performance.now() - begin)
          })
        }
      )
        .on('error', reject)
        .end(BODY)
    })
    while (!(await fetch(`${admin}/livez`)).ok) await sleep(50)
    for (let i = 0; i < 200; i++) await call()
    const times: Promise<number>[] = []
    const begin = performance.now()
    // Calls start at fixed times, even when earlier calls have not ended. The figures therefore include the whole time of a gateway that
    // stands still.
    while (performance.now() - begin < SECONDS * 1_000) {
      await sleep(Math.max(0, times.length * 1_000 / RATE - (performance.now() - begin)))
      times.push(call())
    }
    const sorted = (await Promise.all(times)).toSorted((a, b) => a - b)
    const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number
    // Waits until the thread has ended and its memory is free.
    await sleep(8_000)
    const text = await metrics()
    const outcomes = [...text.matchAll(/^a2a_gateway_card_refreshes_total\{agent="hostile",outcome="(\w+)"\} (\d+)/gm)]
      .map(([, name, count]) => `${name} ${count}`)
      .join(', ')
    return {
      p50: at(0.5),
      p99: at(0.99),
      max: at(1),
      calls: sorted.length,
      rss: Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]) / 2 ** 20,
      cards: attacker.cards(),
      outcomes
    }
  } finally {
    gateway.kill()
    await once(gateway, 'exit')
    rmSync(folder, { recursive: true })
    attacker.close()
    other.close()
  }
}

const show = (name: string, { p50, p99, max, calls, rss, cards, outcomes }: Run): void => {
  console.log(
    `${name.padEnd(16)} p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms  max ${max.toFixed(0)} ms  calls ${calls}  memory after ${rss.toFixed(0)} MiB  cards read ${cards} (${outcomes})`
  )
}
console.log(
  `${SECONDS} s, ${RATE} calls a second to the other agent; refresh of the hostile agent 1 s; load of the machine ${loadavg()
    .map(one => one.toFixed(1))
    .join(' ')}`
)
const without = await run(false)
show('without', without)
const hostile = await run(true)
show('hostile cards', hostile)
console.log(
  `p99 ${(hostile.p99 / without.p99).toFixed(2)} times as long (goal: 2); memory ${(hostile.rss - without.rss).toFixed(0)} MiB more (goal: 20)`
)
