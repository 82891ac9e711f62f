/** The value of an injected secret goes only to the agent. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { send } from './kit.js'

const URI = 'urn:ours:v1'
const MARKS = ['marker-in-a-file', 'marker-in-the-environment', 'marker-that-came-later']

t.test('no output of a running gateway contains a secret', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'secret-'))
  writeFileSync(join(directory, 'token'), MARKS[0] as string)
  const agent = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { extensions: [{ uri: URI }] } }) })
  const yaml = (existing: string): string =>
    oneAgent(
      agent.url,
      ['extensions: [ours]'],
      [
        'telemetry: {logs: {level: trace}}',
        'extensions:',
        `  ours: {uri: "${URI}", mode: enforce, inject: [{metadata: k, existing: ${existing}, fromSecret: {file: token}}, {metadata: e, fromSecret: {env: TOKEN}}]}`
      ]
    )
  const env = { TOKEN: MARKS[1] }
  const gateway = await gatewayFor(t, { yaml: yaml('reject'), baseDir: directory, env })
  const outputs: string[] = []
  const ask = async (metadata: string, extensions = URI): Promise<number> => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"t"}],"metadata":${metadata}}}}`
    const answer = await send(gateway.url, {
      path: '/rpc',
      headers: [
        ['Content-Type', 'application/json'],
        ['A2A-Version', '1.0'],
        ['A2A-Extensions', extensions]
      ],
      body
    })
    outputs.push(answer.text, JSON.stringify(answer.headers))
    return answer.status
  }

  t.equal(await ask('{}'), 200)
  for (const mark of MARKS.slice(0, 2)) t.match(agent.received[0]?.body.toString(), new RegExp(mark), 'the agent gets it')
  await ask('{"k":1}')
  await ask('7')
  await ask('{')
  t.equal(agent.received.length, 1, 'the others were refused')
  writeFileSync(join(directory, 'token'), MARKS[2] as string)
  t.equal((await gateway.reload(configOf({ yaml: yaml('replace'), baseDir: directory, env }))).ok, true)
  await ask('{"k":1}')
  t.match(agent.received[1]?.body.toString(), new RegExp(MARKS[2] as string), 'also a later one')
  const next = configOf({ yaml: yaml('keep'), baseDir: directory, env })
  rmSync(join(directory, 'token'))
  const refused = await gateway.reload(next)
  t.equal(refused.ok, false)
  outputs.push(JSON.stringify(refused))
  agent.server.close()
  agent.server.closeAllConnections()
  t.equal(await ask('{}'), 502, 'an agent that is gone')

  for (const path of ['/agents', '/metrics', '/readyz']) outputs.push(await (await fetch(gateway.adminUrl + path)).text())
  outputs.push(JSON.stringify(gateway.logs()), JSON.stringify(gateway.audits()), JSON.stringify(next))
  t.ok(gateway.logs().length > 3 && gateway.audits().length > 1, 'there was something to read')
  for (const mark of MARKS) t.notOk(outputs.join('\n').includes(mark), mark)
})
