/** Data that official clients do not receive: data of extensions that they did not activate, and secrets in a task's history. */
import t from 'tap'
import type { Turn } from '../helpers/agents.js'
import { taskIdOf } from '../helpers/sdk-clients.js'
import type { Combination } from './responses-kit.js'
import { ALL, behind, FOUR, hasTags, requests, textOf, told, violations, wire } from './responses-kit.js'

const URI = 'https://x.test/ext/notes/v1'
const TAG = 'application/vnd.notes+json'
const POLICY = [
  'extensions:',
  '  notes:',
  `    uri: ${URI}`,
  '    mode: enforce',
  `    owns: {metadata: [notes.*], dataKeys: [notes.*], mediaTypes: [${TAG}]}`,
  '    activation: {signals: [header]}',
  '    inactive: {response: strip}',
  '    redact: [secret.token, "login#/password"]'
]

/**
 * Every place that data of an extension can be in. The metadata of a part gets lost over HTTP+JSON in 0.3, and so does its media type:
 * there its keys tell.
 */
function behaviour (turn: Turn): void {
  const owned = { 'notes.a': 'hush', other: 'stays' }
  const part = { data: { 'notes.d': 'hush' }, mediaType: TAG }
  if (turn.text === 'message') return turn.messageWith({ metadata: owned }, { text: 'words', metadata: owned }, part)
  if (turn.text === 'only') return turn.messageWith({}, { data: { alone: true }, mediaType: TAG })
  turn.task('working', { metadata: owned })
  turn.artifact('a', [{ text: 'words' }, part], { metadata: owned, event: owned })
  turn.status('completed', 'done', { metadata: owned, event: owned, parts: [part] })
}

const AGENT = { behaviour, card: { extensions: [{ uri: URI }] } }
const setUp = (responses: 'enforce' | 'observe' | 'off', more: readonly string[] = []) => ({
  agent: AGENT,
  responses,
  policies: '[notes]',
  root: [...POLICY, ...more]
})

/** In both bindings, unary and streaming. */
async function everything (
  combination: Combination,
  caller: Awaited<ReturnType<Awaited<ReturnType<typeof behind>>['client']>>
): Promise<Record<string, unknown>> {
  const message = await told(caller.send('message'))
  const task = await told(caller.send('task'))
  const id = taskIdOf(task.values[0]) ?? 'none'
  return {
    message,
    task,
    messages: await told(caller.stream('message')),
    events: await told(caller.stream('task')),
    got: await told(caller.getTask(id, 10)),
    // No client of 0.3 lists tasks.
    ...(combination.version === '1.0' ? { listed: await told(caller.listTasks((task.values[0] as { contextId: string }).contextId)) } : {})
  }
}

for (const combination of ALL) {
  t.test(`inactive: ${combination.name}`, async t => {
    const { gateway, client } = await behind(t, combination, setUp('enforce'))
    for (const [what, seen] of Object.entries(await everything(combination, await client()))) {
      const text = textOf(seen)
      t.match(text, '"failure":null', `${what}: no error`)
      t.notMatch(text, /notes\.|hush/, `${what}: nothing of the extension`)
      t.match(text, 'stays', `${what}: other data stays`)
      t.match(text, /words|done/, `${what}: text stays`)
    }
    t.ok(await gateway.metric(violations('notes', 'inactive', 'observe')) > 0, 'recorded')
    t.equal(await gateway.metric(requests(combination, 'SendMessage', 'forwarded')), 2)

    for (const [what, seen] of Object.entries(await everything(combination, await client({ extensions: [URI] })))) {
      t.match(textOf(seen), 'notes.a', `${what}: shown to who activated it`)
      t.match(textOf(seen), '"failure":null')
    }
  })
}

