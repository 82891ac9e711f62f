/**
 * Budgets of a whole chain of callers: what is left of them comes with the call, in the signed chain, in the header `a2a-budget`, or in the
 * request (`budgets[].remaining`). Each source can only lower what the configuration allows. Pure: a front asks the store.
 */
import type { Call } from '#a2a/message/call.js'
import type { ChainBudget, ChainBudgets } from '#identity/chain.js'
import type { Charge, CompiledLimit } from '#policy/limits/charge.js'
import { isBudget } from '#policy/limits/charge.js'
import type { JsonEdit } from '#wire/json/edit.js'
import { parsePointer, resolveSteps } from '#wire/json/pointer.js'
import type { Decision } from '#policy/request/decision.js'

export const BUDGET_HEADER = 'a2a-budget'
/** Name of the time that is left, in seconds. */
export const TIME = 'time'

const ENTRY = /^([a-z0-9-]{1,63})=(\d{1,15}(?:\.\d{1,6})?)$/
const MOST = 8

/**
 * Reads `tokens=5000, time=30`: amounts that are left for the call and all that agents do for it.
 * @returns null for a header that cannot be read
 */
export function readBudgets (text: string | undefined): ReadonlyMap<string, number> | null {
  const amounts = new Map<string, number>()
  for (const entry of text?.split(',') ?? []) {
    const [, name, amount] = ENTRY.exec(entry.trim()) ?? []
    if (name === undefined || amounts.has(name) || amounts.size === MOST) return null
    amounts.set(name, Number(amount))
  }
  return amounts
}

/** Returns the header; undefined without a budget. @param now milliseconds since the epoch */
export function writeBudgets (budgets: ChainBudgets, deadline: number | null, now: number): string | undefined {
  const entries = Object.entries(budgets).map(([name, [, left]]) => `${name}=${shownAmount(left)}`)
  if (deadline !== null) entries.push(`${TIME}=${shownAmount(Math.max(0, deadline - now) / 1_000)}`)
  return entries.length === 0 ? undefined : entries.join(', ')
}

function shownAmount (amount: number): string {
  return String(Math.floor(amount * 1e6) / 1e6)
}

/** The budgets of a chain, with what the caller asks for. */
export function mergedBudgets (received: ChainBudgets, asked: ReadonlyMap<string, number>): ChainBudgets {
  const budgets: Record<string, ChainBudget> = { ...received }
  for (const [name, amount] of asked) {
    if (name === TIME) continue
    const [limit, left] = budgets[name] ?? [amount, amount]
    budgets[name] = [limit, Math.min(left, amount)]
  }
  return budgets
}

export function isOfChain ({ by }: CompiledLimit): boolean {
  return by.includes('chain')
}

/** The amount at `remaining` in the request; undefined for none. */
export function amountIn ({ request }: Call, { remaining }: CompiledLimit): number | undefined {
  const value = remaining === null || request === null ? undefined : resolveSteps(request.object, parsePointer(remaining))
  return typeof value === 'number' && value >= 0 ? value : undefined
}

/**
 * A charge of a budget of the chain, with the limit that is in force for the call: never more than the caller had.
 * @param received amounts of the signed chain; undefined for a direct call
 * @param asked what the caller asks for besides
 */
export function narrowed (charge: Charge, received: ChainBudget | undefined, asked: number | undefined): Charge {
  const { limit } = charge
  const { rule, localRule, shared } = limit
  if (!isBudget(rule) || !isBudget(localRule)) return charge
  // Gateways that share counts compare with the whole; without that, each counts on its own from what was left.
  const [whole = Infinity, left = Infinity] = received ?? []
  const most = asked === 0 ? 0 : Math.min(shared ? whole : left, received === undefined ? asked ?? Infinity : Infinity)
  const own = Math.min(asked === 0 ? 0 : left, most)
  const within = <R extends typeof rule>(budget: R, amount: number): R => ({ ...budget, limit: Math.min(budget.limit, amount) })
  return { ...charge, limit: { ...limit, rule: within(rule, most), localRule: within(localRule, own) } }
}

/** What goes on to the agent. @param used amounts that count now */
export function passedOn (charge: Charge, asked: number | undefined, used: number): ChainBudget {
  const { rule } = charge.limit
  const left = Math.min(Math.max(0, (isBudget(rule) ? rule.limit : 0) - used), asked ?? Infinity)
  return [used + left, left]
}

/** The change of the amount at `remaining`, so that the agent reads no more than is left; null where nothing changes. */
export function remainingEdit (call: Call, limit: CompiledLimit, left: number, { edits, verbatim }: Decision): JsonEdit | null {
  const amount = amountIn(call, limit)
  if (amount === undefined || amount <= left || verbatim || limit.remaining === null || call.request === null) return null
  const path = [...call.request.path === '' ? [] : [call.request.path], ...parsePointer(limit.remaining)]
  // A rule of a policy removes the value, or what it stands in.
  if (edits.some(edit => edit.path.every((step, i) => String(step) === String(path[i])))) return null
  return { path, value: Buffer.from(shownAmount(left)) }
}
