/** `agentSources` with several processes: the primary reads the sources, and all workers serve their agents. */
import t from 'tap'
import { catalogAt, catalogServer, sourceAt } from '../agents/kit.js'
import { call, rpc, until, untilSame } from '../helpers/http.js'
import { cluster } from './kit.js'

t.test('all workers serve the agents of a catalog, lose one that disappears, and get one that comes', async t => {
  const catalog = await catalogServer(t)
  catalog.content = catalogAt(catalog.url, ['billing', 'search'])
  const gateway = await cluster(t, `agents: []\n${sourceAt(catalog.url)}`)
  /** The distinct outcomes of calls that reach both workers. */
  const outcomes = async (name: string): Promise<string[]> => {
    const found = new Set<string>()
    for (let i = 0; i < 8; i++) {
      const { status, text } = await rpc(`${gateway.url}/agents/${name}/rpc`)
      found.add(status === 200 && text.includes(`/${name}/rpc`) ? 'served' : String(status))
    }
    return [...found]
  }
  await untilSame(t, () => outcomes('billing'), ['served'])
  await untilSame(t, () => outcomes('search'), ['served'])
  const report = async (): Promise<unknown> => JSON.parse((await call(`${gateway.adminUrl}/agent-sources`)).text)
  t.match(await report(), [{ name: 'partners', problem: null, counts: { admitted: 2, waiting: 0, rejected: 0 } }])
  t.equal(await gateway.metric('a2a_gateway_agent_sources{source="partners",state="admitted"}'), 2)
  const cards = catalog.requests.filter(path => path.includes('/billing/.well-known')).length

  for (const pid of gateway.workers().values()) process.kill(pid, 'SIGKILL')
  await until(() => gateway.said(/^worker \d+ ended/).length === 2 && gateway.workers().size === 2, 'two other processes', 60_000)
  await untilSame(t, () => outcomes('billing'), ['served'], 'workers that replace others')
  t.equal(catalog.requests.filter(path => path.includes('/billing/.well-known')).length, cards, 'they were handed the card')

  catalog.content = catalogAt(catalog.url, ['search', 'later'])
  await untilSame(t, () => outcomes('billing'), ['404'], 'the agent that has disappeared')
  await untilSame(t, () => outcomes('later'), ['served'], 'the agent that has come')
  t.strictSame(await outcomes('search'), ['served'])

  const before = catalog.requests.length
  await until(() => catalog.requests.filter(path => path.startsWith('/.well-known/ai-catalog.json')).length > 3, 'more readings')
  const reads = catalog.requests.slice(before).filter(path => !path.startsWith('/.well-known/ai-catalog.json'))
  t.strictSame(reads.filter(path => path.includes('agent-card')), [], 'a catalog that has not changed costs no card')

  catalog.content = '{'
  await until(async () => JSON.stringify(await report()).includes('does not contain a catalog'), 'the problem')
  t.strictSame(await outcomes('search'), ['served'], 'the last good state')
})
