/** A real Redis server. Needs the Debian package `redis-server`; fails without it. */
import type { Test } from 'tap'
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'

export interface Redis {
  readonly port: number
  /** Ends the server at once, and waits until its process is gone. */
  kill (signal?: NodeJS.Signals): Promise<void>
  /** Suspends the process, so that it stops responding until `resume`. */
  pause (): void
  resume (): void
}

export async function startRedis (t: Test, port: number, ...options: string[]): Promise<Redis> {
  const server: ChildProcess = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...options],
    { stdio: 'ignore' }
  )
  let failure: Error | null = null
  server.on('error', error => { failure = error })
  const gone = new Promise<void>(resolve => { server.on('close', () => resolve()) })
  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return
    server.kill('SIGCONT')
    server.kill(signal)
    await gone
  }
  t.teardown(() => kill())
  for (let i = 0; i < 200; i++) {
    if (failure !== null) {
      throw new Error(`not found: install the Debian package "redis-server" (apt-get install -y redis-server): ${String(failure)}`)
    }
    if (await answers(port)) return { port, kill, pause: () => { server.kill('SIGSTOP') }, resume: () => { server.kill('SIGCONT') } }
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('redis-server does not answer')
}

/** A proxy to the server that delays all data by `ms` in each direction. @returns the port of the proxy */
export async function slowedRedis (t: Test, port: number, ms: number): Promise<number> {
  const server = createServer(near => {
    const far = connect(port, '127.0.0.1')
    for (const [from, to] of [[near, far], [far, near]] as const) {
      from.on('data', chunk => setTimeout(() => { to.write(chunk) }, ms))
      from.on('error', () => {})
      from.on('close', () => { to.destroy() })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  return (server.address() as AddressInfo).port
}

function answers (port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.on('error', () => resolve(false))
    socket.on('data', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
