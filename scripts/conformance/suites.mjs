/** The suites of test:conformance: how each one is prepared, and how it runs directly and through the gateway. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../build-tests.mjs'
import { freePort, run, startAgent } from './processes.mjs'
import { fromGo, fromJunit, fromVitest } from './results.mjs'

// Loaded late: this module needs the built sources.
const gatewaysModule = () => import('./gateways.mjs')
const here = name => fileURLToPath(new URL(name, import.meta.url))

const TCK = {
  variable: 'A2A_CONFORMANCE_TCK',
  repository: 'https://github.com/a2aproject/a2a-tck, branch 1.0-dev',
  needs: ['.venv/bin/python', 'tests/compatibility']
}
const tckAgent = (...required) => port => [process.execPath, [here('tck-agent.mjs'), String(port), String(port + 1), ...required]]
const tckArguments = url => ['tests/compatibility/', `--sut-host=${url}`, '--transport=jsonrpc,http_json,grpc']
/** The extension of the test CORE-CAP-004 of the kit. */
const REQUIRED_BY_AGENT = 'urn:a2a:tck:required-extension'

export const SUITES = {
  profile: {
    title: 'proxy profile: a2a-gateway conform with its own agent',
    run: runProfile
  },
  tck: {
    title: 'test kit of the protocol for 1.0, an agent of the JavaScript SDK',
    ...TCK,
    run: kit => runTck(process.env.A2A_CONFORMANCE_TCK, kit, { agent: tckAgent(), arguments: tckArguments })
  },
  'tck-required': {
    title: 'test kit of the protocol for 1.0: directly on that agent, and through the gateway when the agent requires an extension',
    ...TCK,
    // The configuration is that of docs/how-to/test-a-proxy.md.
    run: kit => runTck(process.env.A2A_CONFORMANCE_TCK, kit, {
      agent: kit.throughGateway ? tckAgent(REQUIRED_BY_AGENT) : tckAgent(),
      gateway: {
        settings: `extensions: {for-the-kit: {uri: "${REQUIRED_BY_AGENT}", activation: {default: inject}}}`,
        keys: ', enforceOn: messages, extensions: [for-the-kit]'
      },
      arguments: tckArguments
    })
  },
  'tck-0.3': {
    title: 'test kit of the protocol for 0.3, the agent of the JavaScript SDK for it',
    variable: 'A2A_CONFORMANCE_TCK_03',
    repository: 'https://github.com/a2aproject/a2a-tck, branch 0.3.x',
    needs: ['.venv/bin/python', 'tests/mandatory', 'tests/optional'],
    also: 'js',
    // The kit tests one binding in a run. Most of a run is waiting, so all run at once.
    run: async kit => new Map((await Promise.all(['jsonrpc', 'rest', 'grpc'].map(async transport => {
      const results = await runTck(process.env.A2A_CONFORMANCE_TCK_03, kit, {
        agent: port => [
          join(process.env.A2A_CONFORMANCE_JS, 'node_modules/.bin/tsx'),
          [join(process.env.A2A_CONFORMANCE_JS, 'tck/compat-agent/index.ts')],
          { HTTP_PORT: String(port), GRPC_PORT: String(port + 1) }
        ],
        // Of an address without a scheme, the kit's gRPC client reads neither host nor port.
        inFront: transport === 'grpc' ? gateway => gatewaysModule().then(({ withSchemes }) => withSchemes(gateway.url)) : undefined,
        arguments: url => ['tests/mandatory/', 'tests/optional/', `--sut-url=${url}`, '--test-scope=all', `--transports=${transport}`]
      })
      return [...results].map(([test, outcome]) => [`${transport}: ${test}`, outcome])
    }))).flat())
  },
  js: {
    title: 'end-to-end suite of the JavaScript SDK',
    variable: 'A2A_CONFORMANCE_JS',
    repository: 'https://github.com/a2aproject/a2a-js',
    needs: ['node_modules/.bin/vitest', 'test/e2e.spec.ts'],
    run: runJs
  },
  go: {
    title: 'end-to-end suites of the Go SDK',
    variable: 'A2A_CONFORMANCE_GO',
    repository: 'https://github.com/a2aproject/a2a-go',
    needs: ['go.mod', 'e2e'],
    run: runGo
  }
}

/** The problem that keeps a suite from running, with its fix, or null. */
export function unprepared ({ variable, repository, needs, also }) {
  if (variable === undefined) return null
  const directory = process.env[variable]
  if (directory === undefined || directory === '') return `set ${variable} to a prepared checkout of ${repository}`
  const missing = needs.filter(path => !existsSync(join(directory, path)))
  if (missing.length > 0) return `${variable}=${directory} has no ${missing.join(', ')}; prepare a checkout of ${repository}`
  return also === undefined ? null : unprepared(SUITES[also])
}

