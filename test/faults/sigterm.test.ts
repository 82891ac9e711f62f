/** SIGTERM under load: calls in flight end well, the gateway accepts no new calls, and the gateway causes no failure. */
import t from 'tap'
import { until } from '../helpers/http.js'
import { serve } from '../helpers/serve.js'
import { ask, faultsConfig, FORMS, isOwn } from './calls.js'
import type { Ended, Form } from './calls.js'
import { answer, faultyAgent } from './faulty-agent.js'

t.test('calls and streams in flight, and callers that continue to call', async t => {
  const agent = await faultyAgent(t)
  const gateway = await serve(
    t,
    `telemetry: {logs: {level: info}, audit: {enabled: false}}\n${faultsConfig(agent.url, 'enforce')}`,
    {},
    { drainTimeout: '60s' }
  )
  const waiting: Array<() => void> = []
  agent.fault = { act: ({ socket, good }) => { waiting.push(() => { answer(socket, good) }) } }
  const inFlight = Array.from({ length: 40 }, (_, i) => FORMS[i % FORMS.length] ?? 'REST').map(form => ({
    form,
    ended: ask(gateway, form)
  }))
  await until(() => waiting.length === inFlight.length, 'all calls to be in flight', 30_000)

  const stop = new AbortController()
  const late: { readonly form: Form, readonly ended: Ended }[] = []
  const callers = [0, 1, 2, 3].map(async i => {
    for (let n = i; !stop.signal.aborted; n++) {
      const form = FORMS[n % FORMS.length] ?? 'REST'
      late.push({ form, ended: await ask(gateway, form) })
      await new Promise(resolve => { setTimeout(resolve, 5) })
    }
  })
  agent.fault = null
  await until(() => late.length > 8, 'the load')
  gateway.kill('SIGTERM')
  await until(() => late.some(({ ended }) => ended.status === null), 'new connections to be refused')
  for (const one of waiting) one()
  for (const { form, ended } of inFlight) isOwn(t, await ended, form, 'in flight')
  t.equal(await gateway.exited, 0, gateway.output())
  stop.abort()
  await Promise.all(callers)
  const served = late.filter(({ ended }) => ended.status !== null)
  for (const { form, ended } of served) isOwn(t, ended, form, 'accepted before')
  const first = late.findIndex(({ ended }) => ended.status === null)
  t.ok(first > 0 && served.length >= first, 'then refused')
  t.notMatch(gateway.output(), /"level":"(?:error|fatal)"/)
})
