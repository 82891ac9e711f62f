/**
 * `node dist/scripts/bundle/warm.js BUNDLE` starts the gateway from the bundle in front of an agent, sends it calls, and writes what V8 has
 * compiled by then: functions are compiled when they are first called, so one that is only loaded has little.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ANSWER, HEADERS, WORKS, callBody, card } from '../../bench/agent/calls.js'
import { freePort } from '../../bench/processes.js'
import { cacheOf, readScript, runScript, writeCache } from '../../src/bundled.js'
import type * as Serve from '../../src/cli/serve.js'

const CALLS = 3
const SUBSCHEMAS = 7

async function listening (server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function ready (admin: string): Promise<void> {
  while (!await fetch(`${admin}/readyz`).then(response => response.ok, () => false)) await sleep(20)
}

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('usage: warm.js BUNDLE')
const agent = createServer((request, response) => {
  request.resume()
  response.setHeader('content-type', 'application/json')
  response.end(request.method === 'GET' ? JSON.stringify(card(`http://${request.headers.host ?? ''}`, 0, SUBSCHEMAS)) : ANSWER)
})
const upstream = await listening(agent)
const [listen, admin] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
const script = readScript(file)
const { runServe } = runScript(script, file).serve?.() as typeof Serve
const directory = mkdtempSync(join(tmpdir(), 'warm-'))
const config = join(directory, 'gateway.yaml')
writeFileSync(config, `version: 1\nserver: {listen: "${listen}", admin: "${admin}"}\nagents:\n  - name: warm\n    upstream: {url: "${upstream}"}\n`)
const io = { out: () => {}, err: (text: string) => { process.stderr.write(`${text}\n`) } }
runServe({ config, upstream: undefined, listen: undefined, admin: undefined, env: {} }, io).catch((error: unknown) => { throw error })
await ready(`http://${admin}`)
for (let i = 0; i < CALLS; i++) {
  const answer = await fetch(`http://${listen}/rpc`, { method: 'POST', headers: HEADERS, body: new Uint8Array(callBody(WORKS[0] as typeof WORKS[number])) })
  if (!answer.ok) throw new Error(`the gateway answered ${answer.status}: ${await answer.text()}`)
  await answer.arrayBuffer()
}
writeFileSync(cacheOf(file), writeCache(script.createCachedData()))
rmSync(directory, { recursive: true })
process.exit(0)
