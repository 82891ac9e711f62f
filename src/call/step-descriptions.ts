/** What each step of a call does, for `explain --steps` and the documentation. */
import { STEPS } from './steps.js'

export interface StepList {
  /** Key of {@link STEPS}. */
  readonly list: string
  /** The requests that take these steps. */
  readonly requests: string
  readonly steps: readonly { readonly step: string, readonly does: string }[]
}

const REQUESTS: Readonly<Record<keyof typeof STEPS, string>> = {
  http: 'a request over HTTP, up to its route',
  grpc: 'a call over gRPC, up to its method',
  operation: 'an operation of A2A or of an extension',
  preflight: 'a preflight that the agent responds to',
  withoutCard: 'an agent whose card the gateway does not have',
  passthrough: 'a prefix of `passthrough`, or a service of `grpc.passthrough`'
}

const DOES: Readonly<Record<string, string>> = {
  readCors: 'sets the cross-origin headers of the response',
  readVersion: 'reads the version of A2A that the request asks for',
  rejectTarget: 'rejects a target with two readings, a bad header, and an unknown agent',
  servePreflight: 'responds to a preflight of an origin that the configuration names',
  authenticate: 'identifies the caller, and rejects a request that needs one and has none (`identity`)',
  matchRoute: 'finds the operation by path and method, or serves the card',
  matchMethod: 'finds the operation by service and method',
  continueByKind: 'continues with the list for this kind of request',
  shedLoad: 'rejects the call while the process is overloaded (`overload`)',
  checkAccess: 'applies the access lists, as far as the head decides (`access`)',
  checkDelegation: 'verifies the chain of callers, and applies the limits of delegation (`access.delegation`)',
  limitByHead: 'applies the rates that need only the head (`rates`)',
  readBody: 'reads the whole body within `limits.body`, `limits.requestTimeout` and `limits.memory`',
  decodeBody: 'decodes a compressed body',
  parseCall: 'parses the body once: operation, id, task and message',
  loadTask: 'loads the state of the task that the request names',
  loadOwners: 'loads the owners of the tasks and contexts that the request names (`access.tasks`)',
  evaluate: 'determines the active extensions, and applies the rules of their policies',
  askPolicyServers: 'asks the policy servers (`external`)',
  checkPushUrls: 'resolves the hosts of push notification URLs, and checks their addresses (`push`)',
  countPushConfigs: 'counts the push configurations of the task (`push.perTask`)',
  limitByBody: 'applies all other rates, and the budgets (`rates`, `budgets`)',
  claimUnique: 'claims values that must be unique (`unique`)',
  resumePaused: 'takes up a request that has waited for a person, when the message has the evidence (`pause`)',
  servePaused: 'serves the task of a request that waits for a person (`pause`)',
  recordOutcome: 'records the decision, and rejects the call if a rule does, or lets the call wait for a person (`pause`)',
  getCredentials: 'gets the credentials for the agent (`upstream.credentials`)',
  send: 'sends the request to the agent, and validates the response on its way to the client',
  checkUnreadAccess: 'applies the access lists to a request that no rule reads',
  rejectWithoutCard: 'rejects the request, unless `card.onUnavailable` is `forward`',
  readUnread: 'reads the body, where the gateway forwards it as a whole',
  forwardUninspected: 'forwards the request without applying rules',
  describePassthrough: 'names the request in metrics and logs',
  rejectUnfit: 'rejects a body above `limits.body`'
}

/** The steps of each kind of request, in the order in which the gateway runs them. */
export function stepLists (): readonly StepList[] {
  return Object.entries(STEPS).map(([list, steps]) => ({
    list,
    requests: REQUESTS[list as keyof typeof STEPS],
    steps: steps.map(({ name }) => ({ step: name, does: DOES[name] ?? '' }))
  }))
}
