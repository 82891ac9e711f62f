/** Streams in which the agent sends comments, `id:` and `retry:` lines before and between the events. */
import type { ServerResponse } from 'node:http'
import t from 'tap'
import type { Turn } from '../helpers/agents.js'
import { behind, FOUR, isRefusedAnswer, told, wire } from './responses-kit.js'

const PROVEN = 'https://x.test/ext/proven/v1'
const SECRET = 'https://x.test/ext/secret/v1'
/** As a2a-js PR 638 and a2a-dotnet PR 454 send them, and fields that the standard defines. */
const FIRST = ': keep-alive\n\nretry: 3000\n\nid: 0\n\n'
const EACH = ': keep-alive\n\nid: 7\nretry: 1000\n'

const root = (verdict: string): string[] => [
  'extensions:',
  `  proven: {uri: "${PROVEN}", echo: synthesize, owns: {metadata: [proven.*]}}`,
  '  secret:',
  `    uri: "${SECRET}"`,
  '    response:',
  `      - {id: no-secret, select: {metadata: {key: secret}}, count: {max: 0}, verdict: ${verdict}}`
]

/** Writes the lines before the first event, in a write of their own, and others before each event. */
function commented (response: ServerResponse): void {
  const write = response.write.bind(response) as (chunk: unknown, ...rest: unknown[]) => boolean
  let first = true
  response.write = (chunk: unknown, ...rest: unknown[]): boolean => {
    const text = String(chunk)
    if (!/^(?:data|event|id):/.test(text)) return write(chunk, ...rest)
    if (first) write(FIRST)
    first = false
    return write(EACH + text, ...rest)
  }
}

function behaviour (turn: Turn): void {
  turn.task('working', { metadata: { 'proven.x': 1 } })
  turn.status('working', 'soon', { metadata: { secret: 's3cret' } })
  turn.status('completed', 'done')
}

for (const combination of FOUR) {
  t.test(`comments and fields first: ${combination.name}`, async t => {
    for (const [verdict, tamper] of [['strip', undefined], ['strip', commented], ['reject', commented]] as const) {
      const { client } = await behind(t, combination, {
        agent: {
          behaviour,
          activate: 'none',
          card: { extensions: [{ uri: PROVEN }, { uri: SECRET }] },
          ...(tamper === undefined ? {} : { tamper })
        },
        responses: 'enforce',
        policies: '[proven, secret]',
        root: root(verdict)
      })
      const { fetch, exchanges } = wire()
      const caller = await client({ fetch, extensions: [PROVEN] })
      const got = await told(caller.stream('go'))
      const [exchange] = exchanges
      const body = await exchange?.body ?? ''
      const header = combination.version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions'
      t.equal(exchange?.headers.get(header), PROVEN, `${verdict}: the header names what the first event proves`)
      t.notMatch(body, 's3cret', `${verdict}: the rule applies`)
      if (tamper !== undefined) t.ok(body.startsWith(FIRST + EACH), `${verdict}: the lines pass, in their order`)
      if (verdict === 'reject') isRefusedAnswer(t, combination, got.failure, 'secret/no-secret', 'the second event')
      else t.same([got.failure, got.values.length, body.split(EACH).length - 1], [null, 3, tamper === undefined ? 0 : 3])
    }
  })
}
