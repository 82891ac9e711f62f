/** `test --watch`, as a process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from '../helpers/http.js'
import { MAIN } from '../helpers/paths.js'
import { one } from '../offline/kit.js'

const test = (decision: string): string => one('{message: {parts: [{text: hi}]}}', `{decision: ${decision}}`)

t.test('a change of a file, a card beside it, and a new file run the tests again', async t => {
  const directory = t.testdir({ policies: { 'a.test.yaml': test('forward') } })
  const child = spawn(process.execPath, [MAIN, 'test', '--watch', 'policies', '--format', 'pretty'], { cwd: directory, env: {} })
  t.teardown(() => { child.kill('SIGKILL') })
  let output = ''
  let runs = 0
  child.stdout.on('data', (chunk: Buffer) => { output += chunk.toString() })
  child.stderr.on('data', (chunk: Buffer) => { runs += chunk.toString().split('waiting for changes').length - 1 })
  await until(() => runs === 1, 'the first run', 30_000)
  t.match(output, /1 failed/)
  output = ''
  writeFileSync(join(directory, 'policies', 'a.test.yaml'), test('reject '))
  await until(() => runs === 2, 'the second run', 30_000)
  t.match(output, /^policies\/a\.test\.yaml\n[^]*1 passed\n$/)
  writeFileSync(join(directory, 'policies', 'b.test.yaml'), test('forward'))
  await until(() => runs === 3, 'a run with the new file', 30_000)
  t.match(output, /policies\/b\.test\.yaml\n[^]*1 passed, 1 failed\n$/)
  writeFileSync(join(directory, 'policies', 'card.json'), '{}')
  await until(() => runs === 4, 'a run with the new card', 30_000)
  child.kill('SIGINT')
  t.same(await once(child, 'close'), [1, null], 'the exit code of the last run')
})
