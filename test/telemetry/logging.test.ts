import t from 'tap'
import fastify from 'fastify'
import { createLogger, lineFormat } from '#telemetry/logging.js'
import { prettyLine } from '#telemetry/pretty-line.js'
import type { Log } from '#telemetry/log.js'

function sink (): { write (chunk: string): void, bytes (): string, lines (): Array<Record<string, unknown>> } {
  let text = ''
  return {
    write (chunk) { text += chunk },
    bytes: () => text,
    lines: () => text.split('\n').filter(Boolean).map(line => JSON.parse(line) as Record<string, unknown>)
  }
}

t.test('one JSON object per line, with ISO time and the level by name', async t => {
  const out = sink()
  const log: Log = createLogger({ level: 'info', format: 'json' }, out)
  log.debug({ kind: 'hidden' }, 'not at this level')
  log.child({ agent: 'weather' }).info({ trace_id: 'abc' }, 'hello')
  log.warn('text only')
  const [first, second, ...rest] = out.lines()
  t.same(Object.keys(first ?? {}), ['level', 'time', 'agent', 'trace_id', 'msg'])
  t.match(first, { level: 'info', agent: 'weather', trace_id: 'abc', msg: 'hello', time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ })
  t.match(second, { level: 'warn', msg: 'text only' })
  t.same(rest, [])
})

t.test('no secret reaches the output, in any spelling, depth or shape', async t => {
  const names = [
    'authorization',
    'Authorization',
    'PROXY-AUTHORIZATION',
    'cookie',
    'Set-Cookie',
    'x-api-key',
    'X-API-Key',
    'x-a2a-notification-token',
    'password',
    'client_secret',
    'access_token'
  ]
  for (const name of names) {
    for (const value of ['S3CRET', ['S3CRET', 'S3CRET'], { inner: 'S3CRET' }]) {
      const out = sink()
      const log = createLogger({ level: 'info', format: 'json' }, out)
      log.info({ [name]: value, kept: 'k' }, 'm')
      log.info({ headers: { [name]: value } }, 'm')
      log.info({ req: { headers: { [name]: value } } }, 'm')
      log.error({ a: { b: { c: [{ headers: { [name]: value } }] } } }, 'm')
      log.child({ [name]: value }).info({}, 'm')
      if (typeof value === 'string') log.info({ rawHeaders: ['Host', 'x', name, value, 'Accept', '*/*'] }, 'm')
      t.notOk(out.bytes().includes('S3CRET'), `${name}: ${JSON.stringify(value)}`)
      t.equal(out.lines()[0]?.kept, 'k')
      t.equal(out.lines()[0]?.[name], '[redacted]')
      if (typeof value === 'string') t.same(out.lines()[5]?.rawHeaders, ['Host', 'x', name, '[redacted]', 'Accept', '*/*'])
    }
  }
})

t.test('objects of libraries are redacted too, by their serialized form', async t => {
  class Carrier {
    readonly headers = { authorization: 'S3CRET' }
    toJSON (): object { return { nested: { cookie: 'S3CRET' }, headers: this.headers } }
  }
  const out = sink()
  const log = createLogger({ level: 'info', format: 'json' }, out)
  log.info({ carrier: new Carrier() }, 'm')
  log.error({ err: Object.assign(new Error('x'), { config: { headers: { authorization: 'S3CRET' } } }) }, 'm')
  t.notOk(out.bytes().includes('S3CRET'))
  t.equal(out.lines().length, 2)
})

t.test('credentials inside texts', async t => {
  const out = sink()
  const log = createLogger({ level: 'info', format: 'json' }, out)
  log.info({ err: new Error('sent Authorization: Bearer eyJhbGciOi.J9.abc-_123') }, 'with bearer abcdef123456 and Basic dXNlcjpwYXNz')
  const bytes = out.bytes()
  for (const secret of ['eyJ', 'abcdef123456', 'dXNlcjpwYXNz']) t.notOk(bytes.includes(secret), secret)
  t.match(out.lines()[0]?.msg, /^with bearer \[redacted\] and Basic/)
  log.info('Basic authentication. A bearer certificate, Bearer tokens.')
  t.equal(out.lines()[1]?.msg, 'Basic authentication. A bearer certificate, Bearer tokens.', 'words stay')
})

