/**
 * Differences between gateway and agent that let no data pass without evaluation, each with its reason. Every other difference is a bypass.
 */
import type { Mismatch } from './compare.js'
import type { OddRequest } from './requests.js'

interface Justified {
  readonly why: string
  readonly path: RegExp
  readonly holds: (mismatch: Mismatch, of: { readonly kind: string, readonly request: OddRequest }) => boolean
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
const has = (value: unknown, key: string): boolean => typeof value === 'object' && value !== null && key in value

export const JUSTIFIED: readonly Justified[] = [
  {
    why: 'What the agent finds no text, data or file in is nothing to it; the gateway may have judged more than that.',
    path: /^message\.parts\[\d+\]\.(?:kind|value|metadata)$/,
    holds: ({ agentPart }) => agentPart?.kind === null
  },
  {
    why: 'A text part that says no text holds nothing to judge; writers that leave empty members out send it.',
    path: /^message\.parts\[\d+\]\.kind$/,
    holds: ({ gateway, agentPart }) => gateway === null && agentPart?.kind === 'text' && isEmpty(agentPart.value)
  },
  {
    why: 'The JavaScript SDKs drop the metadata of parts from 0.3 over HTTP+JSON.',
    path: /^message\.parts\[\d+\]\.metadata$/,
    holds: ({ agent }, { request }) => request.target.includes('/v1/') && isEmpty(agent)
  },
  {
    why: 'The flag with which translating SDKs mark data that is no object is taken away by them; an agent of 0.3 sees flag and wrapper as they are, around what was judged.',
    path: /^message\.parts\[\d+\]\.(?:value|metadata)$/,
    holds: ({ path, gateway, agent }, { kind }) =>
      path.endsWith('.metadata')
        ? has(gateway, 'data_part_compat') && !has(agent, 'data_part_compat')
        : kind === 'v03' && JSON.stringify({ value: gateway }) === JSON.stringify(agent)
  },
  {
    why: 'An agent that finds no task in a request for one refuses it.',
    path: /^taskId$/,
    holds: ({ agent, operation }) => agent === null && !operation.startsWith('Send')
  },
  {
    why: 'The JavaScript SDK drops the metadata of CancelTask from HTTP+JSON.',
    path: /^metadata$/,
    holds: ({ agent, operation }) => operation === 'CancelTask' && isEmpty(agent)
  }
]
