/**
 * Sends calls with forged tokens until it is stopped: `flood.js URL FILE RATE`. The responses do not matter.
 *
 * It shares its cores with the honest clients and the agent, so it is cheap: bytes made beforehand and plain sockets. With `node:http`, the
 * flood took 0.29 of a core, and the same flood against another server made the p99 of the honest clients 4 times as long.
 */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { SMALL } from '../agent/bodies.js'
import { HEADERS } from '../agent/calls.js'
import { announce } from '../processes.js'

/** Milliseconds between two bursts. */
const EVERY = 10
/** Connections. Calls beyond them wait, as those of an attacker with one machine do. */
const CONNECTIONS = 32

const [url = '', file = '', rate = '100'] = process.argv.slice(2)
const { hostname, port, pathname, host } = new URL(url)
const head = [`POST ${pathname} HTTP/1.1`, `host: ${host}`, ...Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`)]
const calls = (JSON.parse(readFileSync(file, 'utf8')) as string[]).map(token =>
  Buffer.from([...head, `content-length: ${SMALL.length}`, `authorization: Bearer ${token}`, '', SMALL.toString()].join('\r\n'))
)
let sent = 0

/** Functions that send a call on a connection without one, the longest idle first. */
const idle: (() => void)[] = []

function open (): void {
  const socket = connect(Number(port), hostname)
  const send = (): void => { socket.write(calls[sent++ % calls.length] ?? '') }
  let left = 0
  let closed = false
  socket.on('connect', () => { idle.push(send) })
  socket.on('data', chunk => {
    // A rejection arrives in one piece or two, and its head in the first.
    if (left > 0) left -= chunk.length
    else {
      const end = chunk.indexOf('\r\n\r\n') + 4
      left = end + Number(/\r\ncontent-length: *(\d+)/i.exec(chunk.toString('latin1', 0, end))?.[1] ?? 0) - chunk.length
    }
    if (left <= 0) idle.push(send)
  })
  socket.on('error', () => {}).on('close', () => {
    const at = idle.indexOf(send)
    if (at >= 0) idle.splice(at, 1)
    if (!closed) setTimeout(open, EVERY)
    closed = true
  })
}

for (let i = 0; i < CONNECTIONS; i++) open()
setInterval(() => { for (let left = Math.round(Number(rate) * EVERY / 1_000); left > 0; left--) idle.shift()?.() }, EVERY)
announce(0)
