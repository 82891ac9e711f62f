/** The command line as a process: its file changes, or a signal requests a reload. */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { rootCertificates } from 'node:tls'
import t from 'tap'
import type { Test } from 'tap'
import { rpc, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { MAIN } from '../helpers/paths.js'
import { start } from '../helpers/started.js'

if (!existsSync(MAIN)) throw new Error('dist/ is not built: run "npm run build"')

interface Line { readonly level: string, readonly msg: string, readonly url?: string }
interface Run {
  readonly url: string
  readonly lines: () => Line[]
  readonly errors: () => string
  readonly kill: (signal: NodeJS.Signals) => void
  readonly exited: Promise<number | null>
}

async function run (t: Test, args: readonly string[]): Promise<Run> {
  const child = start(t, process.execPath, [MAIN, 'serve', ...args], { env: { PATH: process.env.PATH }, cwd: tmpdir() })
  const { url } = await child.listening()
  return {
    url,
    lines: () => child.output().split('\n').slice(0, -1).map(line => JSON.parse(line) as Line),
    errors: child.errors,
    kill: child.kill,
    exited: child.exited.then(([code]) => code)
  }
}

function directoryFor (t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'reload-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  return directory
}

const config = (agent: string, path: string, more = ''): string => `version: 1
server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}
agents:
  - name: a
    path: ${path}
    upstream: {url: "${agent}"${more}}
`

const said = (child: Run, text: RegExp): Line[] => child.lines().filter(line => text.test(line.msg))

t.test('an edit, a bad edit, its correction, SIGHUP, SIGTERM', async t => {
  const agent = await fakeAgent(t)
  const file = join(directoryFor(t), 'gateway.yaml')
  writeFileSync(file, config(agent.url, '/one'))
  const child = await run(t, ['--config', file])
  t.equal((await rpc(`${child.url}/one/rpc`)).status, 200)

  writeFileSync(file, config(agent.url, '/two'))
  await until(() => said(child, /configuration reloaded: agents changed: a/).length === 1)
  t.same([(await rpc(`${child.url}/one/rpc`)).status, (await rpc(`${child.url}/two/rpc`)).status], [404, 200])

  writeFileSync(file, config(agent.url, '/three').replace('path:', 'pathh:'))
  await until(() => said(child, /last good one stays/).length === 1 && said(child, /gateway\.yaml:5:5/).length > 0)
  t.match(said(child, /gateway\.yaml:5:5: .*did you mean "path"/), [{ level: 'error' }])
  t.equal((await rpc(`${child.url}/two/rpc`)).status, 200)

  writeFileSync(file, config(agent.url, '/three'))
  await until(() => said(child, /configuration reloaded: agents changed: a/).length === 2)
  t.equal((await rpc(`${child.url}/three/rpc`)).status, 200)

  await sleep(300)
  t.equal(said(child, /configuration reloaded|stays/).length, 3, 'one change, one reload')
  child.kill('SIGHUP')
  await until(() => said(child, /nothing has changed/).length === 1)
  t.equal((await rpc(`${child.url}/three/rpc`)).status, 200)
  child.kill('SIGTERM')
  t.equal(await child.exited, 0)
  t.equal(child.errors(), '')
})

t.test('a schema file and a bundle: an edit, a bad edit, a file more', async t => {
  const agent = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { extensions: [{ uri: 'urn:p' }] } }) })
  const directory = directoryFor(t)
  mkdirSync(join(directory, 'set'))
  const schema = (type: string, file = 'text.json'): void => {
    writeFileSync(join(directory, file), JSON.stringify({ properties: { v: { type } } }))
  }
  schema('string')
  schema('string', 'set/a.json')
  const rule = (id: string, source: string): string => `{id: ${id}, select: {metadata: {in: [params], key: ${id}}}, schema: ${source}}`
  writeFileSync(join(directory, 'gateway.yaml'), `${config(agent.url, '/a')}    extensions: [p]
bundles: {b: {base: "https://x.test/", dir: set}}
extensions:
  p: {uri: "urn:p", request: [${rule('one', '{file: text.json}')}, ${rule('two', '{ref: "https://x.test/a.json"}')}]}
`)
  const child = await run(t, ['--config', join(directory, 'gateway.yaml')])
  const refused = async (key: string, v: unknown): Promise<boolean> =>
    (
      await rpc(`${child.url}/a/rpc`, 'SendMessage', {
        message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] },
        metadata: { [key]: { v } }
      })
    ).json().error !== undefined
  t.same(
    [await refused('one', 'x'), await refused('one', 1), await refused('two', 'x'), await refused('two', 1)],
    [false, true, false, true]
  )

  schema('number')
  await until(() => said(child, /configuration reloaded: agents changed: a; rules changed: a\/p\/one/).length === 1)
  t.same([await refused('one', 'x'), await refused('one', 1), await refused('two', 1)], [true, false, true])

  schema('number', 'set/a.json')
  await until(() => said(child, /rules changed: a\/p\/two/).length === 1)
  t.same([await refused('two', 'x'), await refused('two', 1)], [true, false])

  schema('nonsense', 'set/a.json')
  await until(() => said(child, /last good one stays/).length === 1 && said(child, /gateway\.yaml:\d+/).length > 0)
  t.match(said(child, /gateway\.yaml:\d+:\d+: extensions\.p\.request\[1\]\.schema cannot be used: set\/a\.json#\/properties\/v\/type/), [
    { level: 'error' }
  ])
  t.same([await refused('two', 'x'), await refused('two', 1)], [true, false])

  schema('string', 'set/a.json')
  await until(() => said(child, /rules changed: a\/p\/two/).length === 2)
  writeFileSync(join(directory, 'set/b.json'), '{')
  await until(() => said(child, /set\/b\.json:1:2/).length === 1)
})

