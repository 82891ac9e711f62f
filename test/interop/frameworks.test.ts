/**
 * Agents of seven agent frameworks, behind `serve --upstream` without a configuration: the client of the Python SDK has the same results as
 * without the gateway. A framework that cannot be installed is skipped, with the reason.
 */
import t from 'tap'
import type { Test } from 'tap'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { freePort } from '../helpers/http.js'
import { inTests, MAIN } from '../helpers/paths.js'
import type { ForeignStory, Operation } from './toolchains.js'
import { programs, runClient, SETUP_TIMEOUT, venv } from './toolchains.js'

t.setTimeout(4 * SETUP_TIMEOUT)

interface Framework {
  readonly name: string
  readonly requirements: readonly string[]
  /** Path of the agent; the card is below it. */
  readonly path?: string
  /** Operations that must work without the gateway, so that equal results mean something. Others fail directly too. */
  readonly works: readonly Operation[]
  /** A warning that `check --live` must print. */
  readonly warning?: string
}

const ALL: readonly Operation[] = ['card', 'message', 'send', 'sendData', 'stream', 'get', 'sendLong']

const FRAMEWORKS: readonly Framework[] = [
  { name: 'google-adk', requirements: ['google-adk[a2a]==2.13.0', 'uvicorn'], works: ALL },
  // The Python SDK cannot parse its times, which have no zone.
  { name: 'fasta2a', requirements: ['fasta2a==2.1.1', 'pydantic-ai-slim==2.68.0', 'uvicorn'], works: ['card'] },
  { name: 'strands-agents', requirements: ['strands-agents[a2a]==1.62.0', 'uvicorn'], works: ALL },
  {
    name: 'agent-framework-a2a',
    requirements: ['agent-framework-a2a==1.0.0b261022', 'a2a-sdk[http-server]==1.3.0', 'uvicorn'],
    works: ALL,
    warning: 'supportedInterfaces names no protocolVersion for JSONRPC'
  },
  { name: 'agentstack-sdk', requirements: ['agentstack-sdk==0.7.1', 'mcp<1.25', 'fastapi<0.130', 'uvicorn'], works: ['card', 'stream'] },
  {
    name: 'agno',
    requirements: ['agno[a2a]==3.1.10', 'fastapi', 'python-multipart', 'uvicorn'],
    path: '/a2a/agents/echo',
    // Its card names the address of one method.
    works: ['card', 'stream']
  },
  {
    name: 'langgraph-api',
    requirements: ['langgraph-api==0.16.7', 'langgraph-cli[inmem]', 'uvicorn'],
    // The id of the assistant of a graph named echo.
    path: '/a2a/046b5dc7-2108-582c-9c6c-31d556d138f0',
    works: ALL
  }
]

/** Some frameworks load for a quarter of a minute. */
const START_TIMEOUT = 120_000

/** Starts a process, and waits until `url` responds. Its working directory is empty: LangGraph writes files there. */
async function started (t: Test, command: string, args: readonly string[], url: string): Promise<void> {
  const child = spawn(command, args, {
    cwd: t.testdir({}),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PYTHONUNBUFFERED: '1', OTEL_SDK_DISABLED: 'true', LANGSMITH_TRACING: 'false' }
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => { output = (output + chunk.toString()).slice(-4_000) })
  const gone = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await gone
  })
  for (const end = Date.now() + START_TIMEOUT; ; await sleep(100)) {
    if (child.exitCode !== null || Date.now() > end) throw new Error(`${command} ${args.join(' ')} does not start:\n${output}`)
    const ok = await fetch(url).then(async response => {
      await response.text()
      return response.ok
    }, () => false)
    if (ok) return
  }
}

/** The story without what differs from run to run: LangGraph names tasks by two ids, fasta2a and agno by times in other forms. */
function comparable (story: ForeignStory): unknown {
  const text = JSON.stringify(story)
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|<id-\d+>/g, '<id>')
    .replace(/"timestamp":"[^"]*"/g, '"timestamp":"<time>"')
    .replace(/"(?:duration|time_to_first_token|created_at|[a-z_]*(?:time|seconds))":[\d.]+/g, '"time":0')
  return JSON.parse(text)
}

/** The agents end their tasks by themselves, so a cancellation comes too late or not, in both stories. */
function isRaced (story: ForeignStory, operation: Operation): boolean {
  const { value, error } = story[operation] ?? {}
  return operation === 'cancel' && (value !== undefined || error?.startsWith('TaskNotCancelableError') === true)
}

const table: string[] = []

t.before(async () => { await programs('py-1') })
t.teardown(() => {
  console.log(['# frameworks: operations with the same result directly and through the gateway', ...table].join('\n#   '))
})

for (const { name, requirements, path = '', works, warning } of FRAMEWORKS) {
  t.test(name, async t => {
    const environment = await venv(requirements).catch((error: unknown) => {
      const reason = (error as Error).message.split('\n').slice(-3).join(' ').trim()
      table.push(`${name}: not installed: ${reason}`)
      return { reason }
    })
    if (typeof environment !== 'string') return await t.test(name, { skip: `cannot be installed: ${environment.reason}` }, async () => {})
    const port = await freePort()
    const url = `http://127.0.0.1:${port}${path}`
    const script = inTests('interop', 'python/frameworks.py')
    await started(t, `${environment}/bin/python`, [script, name, '--port', String(port)], `${url}/.well-known/agent-card.json`)
    const [listen, admin] = [await freePort(), await freePort()]
    const gateway = `http://127.0.0.1:${listen}`
    const addresses = ['--listen', `127.0.0.1:${listen}`, '--admin', `127.0.0.1:${admin}`]
    await started(t, process.execPath, [MAIN, 'serve', '--upstream', url, ...addresses], `http://127.0.0.1:${admin}/readyz`)

    const direct = await runClient('py-1', { url, transport: 'JSONRPC' })
    const through = await runClient('py-1', { url: gateway, transport: 'JSONRPC' })
    for (const operation of works) t.ok(direct[operation]?.value, `${operation} works without the gateway: ${direct[operation]?.error ?? ''}`)
    const same: string[] = []
    for (const operation of Object.keys(direct) as Operation[]) {
      const [one, other] = [direct, through].map(story =>
        comparable({ [operation]: isRaced(story, operation) ? {} : story[operation] ?? {} })
      )
      t.same(other, one, `${operation}: the same through the gateway`)
      same.push(`${operation} ${isDeepStrictEqual(one, other) ? '=' : 'DIFFERS'}${direct[operation]?.error === undefined ? '' : ' (an error)'}`)
    }
    table.push(`${name} ${requirements[0]?.split('==')[1] ?? ''}: ${same.join(', ')}`)
    if (warning !== undefined) {
      const agents = await (await fetch(`http://127.0.0.1:${admin}/agents`)).text()
      t.match(agents, warning, 'the gateway warns')
    }
  })
}