/** Every case passes directly, because the agent sends what the case says: only the run through the gateway asks. */
async function runProfile ({ throughGateway }) {
  const [{ CASES }, { startAgent: startScripted }, { REQUIRED }, { runConform }, { readDeclaration }, { gatewayTo }] = await Promise.all([
    import('../../dist/src/conform/cases/index.js'), import('../../dist/src/conform/agent/agent.js'), import('../../dist/src/conform/cases/enforcing.js'),
    import('../../dist/src/conform/run/conform.js'), import('../../dist/src/conform/run/declaration.js'), gatewaysModule()
  ])
  const { declaration } = readDeclaration('name: a2a-extension-gateway\nextensions: enforced\nversionHeader: enforced\n')
  const claimed = CASES.filter(({ claims = [] }) => claims.every(name => declaration.claims.has(name)))
  if (!throughGateway) return new Map(claimed.map(({ id }) => [id, 'passed']))
  const results = new Map()
  for (const required of [[], REQUIRED]) {
    const agent = await startScripted({ host: '127.0.0.1', port: 0, required })
    const gateway = await gatewayTo(agent.url, { grpcAddress: `127.0.0.1:${await freePort()}` })
    try {
      const { cases } = await runConform({ direct: agent.url, through: gateway.url, declaration })
      for (const { id, outcome } of cases) if (['passed', 'failed', 'error'].includes(outcome)) results.set(id, outcome)
    } finally {
      await gateway.close()
      await agent.close()
    }
  }
  return results
}

async function runTck (directory, { throughGateway, scratch }, { agent, gateway: settings, arguments: argumentsFor, inFront }) {
  const port = await freePort()
  const [program, args, env] = agent(port)
  const running = await startAgent(program, args, { cwd: ROOT, env }, port)
  const gateway = throughGateway
    ? await (await gatewaysModule()).gatewayTo(`http://127.0.0.1:${port}`, { ...settings, grpcAddress: `127.0.0.1:${await freePort()}` })
    : null
  const front = gateway === null ? undefined : await inFront?.(gateway)
  try {
    const report = join(scratch, `junit-${port}.xml`)
    const url = front?.url ?? gateway?.url ?? `http://127.0.0.1:${port}`
    await run(join(directory, '.venv/bin/python'), ['-m', 'pytest', ...argumentsFor(url), '-q', '-p', 'no:cacheprovider', `--junitxml=${report}`], { cwd: directory })
    return fromJunit(readFileSync(report, 'utf8'))
  } finally {
    await front?.close()
    await gateway?.close()
    await running.stop()
  }
}

/** The tests start their own agents. A module that replaces `fetch` puts a gateway in front of each. */
async function runJs ({ throughGateway, scratch }) {
  const directory = process.env.A2A_CONFORMANCE_JS
  const gateways = throughGateway ? await (await gatewaysModule()).startDirectory() : null
  const env = gateways === null
    ? {}
    : { A2A_CONFORMANCE_DIRECTORY: gateways.url, NODE_OPTIONS: `--import=${here('fetch-through-gateway.mjs')}` }
  try {
    const report = join(scratch, 'vitest.json')
    await run(join(directory, 'node_modules/.bin/vitest'), ['run', 'test/e2e.spec.ts', '--reporter=json', `--outputFile=${report}`], { cwd: directory, env })
    gateways?.mustHaveServed()
    return fromVitest(readFileSync(report, 'utf8'))
  } finally {
    await gateways?.close()
  }
}

/** The tests start their own agents. An overlay of `net/http` puts a gateway in front of each. */
async function runGo ({ throughGateway, scratch }) {
  const directory = process.env.A2A_CONFORMANCE_GO
  const gateways = throughGateway ? await (await gatewaysModule()).startDirectory() : null
  try {
    const flags = gateways === null ? [] : [`-overlay=${await goOverlay(scratch)}`]
    const output = await run('go', ['test', '-json', '-count=1', '-p=1', ...flags, './e2e/...'], {
      cwd: directory,
      env: gateways === null ? {} : { A2A_CONFORMANCE_DIRECTORY: gateways.url }
    })
    gateways?.mustHaveServed()
    return fromGo(output)
  } finally {
    await gateways?.close()
  }
}

/** Writes a copy of Go's `net/http/roundtrip.go` that sends calls through gateways, and the file that names it for `go test -overlay`. */
async function goOverlay (scratch) {
  const original = join((await run('go', ['env', 'GOROOT'])).trim(), 'src/net/http/roundtrip.go')
  const call = 'return t.roundTrip(req)'
  const source = readFileSync(original, 'utf8')
  if (source.split(call).length !== 2) throw new Error(`${original} does not contain "${call}" once: adapt goOverlay() to this version of Go`)
  const changed = join(scratch, 'roundtrip.go')
  const overlay = join(scratch, 'overlay.json')
  writeFileSync(changed, source
    .replace(/^package http$/m, 'package http\n\nimport (\n\t"io"\n\t"net/url"\n\t"os"\n)')
    .replace(call, 'return t.roundTrip(throughGateway(req))') + readFileSync(here('through_gateway.go.txt'), 'utf8'))
  writeFileSync(overlay, JSON.stringify({ Replace: { [original]: changed } }))
  return overlay
}
