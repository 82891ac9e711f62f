/** `server.tls` with several processes: all processes serve a renewed certificate, without a lost call. */
import { once } from 'node:events'
import { copyFileSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { Agent, fetch } from 'undici'
import t from 'tap'
import { oneAgent } from '../helpers/gateway.js'
import { MESSAGE, rpcBody, until } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'
import { fakeAgent } from '../helpers/raw.js'
import { cluster } from './kit.js'

const fixture = (name: string): string => inTests(`fixtures/tls/${name}`)

t.test('a renewed certificate', async t => {
  const agent = await fakeAgent(t)
  const folder = t.testdir()
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const put = (name: string): void => {
    for (const [from, to] of [[`${name}.key.pem`, key], [`${name}.pem`, cert]] as const) {
      copyFileSync(fixture(from), `${to}.new`)
      renameSync(`${to}.new`, to)
    }
  }
  put('right')
  const gateway = await cluster(t, oneAgent(agent.url), { tls: `{cert: "${cert}", key: "${key}"}` })
  t.match(gateway.url, /^https:/)
  const served = async (): Promise<string | undefined> => {
    const { hostname, port } = new URL(gateway.url)
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const { subjectaltname } = socket.getPeerCertificate()
    socket.destroy()
    return subjectaltname
  }
  t.match(await served(), 'localhost')
  const dispatcher = new Agent({ connect: { ca: readFileSync(fixture('ca.pem')), servername: 'localhost' } })
  t.teardown(() => dispatcher.close())
  const ask = async (): Promise<number> => {
    const { status } = await fetch(`${gateway.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: rpcBody('SendMessage', { message: MESSAGE }),
      dispatcher
    })
    return status
  }
  t.equal(await ask(), 200)

  put('wrong')
  await until(() => gateway.said(/uses this certificate/).length >= 4, 'both processes to use the new certificate', 60_000)
  for (let i = 0; i < 10; i++) t.match(await served(), 'other.example')
  t.equal(await ask(), 200, 'on the connection that is open')

  for (const pid of gateway.workers().values()) process.kill(pid, 'SIGKILL')
  await until(() => gateway.said(/^worker \d+ ended/).length === 2 && gateway.workers().size === 2, 'two other processes', 60_000)
  for (let i = 0; i < 4; i++) t.match(await served(), 'other.example')
})
