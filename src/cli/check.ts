import { formatDiagnostic, overridesFromEnvironment } from '../config/load.js'
import type { Config } from '../config/model/model.js'
import { readConfiguration } from '../gateway/configuration.js'
import { lookAtAgents } from './live.js'
import type { Output } from './output.js'

/**
 * `a2a-gateway check`: prints every problem of the configuration on stdout, one per line. With `--live` it also prints the problems of the
 * agents' cards.
 * @param args.config the file. Null: the file in A2A_GATEWAY_CONFIG, else the defaults of `serve --upstream`
 * @returns exit code: 0 when the gateway would start with the configuration and, with `--live`, has a usable card of every agent; 1 for
 * problems, 2 when there is nothing to check
 */
export async function runCheck (
  args: { readonly config: string | null; readonly live?: boolean; readonly env: NodeJS.ProcessEnv },
  io: Output
): Promise<number> {
  const { env } = args
  const file = args.config ?? (env.A2A_GATEWAY_CONFIG || null)
  const overrides = overridesFromEnvironment(env)
  if (file === null && overrides.upstream === undefined) {
    io.err('nothing to check: name a file (a2a-gateway check FILE), or set A2A_GATEWAY_CONFIG; there is no ./gateway.yaml\n')
    return 2
  }
  const result = readConfiguration({ file, env, overrides })
  if (!result.ok) {
    for (const problem of result.problems) io.out(`${formatDiagnostic(problem)}\n`)
    return 1
  }
  for (const warning of result.warnings) io.out(`${formatDiagnostic({ ...warning, message: `warning: ${warning.message}` })}\n`)
  if (args.live === true) {
    const { findings, usable } = await lookAtAgents(result.config, env)
    for (const finding of findings) io.out(`${formatDiagnostic(finding)}\n`)
    if (!usable) return 1
  }
  io.out(`${file ?? 'defaults'}: ok: ${summary(result.config)}\n`)
  return 0
}

function summary (config: Config): string {
  const policies = new Set(config.agents.flatMap((agent) => agent.extensions))
  return `${amount(config.agents.length, 'agent', 'agents')}, ${amount(policies.size, 'policy', 'policies')}`
}

function amount (count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
