/** Programs that a suite needs. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Runs a program to its end. @returns its standard output, whatever the exit code: suites with failed tests exit with 1 */
export async function run (program, args, { cwd, env = {} } = {}) {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  const errors = []
  child.stdout.on('data', chunk => output.push(chunk))
  child.stderr.on('data', chunk => errors.push(chunk))
  const [code] = await once(child, 'close').catch(error => {
    throw new Error(`${program}: ${error.message}`)
  })
  const text = Buffer.concat(output).toString()
  if (code !== 0 && code !== 1) {
    throw new Error(`${program} ${args.join(' ')} exited with ${code}: ${(Buffer.concat(errors).toString() + text).slice(-2_000)}`)
  }
  return text
}

/** Starts an agent, and returns when the agent serves its card. */
export async function startAgent (program, args, { cwd, env }, port) {
  // A group of its own, because the program may start others.
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
  let errors = ''
  child.stderr.on('data', chunk => { errors = (errors + chunk).slice(-2_000) })
  const exited = once(child, 'close')
  const stop = async () => {
    if (child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    await exited
  }
  for (const end = Date.now() + 60_000; ; await sleep(100)) {
    const response = await fetch(`http://127.0.0.1:${port}/.well-known/agent-card.json`).catch(() => null)
    if (response?.ok) return { stop }
    if (child.exitCode !== null || Date.now() > end) {
      await stop()
      throw new Error(`${program} ${args.join(' ')} serves no card on port ${port}: ${errors}`)
    }
  }
}

/** A port on which no process listens now; the next port is free as well. */
export async function freePort () {
  for (;;) {
    const first = await listening(0)
    const { port } = first.address()
    const second = await listening(port + 1).catch(() => null)
    first.close()
    second?.close()
    if (second !== null) return port
  }
}

async function listening (port) {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}