t.test('a mounted ConfigMap and a mounted Secret', async t => {
  const agent = await fakeAgent(t)
  const [mount, secret] = [directoryFor(t), directoryFor(t)]
  const swap = (directory: string, name: string, text: string, generation: number): void => {
    mkdirSync(join(directory, `..${generation}`))
    writeFileSync(join(directory, `..${generation}`, name), text)
    symlinkSync(`..${generation}`, join(directory, '..data_tmp'))
    renameSync(join(directory, '..data_tmp'), join(directory, '..data'))
    if (generation === 1) symlinkSync(join('..data', name), join(directory, name))
    else rmSync(join(directory, `..${generation - 1}`), { recursive: true })
  }
  const tls = `, tls: {ca: "${join(secret, 'ca.pem')}"}`
  swap(secret, 'ca.pem', rootCertificates[0] ?? '', 1)
  swap(mount, 'gateway.yaml', config(agent.url, '/1', tls), 1)
  const child = await run(t, ['--config', join(mount, 'gateway.yaml')])
  const changes = (): number => said(child, /agents changed: a/).length
  swap(mount, 'gateway.yaml', config(agent.url, '/2', tls), 2)
  await until(() => changes() === 1)
  swap(mount, 'gateway.yaml', config(agent.url, '/3', tls), 3)
  await until(() => changes() === 2)
  t.equal((await rpc(`${child.url}/3/rpc`)).status, 200)
  swap(secret, 'ca.pem', rootCertificates[1] ?? '', 2)
  await until(() => changes() === 3, 'a new certificate')
  swap(secret, 'ca.pem', 'none', 3)
  await until(() => said(child, /gateway\.yaml:\d+:\d+: agents\[0\]\.upstream\.tls\.ca cannot be used/).length === 1, 'one that is none')
  swap(secret, 'ca.pem', rootCertificates[2] ?? '', 4)
  await until(() => changes() === 4)

  const later = join(secret, 'later', 'ca.pem')
  swap(mount, 'gateway.yaml', config(agent.url, '/4', `, tls: {ca: "${later}"}`), 4)
  await until(() => said(child, /gateway\.yaml:6:.*no such file/).length === 1)
  mkdirSync(join(secret, 'later'))
  writeFileSync(later, rootCertificates[0] ?? '')
  await until(() => changes() === 5, 'a file that was missing to mend it')
  t.equal((await rpc(`${child.url}/4/rpc`)).status, 200)
  child.kill('SIGTERM')
  t.equal(await child.exited, 0)
})

