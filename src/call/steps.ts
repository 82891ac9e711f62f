/**
 * The steps of a call, in their order: the file to read first. A step returns nothing when the next step may run, and ends the call when it
 * rejects or serves it (`run.ts`).
 */
import { setKind } from './description.js'
import type { Exchange } from './exchange.js'
import { setSteps, start } from './run.js'
import type { Kind, Result, Step } from './step.js'
import { authenticate } from './steps/authenticate.js'
import { decodeBody, readBody } from './steps/body.js'
import { claimUnique } from './steps/claims.js'
import { readCors, servePreflight } from './steps/cors.js'
import { getCredentials } from './steps/credentials.js'
import { checkDelegation } from './steps/delegation.js'
import { checkAccess, evaluate, loadOwners, loadTask, parseCall, recordOutcome, shedLoad } from './steps/evaluate.js'
import { askPolicyServers } from './steps/external-decisions.js'
import { resume, servePaused } from './steps/pause.js'
import { limitByBody, limitByHead } from './steps/limits.js'
import { checkPushUrls, countPushConfigs } from './steps/push.js'
import { matchRoute, readVersion, rejectTarget } from './steps/route.js'
import { matchMethod } from './steps/rpc.js'
import { send } from './steps/send.js'
import { checkUnreadAccess, describePassthrough, forwardUninspected, readUnread, rejectUnfit, rejectWithoutCard } from './steps/unread.js'

/** Goes on with the steps of the kind. */
function continueByKind (exchange: Exchange): undefined {
  return setSteps(exchange, STEPS[exchange.kind])
}

/** Reads and evaluates a request. */
const READ = [parseCall, loadTask, loadOwners, evaluate]

/** A request that has waited for a person is read and evaluated as if it had just come. */
function resumePaused (exchange: Exchange): Result | Promise<Result> {
  return resume(exchange, READ)
}

export const STEPS = {
  /** A request over HTTP, from its head to its route. */
  http: [readCors, readVersion, rejectTarget, servePreflight, authenticate, matchRoute, continueByKind],
  /** A call over gRPC, from its head to its method. */
  grpc: [authenticate, matchMethod, continueByKind],
  /** A request for an operation of A2A, or of an extension. */
  operation: [
    shedLoad, checkAccess, checkDelegation, limitByHead,
    readBody, decodeBody, ...READ, resumePaused,
    askPolicyServers, checkPushUrls, countPushConfigs, limitByBody, claimUnique, recordOutcome, servePaused,
    getCredentials, send
  ],
  /** A preflight that the agent itself responds to. */
  preflight: [shedLoad, checkUnreadAccess, getCredentials, forwardUninspected],
  /** A request to an agent whose card the gateway does not have. */
  withoutCard: [
    shedLoad, checkUnreadAccess, checkDelegation, limitByHead, rejectWithoutCard, readUnread, getCredentials, forwardUninspected
  ],
  /** A request below a prefix of `passthrough`, or for a service of `grpc.passthrough`. */
  passthrough: [
    describePassthrough, shedLoad, authenticate, checkUnreadAccess, checkDelegation,
    rejectUnfit, limitByHead, readUnread, getCredentials, forwardUninspected
  ]
} as const satisfies Readonly<Record<Kind | 'http' | 'grpc', readonly Step[]>>

/** Starts a request that no rule reads. */
export function startPassthrough (exchange: Exchange): void {
  setKind(exchange, 'passthrough')
  start(exchange, STEPS.passthrough)
}
