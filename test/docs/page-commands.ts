/**
 * Runs every command of a page of docs/ in one shell, in order, and compares the output with the page. The shell has a network of its own,
 * so that the ports of the page are free and the page runs as it is written. The test replaces only what it cannot run: `npm ci` and
 * `npm link` (the network, and this machine).
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageRoot } from '#config/paths.js'
import { freePorts } from '../helpers/http.js'
import { MAIN } from '../helpers/paths.js'

const MARK = '@@@ done'
/** A page that takes longer waits for something that does not come. */
const LIMIT_MS = 200_000
/** Everything of the repository that a page may name. */
const LINKED = ['dist', 'package.json', 'node_modules', 'Dockerfile', 'config']
/** Folders in which a page may write, or whose real path kustomize compares. */
const COPIED = ['deploy', 'examples']
/** Starts a program in a new network, where only the loopback interface exists. */
const OWN_NETWORK = ['unshare', '--user', '--map-root-user', '--net'] as const
/** Ports of the pages: gateway, console, metrics, agent, identity provider. */
const PORTS = ['8080', '9901', '9902', '9999', '4000'] as const

interface Step { readonly commands: string, readonly shown: string | null }

export interface PageCommands {
  /** Name below docs/. */
  readonly page: string
  /** Heading of the section whose commands run. Default: the whole page. */
  readonly section?: string
  /** Number of blocks of commands, and of those with output, that the page has at least. */
  readonly atLeast: readonly [commands: number, outputs: number]
  /** Completes the commands of a block. Default: unchanged. */
  readonly around?: (commands: string) => string
  /** Commands before those of the page. Default: none. */
  readonly before?: string
  readonly env?: Readonly<Record<string, string>>
  /** Shell scripts that stand for programs that the test cannot run, by the name of the program. */
  readonly tools?: Readonly<Record<string, string>>
}

/** Readers take a moment between two blocks. `around` of a page whose blocks change `gateway.yaml` while the gateway runs. */
export function waitingForReload (commands: string): string {
  if (!/(?:>>? |mv new\.yaml |cp \S+ )gateway\.yaml/.test(commands) || commands.includes('a2a-gateway serve')) return commands
  return `before=$(reloads)\n${commands}\nif [ -n "$before" ]; then for i in $(seq 300); do [ "$(reloads)" = "$before" ] || break; sleep 0.1; done; fi`
}

/** Prints the number of reloads; prints nothing when no gateway runs. */
const RELOADS = 'reloads() { curl -s http://127.0.0.1:9901/metrics | sed -n -e "s/^a2a_gateway_config_reloads_total{outcome=.ok.} /n/p" -e "\\$ s/.*/./p"; }'

