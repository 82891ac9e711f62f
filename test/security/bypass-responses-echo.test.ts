/** The extensions that an agent's echo may show to the client: only requested ones, whatever their spelling or transport. */
import t from 'tap'
import { behind, rpcResult, URI } from './responses-kit.js'
import { lines } from '../helpers/http.js'

const ALIAS = 'https://x.test/ext/other-name/v1'
const policy = (more: readonly string[]): string[] => [
  'extensions:',
  '  ext:',
  `    uri: ${URI}`,
  `    aliases: [{uri: "${ALIAS}", relation: same}]`,
  ...more.map(line => `    ${line}`),
  '    observe: {spanAttributes: {x.x: {metadata: {in: [task], key: x}}}}'
]
const body = rpcResult('{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}')
const ECHOES = [URI, ALIAS, `${ALIAS},${URI}`, ` ,${ALIAS} ,`]
const POLICIES: Readonly<Record<string, readonly string[]>> = {
  'injected and not shown': ['activation: {default: inject, expose: false}'],
  'verified, not asked for': ['echo: verify'],
  'injected, not shown and verified': ['activation: {default: inject, expose: false}', 'echo: verify']
}

for (const [what, more] of Object.entries(POLICIES)) {
  for (const responses of what.includes('verified') ? ['enforce'] : ['enforce', 'off']) {
    t.test(`${what}, responses: ${responses}`, async t => {
      const { ask } = await behind(t, responses, policy(more))
      for (const echo of ECHOES) {
        for (const name of ['A2A-Extensions', 'X-A2A-Extensions', 'a2a-EXTENSIONS']) {
          for (const status of [200, 400]) {
            const answer = await ask(
              {},
              {
                status,
                headers: ['content-type', 'application/json', name, echo, 'x-a2a-extensions', ALIAS, 'gateway-decision', 'forged'],
                body
              }
            )
            t.same(
              [...lines(answer.rawHeaders, 'a2a-extensions'), ...lines(answer.rawHeaders, 'x-a2a-extensions')],
              [],
              `${name}: ${echo}, ${status}`
            )
            t.equal(answer.headers['gateway-decision'], undefined)
          }
        }
      }
    })
  }
}
