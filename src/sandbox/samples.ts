/** Sample requests for an agent: the tests of the catalogue for its policies, written for the interfaces of its card. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxAgent, Sample } from '#console/playground/tasks.js'
import { packageRoot } from '#config/paths.js'
import type { AgentConfig } from '#config/model/model.js'
import type { Variant } from '#a2a/message/wire-spec.js'
import { compose } from '#offline/recording/compose.js'
import { loadTests } from '#offline/policy-test/test-file.js'
import type { RequestSpec } from '#offline/policy-test/test-model.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { joinPath } from '#wire/target.js'
import { agentIn, CannotEvaluate, sandboxState } from './sandbox-agent.js'
import { requestText } from './request-text.js'

/** Largest number of samples of one policy. */
const SAMPLES = 12
const VARIANTS: readonly Variant[] = [
  { version: '1.0', binding: 'JSONRPC' },
  { version: '1.0', binding: 'HTTP+JSON' },
  { version: '0.3', binding: 'JSONRPC' },
  { version: '0.3', binding: 'HTTP+JSON' }
]

/** The first sample is a message with a text. */
export function samplesFor (given: SandboxAgent): Sample[] {
  const agent = agentIn(given)
  const state = stateOrNull(given, agent)
  const variant = state === null
    ? undefined
    : VARIANTS.find(({ version, binding }) => state.interfaces.some(one => one.version === version && one.binding === binding))
  if (state === null || variant === undefined) return []
  const text = (request: RequestSpec): string | null => {
    const made = compose(request, variant, state.interfaces)
    if (typeof made === 'string') return null
    return requestText({
      method: made.method,
      target: joinPath(agent.path, made.path) + made.query,
      headers: made.rawHeaders,
      body: made.body ?? new Uint8Array()
    })
  }
  const plain = text({ message: { messageId: 'm1', parts: [{ text: 'hello' }] } })
  return [
    ...plain === null ? [] : [{ name: 'a message with a text', expected: 'forward' as const, policy: '', text: plain }],
    ...agent.extensions.flatMap(policy => samplesOf(policy, text))
  ]
}

function stateOrNull (given: SandboxAgent, agent: AgentConfig): AgentState | null {
  try {
    return sandboxState(given, agent, null)
  } catch (error) {
    if (error instanceof CannotEvaluate) return null
    throw error
  }
}

/** @param policy name of a policy, perhaps of the catalogue */
function samplesOf (policy: string, text: (request: RequestSpec) => string | null): Sample[] {
  const file = join(packageRoot(), 'config/extensions', `${policy}.test.yaml`)
  if (!existsSync(file)) return []
  const loaded = loadTests(file, {})
  if (!loaded.ok) return []
  // Samples show one request: tests of recordings, and of requests that depend on earlier ones, are none.
  const single = loaded.tests.value.tests.filter(({ request, before, memory }) =>
    request.http === undefined && before === undefined && memory === undefined)
  return single.flatMap(({ name, request, expect }) => {
    const written = text(request)
    return written === null || expect.decision === 'pause' ? [] : [{ name, expected: expect.decision, policy, text: written }]
  }).slice(0, SAMPLES)
}
