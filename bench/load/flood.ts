/** Sends calls with forged tokens until it is stopped: `flood.js URL FILE RATE`. The responses do not matter. */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { SMALL } from '../agent/bodies.js'
import { HEADERS } from '../agent/calls.js'
import { announce } from '../processes.js'

/** Milliseconds between two bursts. */
const EVERY = 10
/** Connections. Calls beyond them wait, as those of an attacker with one machine do. */
const CONNECTIONS = 32

const [url = '', file = '', rate = '100'] = process.argv.slice(2)
const tokens = JSON.parse(readFileSync(file, 'utf8')) as string[]
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
const headers = { ...HEADERS, 'content-length': String(SMALL.length) }
let sent = 0
let open = 0

setInterval(() => {
  for (let left = Math.round(Number(rate) * EVERY / 1_000); left > 0 && open < CONNECTIONS; left--) {
    const authorization = `Bearer ${tokens[sent++ % tokens.length] ?? ''}`
    open++
    const outgoing = request(url, { method: 'POST', agent, headers: { ...headers, authorization } }, response => { response.resume() })
    outgoing.on('error', () => {}).once('close', () => { open-- }).end(SMALL)
  }
}, EVERY)
announce(0)
