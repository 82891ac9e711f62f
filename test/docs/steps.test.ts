/** The steps of a call in docs/contributing/architecture.md are those that run. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stepLists } from '#call/step-descriptions.js'
import { STEPS } from '#call/steps.js'
import { ROOT } from '../helpers/paths.js'

t.test('the table of the page is the list of the code', async t => {
  const page = readFileSync(join(ROOT, 'docs/contributing/architecture.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)`: ([^|]+) \| (`\w+`(?:, `\w+`)*) \|$/gm)]
  t.same(
    rows.map(([, list = '', requests = '', names = '']) => [list, requests, names.replaceAll('`', '').split(', ')]),
    stepLists().map(({ list, requests, steps }) => [list, requests, steps.map(({ step }) => step)])
  )
})

t.test('every step is described', async t => {
  const lists = stepLists()
  t.same(lists.map(({ list }) => list), Object.keys(STEPS))
  t.same(lists.flatMap(({ steps }) => steps.filter(({ does }) => does === '')), [])
})

t.test('a decision about a body comes after the caller, the access lists and the limits of the head', async t => {
  const names: string[] = STEPS.operation.map(step => step.name)
  const inOrder = ['shedLoad', 'checkAccess', 'limitByHead', 'readBody', 'evaluate', 'claimUnique', 'recordOutcome', 'getCredentials', 'send']
  t.same(names.filter(name => inOrder.includes(name)), inOrder)
  for (const list of ['http', 'grpc'] as const) {
    const steps: string[] = STEPS[list].map(step => step.name)
    t.ok(steps.indexOf('authenticate') < steps.indexOf(list === 'http' ? 'matchRoute' : 'matchMethod'), list)
  }
})
