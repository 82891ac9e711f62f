/**
 * Differences between gateway and client that let no data pass without evaluation, each with its reason. Every other difference is a
 * bypass.
 */
import type { ResultView } from '#a2a/message/result.js'
import type { ClientKind } from '../../helpers/sdk-clients.js'
import type { Form } from '../../security/kit.js'
import { plain } from '../same.js'
import type { Mismatch } from './compare.js'

interface Justified {
  readonly why: string
  readonly path: RegExp
  readonly holds: (
    mismatch: Mismatch,
    of: { readonly kind: ClientKind; readonly form: Form; readonly judged: ResultView | null; readonly isError: boolean }
  ) => boolean
}

const isEmpty = (value: unknown): boolean => plain(value) === null || (Array.isArray(value) && value.length === 0)
const has = (value: unknown, key: string): boolean => typeof value === 'object' && value !== null && key in value
const isOldRest = ({ binding, version }: Form): boolean => binding === 'HTTP+JSON' && version === '0.3'
const isOldRpc = ({ binding, version }: Form): boolean => binding === 'JSONRPC' && version === '0.3'

export const JUSTIFIED: readonly Justified[] = [
  {
    why: 'What the client finds no text, data or file in is nothing to it; the gateway may have judged more than that.',
    path: /\.parts\[\d+\]\.(?:kind|value|metadata)$/,
    holds: ({ clientPart }) => clientPart?.kind === null
  },
  {
    why: 'A text part that says no text holds nothing to judge; writers that leave empty members out send it.',
    path: /\.parts\[\d+\]\.kind$/,
    holds: ({ gateway, clientPart }) => gateway === null && clientPart?.kind === 'text' && isEmpty(clientPart.value)
  },
  {
    why: 'The JavaScript SDKs drop the metadata of parts, the extensions of artifacts, and whether they are appended, from 0.3 over HTTP+JSON.',
    path: /^append$|\.parts\[\d+\]\.metadata$|^artifacts\[\d+\]\.extensions$/,
    holds: ({ path, client }, { form }) => isOldRest(form) && (path === 'append' ? client === false : isEmpty(client))
  },
  {
    why: 'The JavaScript SDKs find an empty document in a part of 0.3 over HTTP+JSON that does not hold an object in a member "data", as their binding has it.',
    path: /\.parts\[\d+\]\.value$/,
    holds: ({ clientPart }, { form }) => isOldRest(form) && clientPart?.kind === 'data' && isEmpty(clientPart.value)
  },
  {
    why: 'The flag with which translating SDKs mark data that is no object is taken away by them; a client of 0.3 sees flag and wrapper as they are, around what was judged.',
    path: /\.parts\[\d+\]\.(?:value|metadata)$/,
    holds: ({ path, gateway, client }, { kind }) =>
      path.endsWith('.metadata')
        ? has(gateway, 'data_part_compat') && !has(client, 'data_part_compat')
        : kind === 'v03' && JSON.stringify({ value: gateway }) === JSON.stringify(client)
  },
  {
    why: 'Clients of 0.3 over JSON-RPC know ids by one spelling, and take the other for none.',
    path: /(?:^|\.)(?:taskId|contextId|id)$/,
    holds: ({ client }, { form }) => isOldRpc(form) && isEmpty(client)
  },
  {
    why: 'A state that the client does not know is none to it; one that translates says so.',
    path: /^state$/,
    holds: ({ client }) => isEmpty(client) || client === 'unknown'
  },
  {
    why: 'What the client wrote, by a role that it reads as its own, is not judged where it stands in a status.',
    path: /^status\./,
    holds: ({ results: { gateway, client } }) => gateway.status === null && client.status?.role === 'user'
  },
  {
    why: 'A history that clients read differently is refused where something is to be taken out of it, and judged nowhere.',
    path: /^history\[/,
    holds: (_mismatch, { judged }) => judged !== null && judged.pastProblems.length > 0
  },
  {
    why: 'Ids beside an error tell nothing of a task.',
    path: /^(?:kind|taskId|contextId|state)$/,
    holds: ({ results: { client } }, { judged, isError }) =>
      judged === null &&
      isError &&
      client.status === null &&
      client.artifacts.length === 0 &&
      client.history.length === 0 &&
      isEmpty(client.metadata)
  }
]
