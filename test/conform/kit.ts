/** The conformance suite in front of the faulty proxy. */
import type { Test } from 'tap'
import { startAgent } from '#conform/agent/agent.js'
import { REQUIRED } from '#conform/cases/enforcing.js'
import { CASES } from '#conform/cases/index.js'
import type { Case } from '#conform/model.js'
import type { Report } from '#conform/report/report.js'
import { runConform } from '#conform/run/conform.js'
import type { Declaration } from '#conform/run/declaration.js'
import { readDeclaration } from '#conform/run/declaration.js'
import type { FaultName } from './proxy/faults.js'
import { startProxy } from './proxy/proxy.js'

/** The text of `proxy.yaml`, read. Throws with the problems. */
export function declared (text: string): Declaration {
  const result = readDeclaration(text)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.declaration
}

/** The faultless proxy claims everything. */
export const EVERYTHING = declared('name: reference\nversionHeader: enforced\ntracing: continued\nextensions: enforced\n')

/** Runs cases against the faulty proxy, with an agent that requires extensions for the group enforcing. */
export async function runAgainst (t: Test, faults: readonly FaultName[], cases: readonly Case[] = CASES): Promise<Report['cases']> {
  const groups = [cases.filter(one => one.group !== 'enforcing'), cases.filter(one => one.group === 'enforcing')]
  const reports: Report[] = []
  for (const [index, chosen] of groups.entries()) {
    if (chosen.length === 0) continue
    const required = index === 0 ? [] : REQUIRED
    const agent = await startAgent({ host: '127.0.0.1', port: 0, required })
    t.teardown(() => agent.close())
    const proxy = await startProxy(agent.url, faults, required)
    t.teardown(() => proxy.close())
    reports.push(await runConform({ direct: agent.url, through: proxy.url, declaration: EVERYTHING, cases: chosen }))
  }
  return reports.flatMap(report => report.cases)
}
