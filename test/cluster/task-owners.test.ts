/** Workers share the owners of tasks: the primary keeps them. */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { fakeAgent } from '../helpers/raw.js'
import { as, keyDirectory, message, ownedYaml, rpcCall } from '../helpers/task-owners.js'
import { cluster } from './kit.js'

t.test('two workers, one owner', async t => {
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      const { params } = JSON.parse(request.body.toString()) as { params: { id?: string, message?: { contextId?: string } } }
      const task = { id: params.id ?? randomUUID(), contextId: params.message?.contextId ?? randomUUID(), status: { state: 'TASK_STATE_WORKING' } }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: params.message === undefined ? task : { task } }))
    }
  })
  const directory = keyDirectory(t)
  const gateway = await cluster(t, `${ownedYaml(agent.url, { tasks: '{onUnknown: allow}', directory })}\ntelemetry: {logs: {level: debug}}`)
  const [ada, bob] = ['ada' as const, 'bob' as const].map(name => as(gateway.url, name)) as [ReturnType<typeof as>, ReturnType<typeof as>]
  const send = (contextId: string) => ({ ...message('hello', { contextId }), path: '/rpc' })
  const responses = await Promise.all(Array.from({ length: 50 }, async (_, i) => (await (i % 2 === 0 ? ada : bob)(send('c'))).text))
  const passed = [0, 1].map(caller => responses.filter((text, i) => i % 2 === caller && text.includes('"result"')).length)
  t.same([...passed].sort((a, b) => a - b), [0, 25])
  const { result } = JSON.parse((await ada(send('of ada'))).text) as { result: { task: { id: string } } }
  const get = { ...rpcCall('GetTask', { id: result.task.id }), path: '/rpc' }
  const looks = await Promise.all(Array.from({ length: 20 }, async () => [(await ada(get)).text.includes('"result"'), (await bob(get)).text.includes('TASK_NOT_FOUND')]))
  t.same(new Set(looks.flat()), new Set([true]))
  t.equal(new Set((await gateway.heard(/^request$/, 91)).map(line => line.worker)).size, 2, 'both workers took part')
})
