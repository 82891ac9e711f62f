/** `check --live` and `agents`: read the sources of agents once, and say what each entry would be. */
import { AgentSources } from '#agents/sources/sources.js'
import { diagnostic } from '#config/diagnostics.js'
import type { Diagnostic } from '#config/diagnostics.js'
import { overridesFromEnvironment } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import { readConfiguration } from '#offline/configuration.js'

const CODE = 'A2AGW_ERR_AGENT_SOURCE'

interface SourcesLook {
  /** The configuration with the agents of the sources. */
  readonly config: Config
  readonly findings: readonly Diagnostic[]
  /** False when a source cannot be read. */
  readonly readable: boolean
}

/** Entries of a source that are reported. */
const REPORTED = 50

/**
 * @param unpinned true: as if people had agreed to all entries of sources with `admit: pinned`
 * @returns null for a configuration without sources. Never rejects.
 */
export async function lookAtSources (file: string, config: Config, env: NodeJS.ProcessEnv, unpinned = false): Promise<SourcesLook | null> {
  if (config.agentSources.length === 0) return null
  const sources = new AgentSources(file, () => {})
  try {
    // The state on disk belongs to the running gateway.
    const agentSources = unpinned
      ? config.agentSources.map(agentSource => ({ ...agentSource, admit: agentSource.admit === 'pinned' ? 'all' as const : agentSource.admit }))
      : config.agentSources
    const own = { ...config, agentSources, server: { ...config.server, stateDir: null } }
    await sources.use(own, [])
    const loaded = readConfiguration({ file, env, overrides: overridesFromEnvironment(env), discovered: sources.discovered() })
    if (loaded.ok) await sources.use(own, loaded.leftOut)
    const findings = sources.reports().flatMap(({ name, problem, entries }) => {
      const place = `agent source ${name}`
      const others = entries.filter(({ state }) => state !== 'admitted')
      return [
        ...(problem === null ? [] : [diagnostic(place, 0, 0, { message: problem, code: CODE })]),
        ...others.slice(0, REPORTED).map(({ identifier, state, reason }) =>
          diagnostic(place, 0, 0, { message: `${identifier.slice(0, 200)} is ${state}: ${reason ?? ''}`, code: CODE })
        ),
        ...(others.length > REPORTED
          ? [diagnostic(place, 0, 0, { message: `${others.length - REPORTED} more entries are not admitted` })]
          : [])
      ]
    })
    return { config: loaded.ok ? loaded.config : config, findings, readable: sources.reports().every(({ problem }) => problem === null) }
  } finally {
    sources.close()
  }
}
