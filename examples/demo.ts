/** `npm start`: starts two agents and the gateway in front of them, and prints commands to try. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { FORTUNE_CONSENT, startEightball } from './eightball.js'
import { COMPARISON, startFight } from './fight.js'

const HOST = '127.0.0.1'
const root = fileURLToPath(new URL('../../', import.meta.url))

const port = await claim('DEMO_PORT', 8080)
const adminPort = await claim('DEMO_ADMIN_PORT', 9901)
const gatewayUrl = `http://${HOST}:${port}`
const adminUrl = `http://${HOST}:${adminPort}`

const agents = [await startEightball({ port: 0 }), await startFight({ port: 0 })] as const

/** True when the environment configures the destination of spans. The default destination would be a collector that does not exist. */
const collects = Object.keys(process.env).some(name => name.startsWith('OTEL_EXPORTER_'))

const gateway = spawn(
  process.execPath,
  ['dist/src/main.js', 'serve', '--config', 'config/demo.yaml', '--listen', `${HOST}:${port}`, '--admin', `${HOST}:${adminPort}`],
  {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      A2A_GATEWAY_LOG_LEVEL: 'warn',
      ...(collects ? {} : { OTEL_TRACES_EXPORTER: 'none' }),
      ...process.env,
      EIGHTBALL_URL: agents[0].url,
      FIGHT_URL: agents[1].url
    }
  }
)
const exited = once(gateway, 'exit')

const stopping = new AbortController()
process.on('SIGINT', () => { stop(500) })
process.on('SIGTERM', () => { stop(0) })
process.on('exit', () => { gateway.kill('SIGKILL') })
gateway.on('exit', (code) => {
  if (stopping.signal.aborted) return
  console.error(`The gateway stopped by itself (exit code ${code}).`)
  process.exit(1)
})

if (await ready()) console.log(help())

/** Stops the demo. Ctrl-C reaches the gateway too, so the gateway gets a moment to stop by itself before it gets a signal. */
async function stop (patience: number): Promise<void> {
  if (stopping.signal.aborted) return
  stopping.abort()
  await Promise.race([exited, sleep(patience)])
  gateway.kill('SIGTERM')
  const kill = setTimeout(() => gateway.kill('SIGKILL'), 5000)
  await exited
  clearTimeout(kill)
  await Promise.all(agents.map((agent) => agent.close()))
  process.exit(0)
}

async function ready (): Promise<boolean> {
  for (let attempt = 0; attempt < 150 && !stopping.signal.aborted; attempt++) {
    const response = await fetch(`${adminUrl}/readyz`).catch(() => null)
    if (response?.ok === true) return true
    await sleep(100)
  }
  if (!stopping.signal.aborted) {
    console.error(`The gateway did not become ready within 15 s; ${adminUrl}/readyz shows the reason.`)
    await stop(0)
  }
  return false
}

/** The port from an environment variable, or any free port when the value is 0. */
async function claim (variable: string, fallback: number): Promise<number> {
  const text = process.env[variable] ?? String(fallback)
  const wanted = /^\d{1,5}$/.test(text) ? Number(text) : NaN
  if (!(wanted <= 65535)) fail(`${variable} must be a port number, 0 for any free one; it is "${text}".`)
  const probe = createServer()
  probe.listen(wanted, HOST)
  await once(probe, 'listening').catch((error: NodeJS.ErrnoException) => {
    fail(error.code === 'EADDRINUSE'
      ? `Port ${wanted} is already in use. Choose another one with ${variable}, for example: ${variable}=${wanted + 10} npm start`
      : `Cannot listen on ${HOST}:${wanted}: ${error.message}. Choose another port with ${variable}.`)
  })
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

function fail (message: string): never {
  console.error(message)
  process.exit(1)
}

function help (): string {
  const send = (agent: string, part: object, extension?: string): string => {
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: { messageId: 'm1', role: 'ROLE_USER', parts: [part] } }
    }
    return [
      `curl -s ${gatewayUrl}/agents/${agent}/a2a/jsonrpc`,
      "-H 'Content-Type: application/json' -H 'A2A-Version: 1.0'",
      ...(extension === undefined ? [] : [`-H 'A2A-Extensions: ${extension}'`]),
      `-d '${JSON.stringify(body)}'`
    ].join(' \\\n  ')
  }
  const unnamed = { data: { a: 3, b: 7 }, mediaType: 'application/json' }
  const question = { text: 'Oh magic 8-ball, will it rain today?' }
  return `
Two agents built with the official SDK run behind the gateway, unchanged:

  ${gatewayUrl}/agents/eightball   its card requires ${FORTUNE_CONSENT}
  ${gatewayUrl}/agents/fight       its card declares schemas for its input and output data
  ${gatewayUrl}/agents/fight-held  the same agent, with "responses: enforce"

Paste these in another terminal.

1. The gateway forwards a call that activates the required extension:

${send('eightball', question, FORTUNE_CONSENT)}

2. The gateway rejects a call without the extension, and says what to add:

${send('eightball', question)}

3. The gateway rejects data that does not match the schema in the card:

${send('fight', { data: { a: 'Lion', b: 7 }, mediaType: COMPARISON })}

4. Data that names no schema passes. The agent's response breaks its own schema: the winner is a number.
This agent's responses are observed, so the gateway records the violation and forwards the response:

${send('fight', unnamed)}

5. This agent's responses are enforced, so the gateway rejects the response:

${send('fight-held', unnamed)}

The console shows all calls, and can send more: ${adminUrl}/

What the gateway counted:

curl -s ${adminUrl}/metrics | grep -E 'a2a_gateway_(requests|violations)_total'

Each violation writes an audit line below. Stop with Ctrl-C.
`
}