t.test('errors: type, code, message and causes; the stack from level error on', async t => {
  const out = sink()
  const log = createLogger({ level: 'info', format: 'json' }, out)
  const root = Object.assign(new TypeError('root'), { code: 'ECONNREFUSED', extra: 'dropped' })
  const err = new Error('outer', { cause: new Error('middle', { cause: root }) })
  log.error({ err, agent: 'a' }, 'failed')
  log.warn({ err, agent: 'a' }, 'failed')
  log.info(err)
  log.error(err)
  const [atError, atWarn, bare, bareError] = out.lines()
  t.match(atError, {
    err: {
      type: 'Error',
      message: 'outer',
      stack: /logging\.test/,
      cause: { message: 'middle', cause: { type: 'TypeError', message: 'root', code: 'ECONNREFUSED', stack: /logging\.test/ } }
    }
  })
  t.same(atWarn?.err, {
    type: 'Error',
    message: 'outer',
    cause: { type: 'Error', message: 'middle', cause: { type: 'TypeError', message: 'root', code: 'ECONNREFUSED' } }
  })
  t.equal(atWarn?.agent, 'a')
  t.match(bare, { msg: 'outer', err: { message: 'outer' } })
  t.notOk(JSON.stringify(bare).includes('stack'))
  t.match(bareError, { msg: 'outer', err: { stack: /logging\.test/ } })
  t.notOk(out.bytes().includes('dropped'))
  const loop = new Error('loop')
  loop.cause = loop
  log.error({ err: loop }, 'ends')
  t.equal(out.lines().length, 5)
})

t.test('Fastify takes it as loggerInstance; requests are logged without query and headers', async t => {
  const out = sink()
  const app = fastify({ loggerInstance: createLogger({ level: 'info', format: 'json' }, out) })
  app.get('/', async request => { request.log.info({ headers: request.headers }, 'seen'); return 'ok' })
  await app.inject({ url: '/?key=S3CRET', headers: { authorization: 'Bearer S3CRET1' } })
  await app.close()
  t.notOk(out.bytes().includes('S3CRET'))
  t.ok(out.lines().some(line => line.msg === 'seen' && (line.headers as Record<string, string>).authorization === '[redacted]'))
  t.ok(out.lines().some(line => (line.req as { url?: string } | undefined)?.url === '/'))
})

t.test('pretty: a line for people, with secrets redacted and nothing that controls the terminal', async t => {
  const out = sink()
  const log = createLogger({ level: 'info', format: 'pretty' }, out)
  log.info({ authorization: 'S3CRET', agent: 'weather', agents: ['a', 'b'], text: 'two words', nothing: null }, 'hello')
  log.error({ err: new Error('it failed', { cause: new Error('the cause') }) }, 'broken')
  log.warn({ agent: '\u001b[2J\u202e' }, 'bell \u0007')
  const [first = '', ...rest] = out.bytes().split('\n')
  t.match(first, /^\d\d:\d\d:\d\d\.\d{3} INFO {2}hello authorization="\[redacted\]" agent=weather agents=a,b text="two words"$/)
  t.match(rest[0], /ERROR broken$/)
  t.equal(rest[1], '    Error: it failed')
  t.match(rest[2], /^ {6}at .*logging\.test/)
  t.ok(rest.includes('      cause: Error: the cause'))
  t.match(out.bytes(), 'WARN  bell \\u0007 agent="\\u001b[2J\\u202e"')
  // eslint-disable-next-line no-control-regex
  t.notMatch(out.bytes(), /[\u0000-\u0009\u000b-\u001f\u202e]/)
})

t.test('pretty audit lines: the decision, the rule and each violation', async t => {
  const violations = [{ reason: 'R', extension: 'window', rule: 'from', path: 'params.message.metadata.x', message: 'is required' }]
  const line = JSON.stringify({ audit: true, time: '2026-01-01T00:00:00.000Z', agent: 'a', decision: 'rejected', rule: 'from', task_id: null, violations })
  t.match(prettyLine(`${line}\n`, false), /^[\d:.]+ AUDIT rejected agent=a rule=from\n {4}params\.message\.metadata\.x is required\n$/)
  t.match(prettyLine(`${line}\n`, true), '\u001b[31mrejected\u001b[39m')
  t.equal(prettyLine('no JSON\n', true), 'no JSON\n')
})

t.test('auto: pretty on a terminal, JSON elsewhere and for a destination of the caller', async t => {
  const { isTTY } = process.stdout
  t.teardown(() => { process.stdout.isTTY = isTTY })
  process.stdout.isTTY = true
  t.equal(lineFormat({ level: 'info', format: 'auto' }, false)?.('{"level":"info","msg":"x"}\n').includes('INFO'), true)
  t.equal(lineFormat({ level: 'info', format: 'json' }, false), null)
  t.equal(lineFormat({ level: 'info', format: 'auto' }, true), null)
  process.stdout.isTTY = false
  t.equal(lineFormat({ level: 'info', format: 'auto' }, false), null)
})

t.test('silent writes nothing', async t => {
  const out = sink()
  createLogger({ level: 'silent', format: 'json' }, out).fatal({}, 'x')
  t.equal(out.bytes(), '')
})
