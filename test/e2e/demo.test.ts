/** The commands that `npm start` prints work unchanged, and have the described effect. The test runs the build in dist/. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { ROOT } from '../helpers/paths.js'

const demo = join(ROOT, 'dist/examples/demo.js')
const run = promisify(execFile)

interface Answer { result?: unknown, error?: { code: number, message: string, data?: unknown } }

function start (env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [demo], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => { output += chunk.toString() })
  child.stderr.on('data', (chunk: Buffer) => { errors += chunk.toString() })
  return {
    child,
    exited: once(child, 'exit'),
    output: () => output,
    errors: () => errors,
    async printed (text: string): Promise<void> {
      while (!output.includes(text)) {
        await Promise.race([
          once(child.stdout, 'data'),
          once(child, 'exit').then(() => {
            throw new Error(`demo stopped: ${output}${errors}`)
          })
        ])
      }
    }
  }
}

t.test('the printed commands work and a signal stops everything', async (t) => {
  const { child, exited, output, printed } = start({ DEMO_PORT: '0', DEMO_ADMIN_PORT: '0' })
  t.teardown(() => { child.kill('SIGKILL') })
  await printed('Ctrl-C')

  const commands = output().match(/^curl(?:.*\\\n)*.*$/gm) ?? []
  t.equal(commands.length, 6)
  const answers: Answer[] = []
  for (const command of commands.slice(0, 5)) {
    answers.push(JSON.parse((await run('bash', ['-c', command])).stdout) as Answer)
  }
  t.match(answers[0], { result: { message: { parts: [{ text: /\w/ }] } } }, 'forwarded')
  t.match(answers[1], { error: { code: -32008, message: /fortune-consent/ } }, 'refused: a required extension is missing')
  t.match(answers[2], { error: { code: -32602 } }, 'refused: the data does not match its schema')
  t.match(
    answers[3],
    { result: { task: { artifacts: [{ parts: [{ data: { winner: Number } }] }] } } },
    'observed: an answer that breaks its schema is forwarded'
  )
  t.match(
    answers[4],
    { error: { code: -32006, message: /data\.winner must be a string/ } },
    'refused: the same answer, where they are enforced'
  )
  const counted = (await run('bash', ['-c', commands[5]!])).stdout
  t.match(counted, /requests_total\{agent="eightball".*outcome="forwarded"/)
  for (const [agent, mode] of [['fight', 'observe'], ['fight-held', 'enforce']]) {
    t.match(
      counted,
      `violations_total{agent="${agent}",extension="object-schemas",rule="artifact-parts",phase="response",mode="${mode}"} 1`
    )
  }
  t.match(output(), /"phase":"response","agent":"fight-held".*"decision":"rejected"/)

  const gateway = new URL(/http:\/\/[\d.:]+/.exec(output())![0])
  child.kill('SIGTERM')
  t.same(await exited, [0, null])
  await t.rejects(fetch(gateway), 'the gateway is gone')
})

t.test('a port in use is reported, with the variable that changes it', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  const { port } = server.address() as AddressInfo
  const { exited, errors } = start({ DEMO_PORT: String(port), DEMO_ADMIN_PORT: '0' })
  t.same(await exited, [1, null])
  t.match(errors(), `Port ${port} is already in use. Choose another one with DEMO_PORT`)
})
