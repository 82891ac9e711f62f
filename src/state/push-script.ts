/**
 * Changes the push notification configurations that count for a task, on a Redis or Valkey server: a hash of the token of the last change,
 * by digest of the configuration's id. As `memory-push.ts`. Runs as a whole, so that all gateways see one order of changes.
 * Arguments: kind, time to live in ms, token, maximum, entries. Reply: 1 for each new entry and 0 for others; -1 when the task is full.
 */
export const CHANGE_PUSH = `
local key, kind, token = KEYS[1], ARGV[1], ARGV[3]
local added, count = {}, 0
for i = 5, #ARGV do
  local new = 1 - redis.call('HEXISTS', key, ARGV[i])
  added[i - 4] = new
  count = count + new
end
local full = kind == 'reserve' and count > 0 and redis.call('HLEN', key) + count > tonumber(ARGV[4])
for i = 5, #ARGV do
  if kind == 'free' then
    if redis.call('HGET', key, ARGV[i]) == token then redis.call('HDEL', key, ARGV[i]) end
  elseif not full and (kind ~= 'mark' or added[i - 4] == 0) then
    redis.call('HSET', key, ARGV[i], token)
  end
end
redis.call('PEXPIRE', key, ARGV[2])
if full then return {-1} end
return added`
