/** The gateway's reading of a forwarded request: all data that rules, activation and memory use. */
import type { MessageView, PartView } from '#a2a/message/message.js'
import { statedTypes } from '#a2a/message/message.js'
import { taskIdOf, tenantOf } from '#a2a/task-id.js'
import { normalise, normalisePart, roleOf } from '#a2a/message/normalise.js'
import type { MessageReading, PartReading, Reading } from './oracle.js'
import type { DryRun } from '#pipeline/dry-run-operation.js'

export function judgedOf ({ call, evaluation: ruling, route }: DryRun): Reading | null {
  if (call === null || ruling === null || route === null || route.kind !== 'operation') return null
  const message = call.view?.message ?? null
  return {
    operation: call.operation,
    tenant: tenantOf(call, route.tenant),
    taskId: taskIdOf(call, route.binding === 'HTTP+JSON' ? route.upstreamPath : null),
    requested: ruling.decision.outbound,
    message: message === null ? null : messageOf(message),
    metadata: normalise(call).metadata
  }
}

function messageOf (message: MessageView): MessageReading {
  const { fields, listed, parts, list } = message
  const found: (PartReading | null)[] = Array.from({ length: list?.length ?? 0 }, () => null)
  for (const part of parts) found[part.index] = partReading(part)
  return { role: roleOf(fields), contextId: fields.get('contextId'), parts: found, metadata: fields.get('metadata'), extensions: listed }
}

export function partReading (part: PartView): PartReading {
  const plain = normalisePart(part)
  const kind = (['data', 'text', 'url', 'raw'] as const).find(member => member in plain) ?? null
  return {
    kind,
    value: kind === null ? undefined : plain[kind],
    mediaTypes: statedTypes(part).map(({ text }) => text),
    metadata: plain.metadata
  }
}
