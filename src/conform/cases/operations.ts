/** Every operation in every binding and version: the request reaches the agent, and the response the client, byte for byte. */
import type { Case, Check } from '../model.js'
import { hasOperation, OPERATIONS, responseOf } from '../protocol.js'
import { casesOf, COMPLETE, GRPC, HTTP, ONCE, SAME_BODY, SAME_BYTES, SAME_STATUS, SAME_TARGET } from './build.js'

const METHOD: Check = { check: 'request', part: 'method' }
const TYPE: Check = { check: 'response-header', name: 'Content-Type', as: 'same' }

export const OPERATION_CASES: readonly Case[] = OPERATIONS.flatMap(operation => casesOf([
  {
    id: `T-OPERATION-${operation}`,
    name: `${operation}: request and response pass byte for byte`,
    group: 'transparent',
    level: 'must',
    spec: 'A2A 1.0.1 §5.3; profile T1',
    register: 'T4',
    on: HTTP.filter(([transport, version]) => hasOperation(operation, transport, version)),
    operation,
    // The addresses in an extended card may change: see the group "discovery".
    ...operation === 'get_extended_agent_card' ? {} : { agent: ([transport, version]) => responseOf(operation, transport, version) },
    expect: operation === 'get_extended_agent_card'
      ? [ONCE, METHOD, SAME_TARGET, SAME_BODY, SAME_STATUS, COMPLETE]
      : [ONCE, METHOD, SAME_TARGET, SAME_BODY, SAME_STATUS, TYPE, SAME_BYTES, COMPLETE]
  },
  {
    id: `T-OPERATION-${operation}`,
    name: `${operation}: messages and status pass unchanged`,
    group: 'transparent',
    level: 'must',
    spec: 'A2A 1.0.1 §10; profile T1',
    register: 'T4',
    on: GRPC.filter(([transport, version]) => hasOperation(operation, transport, version)),
    operation,
    ...operation === 'get_extended_agent_card' ? {} : { agent: ([transport, version]) => responseOf(operation, transport, version) },
    expect: [
      ONCE, SAME_TARGET, { check: 'request', part: 'messages' },
      ...operation === 'get_extended_agent_card' ? [] : [{ check: 'messages' } as const],
      { check: 'trailer', name: 'grpc-status', as: 'is', value: '0' }, COMPLETE
    ]
  }
]))