/** Runs the page. Without the right to create a network, the test replaces the ports of the page by free ones, and says so. */
export async function runPage (t: Test, options: PageCommands): Promise<void> {
  const { page, section, atLeast: [blocks, outputs], around = same, before = ':', env = {}, tools = {} } = options
  const text = readFileSync(join(packageRoot(), 'docs', page), 'utf8')
  const all = stepsOf(section === undefined ? text : sectionOf(text, section))
  t.ok(all.length >= blocks, `${all.length} blocks of commands`)
  t.ok(all.filter(({ shown }) => shown !== null).length >= outputs, 'blocks of output')
  const directory = t.testdir({})
  for (const name of LINKED) symlinkSync(join(packageRoot(), name), join(directory, name))
  for (const name of COPIED) cpSync(join(packageRoot(), name), join(directory, name), { recursive: true })
  mkdirSync(join(directory, 'bin'))
  const program = (name: string, script: string): void => {
    writeFileSync(join(directory, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  program('a2a-gateway', `exec "${process.execPath}" "${MAIN}" "$@"`)
  program('node', `exec "${process.execPath}" "$@"`)
  for (const [name, script] of Object.entries(tools)) program(name, script)

  const isolated = spawnSync(OWN_NETWORK[0], [...OWN_NETWORK.slice(1), 'ip', 'link', 'set', 'lo', 'up']).status === 0
  const { ported, env: portEnv } = isolated ? { ported: same, env: {} } : await otherPorts()
  if (!isolated) t.comment(`${page}: cannot create a network (unshare --net): the test replaces the ports of the page`)
  const script = [
    ...isolated ? ['ip link set lo up'] : [],
    ported(RELOADS),
    ported(before),
    ...all.map(({ commands }) => `${ported(around(commands)).replaceAll(/^npm (?:ci|link)\b.*$/gm, ':')}\necho; echo '${MARK}'`)
  ].join('\n')
  const [file, args] = isolated ? [OWN_NETWORK[0], [...OWN_NETWORK.slice(1), 'bash', '-c', script]] : ['bash', ['-c', script]]
  // A group of its own, so that nothing it has started outlives a failure.
  const shell = spawn(file, args, {
    cwd: directory,
    env: { ...process.env, PATH: `${join(directory, 'bin')}:${process.env.PATH ?? ''}`, ...portEnv, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.teardown(() => {
    try {
      process.kill(-(shell.pid ?? 0), 'SIGKILL')
    } catch {
      // All have ended.
    }
  })
  let output = ''
  shell.stdout.on('data', (chunk: Buffer) => { output += chunk.toString() })
  shell.stderr.on('data', (chunk: Buffer) => { output += chunk.toString() })
  const late = setTimeout(() => {
    output += `\n@@@ stopped after ${LIMIT_MS / 1_000} s`
    process.kill(-(shell.pid ?? 0), 'SIGKILL')
  }, LIMIT_MS)
  const [code] = await once(shell, 'close')
  clearTimeout(late)
  t.equal(code, 0, `all commands end: ${output.slice(-2_000)}`)
  const printed = output.replaceAll('\r\n', '\n').split(`${MARK}\n`).map(text => text.trim())
  t.equal(printed.length, all.length + 1)
  all.forEach(({ commands, shown }, index) => {
    const got = printed[index] ?? ''
    if (shown !== null) t.match(got, matcher(ported(shown)), `${commands.trim().split('\n')[0] ?? ''}: ${got}`)
  })
}

const same = (text: string): string => text

async function otherPorts (): Promise<{ ported: (text: string) => string, env: Record<string, string> }> {
  const free = await freePorts(PORTS.length)
  const ports = new Map<string, string>(PORTS.map((port, index) => [port, String(free[index])]))
  return {
    ported: text => text
      .replaceAll(/(?<=127\.0\.0\.1:|localhost:|listen\()\d+/g, port => ports.get(port) ?? port)
      .replaceAll(/^(?=node dist\/examples\/agent\.js)/gm, `PORT=${ports.get('9999')} `)
      .replaceAll(/^(?=node dist\/examples\/identity-provider\.js)/gm, `PORT=${ports.get('4000')} `),
    env: {
      DEMO_PORT: ports.get('8080') ?? '',
      DEMO_ADMIN_PORT: ports.get('9901') ?? '',
      A2A_GATEWAY_LISTEN: `127.0.0.1:${ports.get('8080')}`,
      A2A_GATEWAY_ADMIN: `127.0.0.1:${ports.get('9901')}`
    }
  }
}

/** The text below a heading, up to the next heading of its level. */
export function sectionOf (text: string, heading: string): string {
  const [, level = '', rest = ''] = new RegExp(`^(#+) ${heading}\\n([^]*)`, 'm').exec(text) ?? []
  if (level === '') throw new Error(`there is no heading "${heading}"`)
  return rest.split(new RegExp(`^#{1,${level.length}} `, 'm'))[0] ?? ''
}

/** Blocks of a language, in order. */
export function blocksOf (text: string, language: string): string[] {
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter(([, kind]) => kind === language).map(([, , block = '']) => block)
}

/** Blocks of commands, each with the block of output that follows it before the next. */
function stepsOf (page: string): Step[] {
  const blocks = [...page.matchAll(/^```(sh|text)\n(.*?)^```$/gms)].map(([, kind, text = '']) => ({ kind, text }))
  return blocks.flatMap(({ kind, text }, index) => {
    const next = blocks[index + 1]
    return kind === 'sh' ? [{ commands: text, shown: next?.kind === 'text' ? next.text.trim() : null }] : []
  })
}

/** `…` stands for any text. */
function matcher (shown: string): RegExp {
  return new RegExp(`^${shown.split('…').map(piece => piece.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('[^]*?')}$`)
}
