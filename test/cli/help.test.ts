/** `a2a-gateway help`: commands, reasons, topics and keys; and the hints in messages that name them. */
import { readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import t from 'tap'
import { REASONS } from '#a2a/errors.js'
import type { Reason } from '#a2a/errors.js'
import { REASON_HELP, reasonExamples, TOPICS } from '#a2a/reason-help.js'
import { UsageError } from '#cli/command-line/arguments.js'
import { COMMANDS } from '#cli/commands.js'
import { helpText } from '#cli/help.js'
import { ROOT } from '../helpers/paths.js'
import { contains, sentencesOf } from '../helpers/sentences.js'

const SOURCES = readdirSync(join(ROOT, 'src'), { encoding: 'utf8', recursive: true })
  .map(file => `src/${file.replaceAll(sep, '/')}`)
  .filter(file => file.endsWith('.ts') && !file.includes('/built/'))
const SENTENCES = SOURCES.flatMap(sentencesOf)

t.test('each reason: codes, cause, what client and operator do, an example in each binding', async t => {
  for (const reason of Object.keys(REASONS) as Reason[]) {
    const text = helpText(reason)
    t.match(text, new RegExp(`^${reason}\n\n  JSON-RPC   ${REASONS[reason].rpc}, HTTP \\d{3}\n  HTTP\\+JSON  ${REASONS[reason].http} `), reason)
    for (const part of ['Cause     ', 'Client    ', 'Operator  ', 'Example over JSON-RPC', 'Example over HTTP+JSON', 'Example over gRPC', 'See  ']) {
      t.ok(text.includes(`\n${part}`), `${reason}: ${part}`)
    }
    for (const topic of REASON_HELP[reason].see) t.ok(Object.hasOwn(TOPICS, topic), `${reason}: ${topic}`)
    const [[, jsonRpc] = ['', ''], [, httpJson] = ['', '']] = reasonExamples(reason)
    const [, body = ''] = jsonRpc.split('\n')
    const { customReason = reason } = REASON_HELP[reason].example
    const { error } = JSON.parse(body) as { error: { code: number, data: { reason?: string }[] } }
    t.equal(error.code, REASONS[reason].rpc, reason)
    t.ok(error.data.some(one => one.reason === customReason), `${reason}: ${customReason} in the details`)
    t.notMatch(httpJson, /params\./, `${reason}: paths over HTTP+JSON have no params`)
  }
  t.equal(helpText('extension-data-invalid'), helpText('EXTENSION_DATA_INVALID'))
})

t.test('the example of each reason is a message of the gateway', async t => {
  for (const [reason, { example: { message, fields = [] } }] of Object.entries(REASON_HELP)) {
    const problem = fields[0]?.description ?? message
    const said = SENTENCES.some(({ place, text, pieces }) =>
      !place.startsWith('src/a2a/reason-help.ts') && text.replaceAll('…', '').length > 12 && (contains(message, pieces) || contains(problem, pieces)))
    t.ok(said || reason === 'EXTENSION_DATA_INVALID' || reason === 'EXTENSION_CONFLICT', `${reason}: no source says: ${message}`)
  }
})

t.test('commands, topics, keys and lists', async t => {
  for (const command of Object.keys(COMMANDS)) t.match(helpText(command), new RegExp(`^a2a-gateway ${command}`))
  for (const topic of Object.keys(TOPICS)) if (!Object.hasOwn(COMMANDS, topic)) t.match(helpText(topic), /^# |\n# /, topic)
  t.match(helpText('topics'), /^ {2}identity$/m)
  t.match(helpText('reasons'), /^ {2}INTERNAL_ERROR$/m)
  t.match(helpText('server.grpc.publicAddress'), /^server\.grpc\.publicAddress\n\n {2}\S.*\n\n {2}Type {5}/)
  t.match(helpText('agents[].card.refresh'), /Default {2}"60s"/)
  t.match(helpText('activation.required'), /Values {3}card, observe, always, never/)
  t.match(helpText('extensions'), /Policies by name/)
  for (const [name, hint] of [['EXTENSION_DATA_INVALD', 'EXTENSION_DATA_INVALID'], ['idenity', 'identity'], ['chek', 'check']] as const) {
    t.throws(() => helpText(name), new UsageError(`"${name}" is no command, reason, topic or key of the configuration; did you mean "${hint}"? a2a-gateway help topics and a2a-gateway help reasons list the names (a2a-gateway --help)`))
  }
  for (const name of ['__proto__', 'constructor', 'server.__proto__', '']) t.throws(() => helpText(name), /is no command/, name)
})

t.test('no message names a file of docs/, which image and package do not have; each names help that exists', async t => {
  t.ok(SENTENCES.length > 1_000)
  t.same(SENTENCES.filter(({ text }) => /(?<![\w/.-])docs\/[\w-]/.test(text)).map(({ place, text }) => `${place}: ${text}`), [])
  let named = 0
  for (const { place, text } of SENTENCES) {
    for (const [, name = ''] of text.matchAll(/a2a-gateway help ([A-Za-z][\w.-]*\w)/g)) {
      if (['REASON', 'CODE', 'TOPIC', 'COMMAND', 'KEY'].includes(name)) continue
      named++
      t.doesNotThrow(() => helpText(name), `${place}: ${text}`)
    }
  }
  t.ok(named > 10, `${named} hints`)
})
