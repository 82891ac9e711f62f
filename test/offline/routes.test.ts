/** The offline evaluation of recorded requests to a route of an extension gives the same result as the proxy. */
import t from 'tap'
import { runFiles } from './kit.js'

const URI = 'https://e.test/dev'
const HEAD = `card: {capabilities: {extensions: [{uri: '${URI}'}]}}
agent: {extensions: [dev]}
extensions:
  dev:
    uri: ${URI}
    activation: {signals: [header]}
    routes: [{verb: POST, path: "/commands/{name}", body: {required: [command]}}]
`
const recorded = (version: string, header: string, body: string): string =>
  `POST http://agent.test/commands/x\nContent-Type: application/json\nA2A-Version: ${version}\n${header}\n\n${body}\n`

for (const [version, header] of [['1.0', `A2A-Extensions: ${URI}`], ['0.3', `X-A2A-Extensions: ${URI}`]] as const) {
  t.test(version, async t => {
    const ran = runFiles(t, {
      'good.http': recorded(version, header, '{"command":1}'),
      'bad.http': recorded(version, header, '{}'),
      'bare.http': recorded(version, 'X-Other: 1', '{"command":1}'),
      'dev.test.yaml': `${HEAD}tests:
  - {name: good, request: {http: good.http}, expect: {decision: forward, active: ['${URI}'], unchanged: true, headers: {A2A-Extensions: '${URI}'}}}
  - {name: bad, request: {http: bad.http}, expect: {decision: reject, rule: dev/route-body, path: command, status: 400}}
  - {name: bare, request: {http: bare.http}, expect: {decision: reject, rule: dev/route, reason: EXTENSION_SUPPORT_REQUIRED}}
`
    })
    t.match(ran, { code: 0, err: '' }, ran.out)
    t.match(ran.out, `bare (${version} HTTP+JSON)`)
  })
}
