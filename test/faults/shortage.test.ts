/**
 * A machine with too few resources: the gateway stays alive, reports the shortage in the caller's format, and recovers when resources are
 * available again.
 */
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { untilAtMost } from '../helpers/http.js'
import { serve } from '../helpers/serve.js'
import { ask, callOf, faultsConfig, FORMS, isOwn } from './calls.js'
import { answer, faultyAgent } from './faulty-agent.js'

const QUIET = 'telemetry: {logs: {level: info}, audit: {enabled: false}}'

t.test('no file descriptor is left', async t => {
  const agent = await faultyAgent(t)
  // Every call needs a connection of its own.
  agent.fault = { act: ({ socket, good }) => { answer(socket, good); socket.end() } }
  const DESCRIPTORS = 256
  const gateway = await serve(t, `${QUIET}\n${faultsConfig(agent.url, 'enforce')}`, {}, { descriptors: DESCRIPTORS })
  for (const form of FORMS) isOwn(t, await ask(gateway, form), form, 'enough')

  const connections = new HttpAgent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => { connections.destroy() })
  const onOne = async (form: 'unary JSON-RPC' | 'REST'): Promise<{ status: number, text: string, token: string, id: string }> => {
    const { path, options, token, id } = callOf(form)
    const names = options.headers ?? []
    const headers = Object.fromEntries(names.flatMap((name, i) => i % 2 === 0 ? [[name, names[i + 1]]] : []))
    const outgoing = httpRequest(`${gateway.url}${path}`, {
      method: 'POST',
      agent: connections,
      headers: { ...headers, 'content-length': options.body.length }
    })
    outgoing.end(options.body)
    const [incoming] = await once(outgoing, 'response') as [IncomingMessage]
    let text = ''
    for await (const chunk of incoming) text += String(chunk)
    return { status: incoming.statusCode ?? 0, text, token, id }
  }
  const first = await onOne('unary JSON-RPC')
  t.match([first.status, first.text], [200, first.token])

  const idle: Socket[] = []
  t.teardown(() => { for (const socket of idle) socket.destroy() })
  const open = (): number => readdirSync(`/proc/${gateway.pid}/fd`).length
  const fill = async (): Promise<void> => {
    for (let i = 0; open() < DESCRIPTORS && i < 2 * DESCRIPTORS; i++) {
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
      socket.on('error', () => {})
      idle.push(socket)
      await once(socket, 'connect')
    }
  }
  let refused = 0
  for (const form of ['unary JSON-RPC', 'REST'] as const) {
    // A descriptor may have become free in between: then the call is answered.
    for (let i = 0; ; i++) {
      await fill()
      const short = await onOne(form)
      if (short.status === 200 && i < 50) {
        t.match(short.text, short.token)
        continue
      }
      refused++
      t.equal(short.status, 502)
      t.match(short.text, /"message":"The agent could not be reached: the gateway cannot open another connection/)
      t.match(short.text, '"kind":"resources"')
      if (form !== 'REST') t.match(short.text, `"id":${short.id}`)
      break
    }
  }
  // The gateway measures its own memory and load once per second, and reads files for that. A connection may have ended in between.
  for (const end = Date.now() + 2_500; Date.now() < end; await sleep(20)) await fill()
  for (const socket of idle) socket.destroy()
  await untilAtMost(t, open, DESCRIPTORS / 2, 'descriptors are given back')
  for (const form of FORMS) isOwn(t, await ask(gateway, form), form, 'enough again')
  t.equal(await gateway.metric('a2a_gateway_upstream_errors_total{agent="agent",kind="resources"}'), refused)
  gateway.kill('SIGTERM')
  t.equal(await gateway.exited, 0)
})

t.test('many of the largest bodies at once, in a heap of five times their size', async t => {
  const agent = await faultyAgent(t)
  const [MIB, CALLS, HEAP] = [1024 * 1024, 24, 128]
  const gateway = await serve(
    t,
    `${QUIET}\nlimits: {body: 1MiB}\n${faultsConfig(agent.url, 'enforce')}`,
    {},
    { flags: [`--max-old-space-size=${HEAP}`] }
  )
  const all = await Promise.all(Array.from({ length: CALLS }, () => ask(gateway, 'unary JSON-RPC', MIB - 1_000)))
  for (const ended of all) isOwn(t, ended, 'unary JSON-RPC', 'a body of 1 MiB')
  t.equal((await ask(gateway, 'unary JSON-RPC', MIB)).status, 413)
  for (const form of FORMS) isOwn(t, await ask(gateway, form), form, 'afterwards')
})