for (const combination of FOUR) {
  t.test(`observe and off: ${combination.name}`, async t => {
    for (const responses of ['observe', 'off'] as const) {
      const { gateway, client } = await behind(t, combination, setUp(responses))
      for (const [what, seen] of Object.entries(await everything(combination, await client()))) {
        t.match(textOf(seen), 'notes.a', `${responses}, ${what}: as the agent says it`)
      }
      const noted = await gateway.metric(violations('notes', 'inactive', 'observe'))
      t.ok(responses === 'off' ? noted === 0 : noted > 0, `${responses}: ${noted} recorded`)
    }
  })

  t.test(`hidden: ${combination.name}`, async t => {
    // The gateway asks for it, without showing it. `always` lets the request through that has the header from nobody.
    const { agent, gateway, client } = await behind(t, combination, {
      ...setUp('enforce'),
      root: [
        ...POLICY.map(line =>
          line.replace('activation: {signals: [header]}', 'activation: {signals: [header], default: inject, expose: false}')
        )
      ]
    })
    const { fetch, exchanges } = wire()
    for (const [what, seen] of Object.entries(await everything(combination, await client({ fetch })))) {
      t.notMatch(textOf(seen), /notes\.|hush/, what)
    }
    t.match(agent.calls()[0]?.headers, combination.version === '1.0' ? { 'a2a-extensions': URI } : { 'x-a2a-extensions': URI }, 'asked for')
    t.match(textOf(agent.calls().map(one => one.answer.toString())), 'notes.a', 'answered')
    for (const { headers } of exchanges) {
      t.same([headers.get('a2a-extensions'), headers.get('x-a2a-extensions')], [null, null], 'no echo of it')
    }
    const echo = 'a2a_gateway_activations_total{agent="agent",extension="notes",source="gateway",echo="confirmed"}'
    t.ok(await gateway.metric(echo) >= 4, 'the data proves it')
    const shown = await client({ extensions: [URI] })
    t.match(textOf(await told(shown.send('task'))), 'notes.a', 'who asks for it sees it')
  })

  t.test(`redact: ${combination.name}`, async t => {
    for (const responses of ['enforce', 'observe'] as const) {
      const { agent, gateway, client } = await behind(t, combination, setUp(responses))
      const caller = await client({ extensions: [URI] })
      const sent = await told(
        caller.send('task', {
          message: { metadata: { 'secret.token': 'hunter2', login: { user: 'ann', password: 'hunter2' }, plain: 'stays-here' } }
        })
      )
      const id = taskIdOf(sent.values[0]) ?? 'none'
      const contextId = (sent.values[0] as { contextId: string }).contextId
      const stories = [
        sent,
        await told(caller.getTask(id, 10)),
        ...(combination.version === '1.0' ? [await told(caller.listTasks(contextId))] : [])
      ]
      t.match(agent.calls()[0]?.body.toString(), 'hunter2', 'the agent was told')
      for (const [i, story] of stories.entries()) {
        t.equal(story.failure, null)
        t.match(textOf(story), 'stays-here', 'what is no secret stays')
        t.match(textOf(story), 'ann')
        if (responses === 'enforce') t.notMatch(textOf(story), 'hunter2', `answer ${i}`)
        else t.match(textOf(story), 'hunter2', `answer ${i}: only observed`)
      }
      t.equal(await gateway.metric(violations('notes', 'redact', 'observe')), responses === 'observe' ? stories.length : 0)
      t.notMatch(textOf([gateway.audits(), gateway.logs()]), 'hunter2')
    }
  })

  if (!hasTags(combination)) continue
  t.test(`the only part stays: ${combination.name}`, async t => {
    const { gateway, client } = await behind(t, combination, setUp('enforce'))
    const caller = await client()
    for (const seen of [await told(caller.send('only')), await told(caller.stream('only'))]) {
      t.equal(seen.failure, null)
      t.match(textOf(seen), 'alone', 'a message without parts would be none')
    }
    t.equal(await gateway.metric(violations('notes', 'inactive', 'observe')), 4, 'found, and that it stays')
    t.match(textOf(gateway.audits()), 'no part would be left')
  })
}
