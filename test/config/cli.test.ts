import { packageVersion } from '#config/paths.js'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { runCheck } from '#cli/check.js'
import { runSchema } from '#cli/schema.js'
import { configSchema } from '#config/schema/schema.js'

const AGENT = '  - name: a\n    upstream: {url: "http://127.0.0.1:1"}\n'

t.test('check', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'check-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  const check = async (text: string | null, env: NodeJS.ProcessEnv = {}, asFlag = true) => {
    const file = join(directory, 'gateway.yaml')
    if (text !== null) writeFileSync(file, text)
    let out = ''
    let err = ''
    const code = await runCheck(
      { config: asFlag && text !== null ? file : null, env: !asFlag && text !== null ? { ...env, A2A_GATEWAY_CONFIG: file } : env },
      {
        out: chunk => {
          out += chunk
        },
        err: chunk => {
          err += chunk
        }
      }
    )
    return { code, out: out.replaceAll(`${directory}/`, ''), err }
  }
  t.same(await check(`version: 1\nagents:\n${AGENT}`), { code: 0, out: 'gateway.yaml: ok: 1 agent, 1 policy\n', err: '' })
  t.same(await check(`version: 1\nagents:\n${AGENT}    extensions: []\n`, {}, false), {
    code: 0,
    out: 'gateway.yaml: ok: 1 agent, 0 policies\n',
    err: 'note: check did not read the card of agent "a". Run check --live to see whether these settings lower what the card declares: extensions without object-schemas'
  })
  t.same(
    await check(`version: 1\nagents:\n${AGENT}  - {name: b, path: /b, upstream: {url: "http://h"}}\nserver: {trustedProxies: ["::/0"]}\n`),
    {
      code: 0,
      out: 'gateway.yaml:6:27: warning: "::/0" trusts the X-Forwarded-* headers of every client (name the proxies in front)\ngateway.yaml: ok: 2 agents, 1 policy\n',
      err: ''
    }
  )
  t.same(await check(`version: 2\nagnets:\n${AGENT}`), {
    code: 1,
    out: `gateway.yaml:1:1: agents is required [A2AGW_ERR_CONFIG_MISSING_KEY]\ngateway.yaml:1:10: version must be 1, not 2 (a2a-gateway ${packageVersion()} reads version 1; a file of another version needs the release that it was written for) [A2AGW_ERR_CONFIG_VALUE]\ngateway.yaml:2:1: unknown key "agnets" (did you mean "agents"?) [A2AGW_ERR_CONFIG_UNKNOWN_KEY]\n`,
    err: ''
  })
  t.same(await check(`version: 1\nagents:\n${AGENT}`, { A2A_GATEWAY_LISTEN: 'x' }), {
    code: 2,
    out: 'A2A_GATEWAY_LISTEN: server.listen must be host:port (such as "0.0.0.0:8080", ":8080" or "[::1]:8080") [A2AGW_ERR_CONFIG_VALUE]\n',
    err: ''
  })
  t.same(await check(null, { A2A_GATEWAY_UPSTREAM: 'http://h' }), { code: 0, out: 'defaults: ok: 1 agent, 1 policy\n', err: '' })
  t.same(await check(null), {
    code: 2,
    out: '',
    err: 'a2a-gateway check: nothing to check: name a file (a2a-gateway check FILE), or set A2A_GATEWAY_CONFIG; there is no ./gateway.yaml [A2AGW_ERR_USAGE]'
  })
})

t.test('schema', t => {
  let out = ''
  t.equal(runSchema({ out: (text) => { out += text } }), 0)
  t.same(JSON.parse(out), configSchema)
  t.end()
})