t.test('a mounted secret that is injected: a new one takes effect, an unusable one keeps the last', async t => {
  const agent = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { extensions: [{ uri: 'urn:x' }] } }) })
  const directory = directoryFor(t)
  const [file, secret] = [join(directory, 'gateway.yaml'), join(directory, 'secret')]
  writeFileSync(secret, 'one-secret\n')
  writeFileSync(
    file,
    `${config(agent.url, '/')}    extensions: [x]\nextensions: {x: {uri: "urn:x", activation: {default: inject}, inject: [{metadata: k, fromSecret: {file: secret}}]}}\n`
  )
  const child = await run(t, ['--config', file])
  const injected = async (): Promise<string> => {
    await rpc(`${child.url}/rpc`)
    return agent.received.at(-1)?.body.toString() ?? ''
  }
  await until(async () => (await injected()).includes('"metadata":{"k":"one-secret"}'))
  writeFileSync(secret, 'two-secret\n')
  await until(() => said(child, /agents changed: a/).length === 1)
  t.match(await injected(), /"metadata":\{"k":"two-secret"\}/)
  rmSync(secret)
  await until(() => said(child, /cannot read "secret": no such file/).length === 1)
  t.match(await injected(), /two-secret/)
  writeFileSync(secret, 'three-secret')
  await until(async () => (await injected()).includes('three-secret'))
  child.kill('SIGTERM')
  t.equal(await child.exited, 0)
  t.notMatch(JSON.stringify(child.lines()) + child.errors(), /(?:one|two|three)-secret/, 'no line tells it')
})

t.test('without a file there is nothing to reload: SIGHUP stops it', async t => {
  const agent = await fakeAgent(t)
  const child = await run(t, ['--upstream', agent.url, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'])
  child.kill('SIGHUP')
  t.equal(await child.exited, 0)
})

t.test('a policy in the directory of extensions.from appears, breaks, and disappears', async t => {
  const agent = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { extensions: [{ uri: 'urn:window' }] } }) })
  const directory = directoryFor(t)
  mkdirSync(join(directory, 'policies'))
  const policy = (name: string, text: string): void => { writeFileSync(join(directory, 'policies', `${name}.yaml`), text) }
  policy('other', 'uri: urn:other\n')
  policy('window', 'uri: urn:window\n')
  const file = join(directory, 'gateway.yaml')
  writeFileSync(file, `${config(agent.url, '/a')}    extensions: [window]\nextensions: {from: policies}\n`)
  const child = await run(t, ['--config', file])
  t.equal((await rpc(`${child.url}/a/rpc`)).status, 200)

  policy('window', 'uri: urn:window\nactivation: {required: always}\n')
  await until(() => said(child, /configuration reloaded: agents changed: a/).length === 1)
  t.match((await rpc(`${child.url}/a/rpc`)).text, 'urn:window', 'the changed policy is in force')

  policy('later', 'uri: urn:later\nnothing: 1\n')
  await until(() => said(child, /policies\/later\.yaml:2:1: unknown key "nothing"/).length === 1, 'a new file, which is wrong')
  t.match((await rpc(`${child.url}/a/rpc`)).text, 'urn:window', 'the last good configuration stays')
  rmSync(join(directory, 'policies/later.yaml'))
  rmSync(join(directory, 'policies/window.yaml'))
  await until(() => said(child, /no policy is named "window"/).length === 1, 'a policy that an agent lists disappears')
  t.match((await rpc(`${child.url}/a/rpc`)).text, 'urn:window', 'the last good configuration stays')
})
