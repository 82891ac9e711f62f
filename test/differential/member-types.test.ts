/**
 * Official SDKs read some members that have another JSON type than A2A defines. This test shows why the gateway must read every such
 * member. `member-types.yaml` lists, for each member, the readers that accept a value of another type. The test fails when an SDK begins to
 * read another member.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import t from 'tap'
import { parse, stringify } from 'yaml'
import type { AgentKind } from '../helpers/agents.js'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { MemberCase, SampleName } from '../helpers/member-types.js'
import { requestCases, responseCases, SAMPLES } from '../helpers/member-types.js'
import { inTests } from '../helpers/paths.js'
import { plainCard } from '../helpers/raw.js'
import { partOf, WHOLE } from '../helpers/seed.js'
import type { ClientKind } from '../helpers/sdk-clients.js'
import { connect } from '../helpers/sdk-clients.js'
import type { Form } from '../security/kit.js'
import { FORMS, nameOf } from '../security/kit.js'

quietSdk()
t.setTimeout(1_200_000)

const FILE = inTests('differential', 'member-types.yaml')
/** `MEMBER_TYPES=write` writes the file again. */
const WRITES = process.env.MEMBER_TYPES === 'write'

/** An SDK's reading of a body; null when the SDK read nothing. */
type Reader = (one: MemberCase, body: string) => Promise<unknown>
/** The samples of another type that a reader accepted, by direction and form, by member, by reader. */
type Findings = Record<string, Record<string, Record<string, string>>>

const found: Findings = {}
/** Members that were tried, each with its title. */
const tried = new Set<string>()
const expected = WRITES ? {} : parse(readFileSync(FILE, 'utf8')) as Findings

async function collect (title: string, reader: string, cases: readonly MemberCase[], read: Reader): Promise<number> {
  const ofTitle = found[title] ??= {}
  let count = 0
  for (const one of WRITES ? cases : partOf(cases)) {
    tried.add(`${title} ${one.name}`)
    const of = async (value: unknown): Promise<unknown> => await read(one, JSON.stringify(one.body(value)))
    const absent = await of(undefined)
    const taken: SampleName[] = []
    for (const sample of one.wrong) {
      const seen = await of(SAMPLES[sample])
      if (seen !== null && !isDeepStrictEqual(seen, absent)) taken.push(sample)
    }
    if (taken.length > 0) (ofTitle[one.name] ??= {})[reader] = taken.join(' ')
    count += taken.length
  }
  return count
}

const LEAST = WRITES || WHOLE ? 20 : 2

function triedOf (findings: Findings): Findings {
  return Object.fromEntries(Object.entries(findings).map(([title, members]) => [
    title,
    Object.fromEntries(Object.entries(members).filter(([name]) => tried.has(`${title} ${name}`)))
  ]))
}

// ---- Agents ----

const HANDLED =
  /^(?:sendMessage|sendMessageStream|getTask|listTasks|cancelTask|createTaskPushNotificationConfig|setTaskPushNotificationConfig)$/
const connections = new Agent({ keepAlive: true, maxSockets: 1 })
t.teardown(() => { connections.destroy() })

/** The input of the SDK agent's request handler. */
async function agentReader (t: Test, kind: AgentKind): Promise<Reader> {
  let given: unknown = null
  const agent = await startAgent({
    kind,
    card: { pushNotifications: true },
    wrap: <T extends object>(handler: T) => new Proxy(handler, {
      get (target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function' || typeof name !== 'string' || !HANDLED.test(name)) return member
        return (params: unknown) => {
          given = structuredClone(params)
          throw new Error('read')
        }
      }
    })
  })
  t.teardown(() => agent.close())
  return async ({ form, operation }, body) => {
    given = null
    const rest = `/a2a/rest${form.version === '0.3' ? '/v1' : ''}${REST_PATHS[operation] ?? '/message:send'}`
    const path = form.binding === 'JSONRPC' ? '/a2a/jsonrpc' : rest
    const headers = { 'content-type': 'application/json', ...(form.version === '1.0' ? { 'a2a-version': '1.0' } : {}) }
    const request = httpRequest(agent.url + path, { method: 'POST', agent: connections, headers })
    request.end(body)
    const [response] = await once(request, 'response') as [IncomingMessage]
    response.resume()
    await once(response, 'end')
    return given
  }
}

const REST_PATHS: Readonly<Record<string, string>> = {
  CancelTask: '/tasks/t:cancel',
  CreateTaskPushNotificationConfig: '/tasks/t/pushNotificationConfigs'
}

for (const form of FORMS) {
  for (const kind of form.version === '1.0' ? ['v1'] as const : ['dual', 'v03'] as const) {
    t.test(`requests, ${nameOf(form)}, agent of ${kind}`, async t => {
      const count = await collect(`requests ${nameOf(form)}`, kind, requestCases(form), await agentReader(t, kind))
      t.ok(count > LEAST, `${count} values of another type were read`)
    })
  }
}

// ---- Clients ----

/** The results that the SDK client returns to its application. */
async function clientReader (form: Form, kind: ClientKind): Promise<Reader> {
  let staged: (id: unknown) => Response = () => new Response()
  const url = 'https://agent.test'
  const additionalInterfaces = [{ url: `${url}/rpc`, transport: 'JSONRPC' }, { url: `${url}/rest`, transport: 'HTTP+JSON' }]
  const card = JSON.stringify(
    plainCard(url, { url: `${url}/rpc`, preferredTransport: 'JSONRPC', protocolVersion: '0.3.0', additionalInterfaces })
  )
  const client = await connect({
    client: kind,
    cardUrl: `${url}/.well-known/agent-card.json`,
    transport: form.binding,
    fetch: async (input, init) => {
      if (String(input).includes('/.well-known/')) return new Response(card, { headers: { 'content-type': 'application/json' } })
      return staged(typeof init?.body === 'string' && form.binding === 'JSONRPC' ? (JSON.parse(init.body) as { id: unknown }).id : 1)
    }
  })
  return async ({ operation, name }, body) => {
    staged = id => {
      const sent = name.endsWith('envelope.id') ? body : body.replace('"id":1', `"id":${JSON.stringify(id)}`)
      return operation === 'SendStreamingMessage'
        ? new Response(`data: ${sent}\n\n`, { headers: { 'content-type': 'text/event-stream' } })
        : new Response(sent, { headers: { 'content-type': 'application/json' } })
    }
    const values: unknown[] = []
    try {
      if (operation === 'SendStreamingMessage') for await (const value of client.stream('hello')) values.push(value)
      else values.push(await (operation === 'ListTasks' ? client.listTasks('c') : client.send('hello')))
    } catch {
      if (values.length === 0) return null
    }
    return structuredClone(values)
  }
}

for (const form of FORMS) {
  for (const kind of form.version === '1.0' ? ['v1'] as const : ['v1-as-03', 'v03'] as const) {
    t.test(`responses, ${nameOf(form)}, client of ${kind}`, async t => {
      const cases = responseCases(form).filter(({ operation }) => operation !== 'ListTasks' || form.version === '1.0')
      const count = await collect(`responses ${nameOf(form)}`, kind, cases, await clientReader(form, kind))
      t.ok(count > LEAST, `${count} values of another type were read`)
    })
  }
}

t.test('these are the values that official SDKs read', async t => {
  const about =
    '# By direction, binding and version: member, reader, and the samples of another type that it reads. Made with MEMBER_TYPES=write.'
  if (WRITES) writeFileSync(FILE, `${about}\n${stringify(found, { lineWidth: 0 })}`)
  else t.same(found, WHOLE ? expected : triedOf(expected))
})
