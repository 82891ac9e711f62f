/** Compiles `rates` and `budgets`. */
import type { Operation } from '#a2a/operations.js'
import type { BudgetConfig, Config, LimitScope, RateConfig, RateKey } from '#config/model/model.js'
import { FAILURES } from '#config/model/rates-model.js'
import type { AgentLimits, CompiledLimit, LimitRule } from './charge.js'
import { isBudget } from './charge.js'

const MESSAGES: readonly Operation[] = ['SendMessage', 'SendStreamingMessage']
/** Values that only the call has. */
const OF_THE_CALL: ReadonlySet<RateKey> = new Set(['operation', 'tenant', 'extension'])
/** Values that name one caller, who may see how much is left. */
const OF_THE_CALLER: readonly RateKey[] = ['caller', 'client']

/** @returns the limits by name of the agent; null when there are none */
export function compileLimits ({ rates, budgets, agents }: Pick<Config, 'rates' | 'budgets' | 'agents'>): ReadonlyMap<string, AgentLimits> | null {
  const requests = rates.filter(({ on }) => on !== 'failures').map(rate => ({ names: rate.agents, limit: compileRate(rate) }))
  const amounts = budgets.map(budget => ({ policy: budget.of.slice(0, budget.of.indexOf('/')), limit: compileBudget(budget) }))
  if (requests.length === 0 && amounts.length === 0) return null
  return new Map(agents.map(({ name, extensions }) => {
    const own = requests.filter(({ names }) => names === null || names.includes(name)).map(({ limit }) => limit)
    const late = [
      ...own.filter(limit => !isEarly(limit)),
      ...amounts.filter(({ policy }) => extensions.includes(policy)).map(({ limit }) => limit)
    ]
    return [name, { early: own.filter(isEarly), late }]
  }))
}

/** The limits of requests with credentials that are not valid. */
export function compileFailures (rates: readonly RateConfig[]): readonly CompiledLimit[] {
  const own = rates.filter(({ on }) => on === 'failures')
  return (own.length === 0 ? [DEFAULT_FAILURES] : own).map(compileRate)
}

const DEFAULT_FAILURES: RateConfig = {
  ...FAILURES,
  by: ['address'],
  on: 'failures',
  agents: null,
  extension: null,
  headers: 'none',
  scope: 'process',
  onStoreDown: 'local',
  replicas: 1
}

function isEarly ({ by, on, extension }: CompiledLimit): boolean {
  return on === null && extension === null && !by.some(key => OF_THE_CALL.has(key))
}

function compileRate (rate: RateConfig): CompiledLimit {
  const { id, by, rate: { count, period }, burst, on, extension, headers } = rate
  return {
    id,
    ...scopeOf(rate, { count, period, burst }),
    shown: headers === 'draft' && by.some(key => OF_THE_CALLER.includes(key)),
    by,
    on: on === 'failures' || on.includes('all') ? null : new Set(on.flatMap(key => (key === 'messages' ? MESSAGES : [key as Operation]))),
    extension,
    spends: null,
    remaining: null
  }
}

function compileBudget (budget: BudgetConfig): CompiledLimit {
  const { id, by, of, limit, window, max, remaining } = budget
  return {
    id,
    ...scopeOf(budget, { limit, window }),
    shown: false,
    by,
    on: null,
    extension: null,
    spends: { of, max: max ?? Number.MAX_SAFE_INTEGER },
    remaining
  }
}

function scopeOf (
  { scope, onStoreDown, replicas }: LimitScope, rule: LimitRule
): Pick<CompiledLimit, 'rule' | 'localRule' | 'shared' | 'onStoreDown'> {
  return { rule, localRule: partOf(rule, replicas), shared: scope === 'shared', onStoreDown }
}

function partOf (rule: LimitRule, replicas: number): LimitRule {
  return isBudget(rule)
    ? { ...rule, limit: rule.limit / replicas }
    : { count: rule.count, period: rule.period * replicas, burst: Math.ceil(rule.burst / replicas) }
}
