/** The scripts that count on a Redis or Valkey server. Each runs as a whole, so that all gateways see one order of requests. */
import { createHash } from 'node:crypto'

export interface Script { readonly text: string, readonly sha1: string }

const script = (text: string): Script => ({ text, sha1: createHash('sha1').update(text).digest('hex') })

/** The time of the server, in ms: clocks of gateways may differ. `spent` returns the amount of a budget, and the end of its window. */
const COMMON = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local function spent(key, window)
  local value = redis.call('GET', key)
  local amount, ends = string.match(value or '', '^(%S+) (%S+)$')
  amount, ends = tonumber(amount), tonumber(ends)
  if not amount or not ends or ends <= now then return 0, now + window end
  return amount, math.min(ends, now + window)
end
`

/**
 * Counts one request under all keys, or under none. As `gcra.ts` and `memory-limits.ts`.
 * Arguments of each key: `count period burst` of a rate, `limit window 0` of a budget. Reply: index from 1 of the key with the longest
 * wait, or 0; the wait in ms; what counts under each key.
 */
export const TAKE = script(`${COMMON}
local reply = {0, '0'}
local longest = 0
local used, behind = {}, {}
for i, key in ipairs(KEYS) do
  local a, b, burst = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  local wait = 0
  if burst == 0 then
    local amount, ends = spent(key, b)
    used[i] = amount
    if amount >= a then wait = math.max(1, math.ceil(ends - now)) end
  else
    local level = tonumber(redis.call('GET', key) or nil)
    if level ~= level then level = nil end -- NaN
    local units = level and level - now * a / b or 0
    used[i] = math.min(math.max(units, 0), burst)
    if units > burst then behind[i] = true end
    local over = used[i] + 1 - burst - 1e-6
    if over > 0 then wait = math.ceil(over * b / a) end
  end
  if wait > longest then
    longest = wait
    reply[1], reply[2] = i, string.format('%d', wait)
  end
end
for i, key in ipairs(KEYS) do
  local a, b, burst = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  if longest == 0 and burst > 0 then used[i] = used[i] + 1 end
  -- A level from before the clock stepped back is replaced, even if the request is rejected.
  if burst > 0 and (longest == 0 or behind[i]) then
    redis.call('SET', key, string.format('%.17g', now * a / b + used[i]), 'PX', string.format('%d', math.ceil(used[i] * b / a) + 1))
  end
  reply[i + 2] = string.format('%.17g', used[i])
end
return reply`)

/** Adds amounts. Arguments of each key: window, amount. */
export const SPEND = script(`${COMMON}
for i, key in ipairs(KEYS) do
  local amount, ends = spent(key, tonumber(ARGV[2 * i - 1]))
  amount = math.min(amount + tonumber(ARGV[2 * i]), 9007199254740991)
  redis.call('SET', key, string.format('%.17g %.17g', amount, ends), 'PX', string.format('%d', math.max(1, math.ceil(ends - now))))
end
return {1}`)
