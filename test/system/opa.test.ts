/** examples/opa with a real Open Policy Agent: permit, deny, strip, over HTTP. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import { freePort, rpc, until } from '../helpers/http.js'
import { ROOT } from '../helpers/paths.js'
import { fakeAgent } from '../helpers/raw.js'

const OPA = process.env.OPA ?? 'opa'
const NO_OPA = spawnSync(OPA, ['version']).status === 0 ? false : 'needs opa: go install github.com/open-policy-agent/opa@latest'

t.test('payments, cancellations and account numbers', { skip: NO_OPA }, async t => {
  const port = await freePort()
  const opa = spawn(OPA, ['run', '--server', '--addr', `127.0.0.1:${port}`, join(ROOT, 'examples/opa/policy.rego')], { stdio: 'ignore' })
  t.teardown(() => { opa.kill() })
  await until(async () => await fetch(`http://127.0.0.1:${port}/health`).then(response => response.ok, () => false), 'OPA', 60_000)
  const agent = await fakeAgent(t)
  const yaml = readFileSync(join(ROOT, 'examples/opa/gateway.yaml'), 'utf8')
    .replace(/^version: 1\nserver:.*$/m, '').replace('timeout: 300ms', 'timeout: 10s')
    .replace(/\$\{OPA_URL:-.*?\}/, `http://127.0.0.1:${port}/v0/data/a2a/answer`).replace(/\$\{AGENT_URL:-.*?\}/, agent.url)
  const gateway = await gatewayFor(t, { yaml })
  const pay = (amount: number) => rpc(`${gateway.url}/rpc`, 'SendMessage', {
    message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ data: { amount, iban: 'DE1' } }] }
  }, ['a2a-extensions', 'https://example.com/ext/payments/v1'])
  t.match((await pay(900)).json(), { result: {} })
  t.match(String(agent.received[0]?.body), /"amount":900/)
  t.notMatch(String(agent.received[0]?.body), /DE1/, 'the obligation of OPA')
  t.match((await pay(2000)).json(), { error: { code: -32004, message: /Payments above 1000 need a member of treasury/ } })
  t.match((await rpc(`${gateway.url}/rpc`, 'CancelTask', { id: 't1' })).json(), { error: { code: -32004, message: /Tasks cannot be cancelled/ } })
  t.match((await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't1' })).json(), { result: {} })
  t.equal(agent.received.length, 2)
})
