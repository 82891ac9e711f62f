/** A Docker engine of the test's own, with its data in a temporary folder. Needs root and the Debian package `docker.io`. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'

export interface Docker {
  /** @throws Error with docker's message */
  run (...args: string[]): Promise<string>
  readonly socket: string
}

/** @returns an engine, or the reason why this machine cannot run one */
export async function startDocker (t: Test): Promise<Docker | string> {
  if (process.getuid?.() !== 0) return 'a container engine needs root'
  for (const program of ['dockerd', 'docker']) {
    if (spawnSync(program, ['--version']).error !== undefined) return `${program} is not installed; it is in the Debian package docker.io`
  }
  const reasons = []
  for (const driver of ['overlay2', 'vfs']) {
    const engine = await start(t, driver)
    if (typeof engine !== 'string') return engine
    reasons.push(engine)
  }
  return `no container engine starts on this machine: ${reasons.join('; ')}`
}

async function start (t: Test, driver: string): Promise<Docker | string> {
  const folder = mkdtempSync(join(tmpdir(), 'docker-'))
  const socket = join(folder, 'docker.sock')
  // Without a bridge: containers use the network of the machine, or none.
  const daemon = spawn(
    'dockerd',
    [
      '--data-root',
      join(folder, 'data'),
      '--exec-root',
      join(folder, 'exec'),
      '--pidfile',
      join(folder, 'pid'),
      '--host',
      `unix://${socket}`,
      '--iptables=false',
      '--ip6tables=false',
      '--bridge=none',
      `--storage-driver=${driver}`
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] }
  )
  const exited = once(daemon, 'exit')
  let said = ''
  daemon.stderr.on('data', chunk => { said = (said + String(chunk)).slice(-4_000) })
  const stop = async (): Promise<void> => {
    if (daemon.exitCode === null && daemon.signalCode === null) daemon.kill('SIGTERM')
    await exited
    // The engine does not unmount the namespace of its network.
    spawnSync('umount', [join(folder, 'exec/netns/default')])
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }

  const execute = promisify(execFile)
  const run = async (...args: string[]): Promise<string> => {
    // Uses the builder that is part of the engine, because BuildKit is a separate package.
    const env = { PATH: process.env.PATH, DOCKER_HOST: `unix://${socket}`, DOCKER_BUILDKIT: '0', DOCKER_CONFIG: folder }
    const { stdout } = await execute('docker', args, { env, maxBuffer: 256 << 20 }).catch(
      (error: Error & { stdout?: string; stderr?: string }) => {
        throw new Error(`docker ${args[0] ?? ''}: ${error.stdout?.slice(-3_000) ?? ''}${error.stderr ?? error.message}`)
      }
    )
    return stdout.trim()
  }
  for (const end = Date.now() + 60_000; Date.now() < end && daemon.exitCode === null;) {
    const works = await run('version').then(() => true, () => false)
    if (works) {
      t.teardown(stop)
      return { run, socket }
    }
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  await stop()
  const last = said.trim().split('\n').at(-1) ?? ''
  return `${driver}: ${/msg="?(.*?)"?$/.exec(last)?.[1] ?? last}`
}
