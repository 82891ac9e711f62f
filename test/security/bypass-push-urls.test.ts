/**
 * A URL for push notifications is checked in every place from which some agent reads it, in every binding, version and spelling. A
 * rejected URL never reaches the agent.
 */
import t from 'tap'
import type { Form, Sending } from './kit.js'
import { bodyOf, FORMS, forwarded, messageOf, nameOf, refused, sending, target, textPart } from './kit.js'

const ALLOWED = 'https://eu.hooks.example.com/a2a/1'
const BAD: readonly string[] = [
  'http://eu.hooks.example.com/a2a/1', 'https://hooks.example.com.evil.test/a2a/1', 'https://169.254.169.254/latest', 'https://2852039166/',
  'https://eu.hooks.example.com\\@evil.test/a2a/1', 'https://eu.hooks.example.com/a2a/%2e%2e/admin', 'https://eu.hooks.example.com@evil.test/a2a/',
  'https://eu.hooks.example.com/b', 'https://localhost/a2a/1'
]
const PUSH = ['push: {allow: ["https://*.hooks.example.com/a2a/*"]}']

/** Requests that set a configuration, by the place of the configuration. */
function settings (form: Form, config: string): readonly { readonly name: string, readonly path: RegExp, readonly sending: Sending }[] {
  const old = form.version === '0.3'
  const send = (member: string): Sending => sending(form, bodyOf(form, messageOf(form, [textPart(form)]), `,"configuration":{"${member}":${config}}`))
  const stream = (member: string): Sending =>
    sending(form, bodyOf(form, messageOf(form, [textPart(form)]), `,"configuration":{"${member}":${config}}`, true), { stream: true })
  const create = (request: string): Sending =>
    form.binding === 'JSONRPC'
      ? sending(form, `{"jsonrpc":"2.0","id":1,"method":"${old ? 'tasks/pushNotificationConfig/set' : 'CreateTaskPushNotificationConfig'}","params":${request}}`)
      : sending(form, request, { path: `/rest${old ? '/v1' : ''}/tasks/t1/pushNotificationConfigs` })
  return [
    ...['pushNotificationConfig', 'push_notification_config', 'taskPushNotificationConfig', 'task_push_notification_config', 'pushNotification']
      .map(member => ({ name: `sent as ${member}`, path: /configuration\./, sending: send(member) })),
    { name: 'streamed', path: /configuration\./, sending: stream(old ? 'pushNotificationConfig' : 'taskPushNotificationConfig') },
    { name: 'set, nested', path: /onfig\.url/, sending: create(`{"pushNotificationConfig":${config}}`) },
    { name: 'set, nested in config', path: /config\.pushNotificationConfig\.url/, sending: create(`{"config":{"pushNotificationConfig":${config}}}`) },
    { name: 'set, in config', path: /config\.url/, sending: create(`{"config":${config}}`) },
    { name: 'set', path: /url/, sending: create(config) }
  ]
}

type Place = ReturnType<typeof settings>[number]

async function everyPlace (config: string, check: (form: Form, place: Place) => Promise<void>): Promise<void> {
  for (const form of FORMS) for (const place of settings(form, config)) await check(form, place)
}

t.test('no place of a request lets a forbidden URL through', async t => {
  const one = await target(t, { agent: PUSH })
  for (const url of BAD) {
    await everyPlace(JSON.stringify({ id: 'c', url }), async (form, place) => {
      const name = `${nameOf(form)}, ${place.name}, ${url}`
      const response = await one.send(place.sending)
      refused(t, one, response, 'PUSH_URL_NOT_ALLOWED', place.path, name)
      t.notOk(response.text.includes('hooks.example.com'), `${name}: neither the URL nor the list is in the response`)
    })
  }
})

t.test('an allowed URL passes, with the same bytes', async t => {
  const one = await target(t, { agent: PUSH })
  await everyPlace(JSON.stringify({ id: 'c', url: ALLOWED }), async (form, place) => {
    forwarded(t, one, await one.send(place.sending), place.sending.body ?? null, `${nameOf(form)}, ${place.name}`)
  })
})

t.test('one of several configurations is enough to reject', async t => {
  const one = await target(t, { agent: PUSH })
  const form = FORMS[0] as Form
  const both = `,"configuration":{"taskPushNotificationConfig":{"url":"${ALLOWED}"},"pushNotificationConfig":{"url":"https://evil.test/"}}`
  refused(t, one, await one.send(sending(form, bodyOf(form, messageOf(form, [textPart(form)]), both))), 'PUSH_URL_NOT_ALLOWED', /pushNotificationConfig\.url/, 'sent')
  const nested = `{"url":"${ALLOWED}","pushNotificationConfig":{"url":"https://evil.test/"}}`
  const set = `{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":${nested}}`
  refused(t, one, await one.send(sending(form, set)), 'PUSH_URL_NOT_ALLOWED', /pushNotificationConfig\.url/, 'set')
})

t.test('a configuration without a URL, or with a URL of another type, is rejected', async t => {
  const one = await target(t, { agent: PUSH })
  for (const config of ['{"id":"c"}', '{"url":null}', '{"url":""}']) {
    await everyPlace(config, async (form, place) => {
      refused(t, one, await one.send(place.sending), 'PUSH_URL_NOT_ALLOWED', /url/, `${nameOf(form)}, ${place.name}, ${config}`)
    })
  }
})

t.test('require: a scheme or a token; control characters never', async t => {
  const one = await target(t, { agent: ['push: {require: {authentication: true}, resolve: false}'] })
  const config = (more: object): string => JSON.stringify({ url: 'https://a.example.com/', ...more })
  for (const form of FORMS) {
    const send = (more: object) => one.send(settings(form, config(more))[0]?.sending as Sending)
    for (const more of [{}, { token: '' }, { authentication: {} }, { authentication: { schemes: [] } }, { authentication: { scheme: '' } }]) {
      refused(t, one, await send(more), 'PUSH_URL_NOT_ALLOWED', /authentication is required/, JSON.stringify(more))
    }
    for (const more of [{ token: 'a\r\nb' }, { authentication: { scheme: 'Bearer', credentials: 'x\ny' } }, { authentication: { schemes: ['a\u0000'] } }]) {
      refused(t, one, await send(more), 'PUSH_URL_NOT_ALLOWED', /control characters/, JSON.stringify(more))
    }
    for (const more of [{ token: 'x' }, { authentication: { scheme: 'Bearer', credentials: 'x' } }, { authentication: { schemes: ['Bearer'] } }]) {
      forwarded(t, one, await send(more), null, JSON.stringify(more))
    }
  }
})

t.test('without a list: public hosts only, over https only unless switched off', async t => {
  const form = FORMS[0] as Form
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['push: {resolve: false}', 'https://a.example.com/', true],
    ['push: {}', 'http://a.example.com/', false],
    ['push: {}', 'https://10.0.0.1/', false],
    ['push: {}', 'https://redis:6379/', false],
    ['push: {require: {https: false}, resolve: false}', 'http://a.example.com/', true],
    ['push: {require: {https: false}}', 'http://127.0.0.1/', false],
    ['push: {require: {https: false}, allow: ["http://127.0.0.1:*/hooks/*"]}', 'http://127.0.0.1:9/hooks/1', true],
    ['push: {require: {https: false}, allow: ["http://*:*"]}', 'http://127.0.0.1:9/hooks/1', false],
    ['push: {require: {https: false}, allow: ["http://*.corp"]}', 'http://hooks.corp/', true],
    ['push: {mode: observe}', 'http://127.0.0.1/', true],
    ['push: {mode: off}', 'http://127.0.0.1/', true],
    ['push: null', 'http://127.0.0.1/', true],
    ['mode: observe\n    push: {}', 'http://127.0.0.1/', true]
  ]
  for (const [yaml, url, passes] of cases) {
    const one = await target(t, { agent: yaml.split('\n    ') })
    const { sending: wanted } = settings(form, JSON.stringify({ url }))[0] as Place
    const response = await one.send(wanted)
    if (passes) forwarded(t, one, response, null, `${yaml}: ${url}`)
    else refused(t, one, response, 'PUSH_URL_NOT_ALLOWED', /url/, `${yaml}: ${url}`)
  }
})

t.test('a method that the gateway does not know and forwards cannot carry a configuration either', async t => {
  const one = await target(t, { agent: [...PUSH, 'unknownMethods: forward'] })
  const form = FORMS[0] as Form
  const body = `{"jsonrpc":"2.0","id":1,"method":"acme/send","params":{"message":${messageOf(form, [textPart(form)])},"configuration":{"pushNotificationConfig":{"url":"https://evil.test/"}}}}`
  refused(t, one, await one.send(sending(form, body)), 'PUSH_URL_NOT_ALLOWED', /configuration/, 'acme/send')
})
