/** A flood of forged tokens: what it costs is counted in verifications of signatures, and honest callers do not notice it. */
import { webcrypto } from 'node:crypto'
import { Agent, request } from 'node:http'
import t from 'tap'
import type { Test } from 'tap'
import { MESSAGE, rpc, until } from '../helpers/http.js'
import { issuerFor, jwtSource, keyOf } from './issuer.js'
import { guarded } from './kit.js'

/** Counts the verifications of signatures in this process, which is also the process of the gateway. */
function countVerifications (t: Test): () => number {
  const { subtle } = webcrypto
  const own = subtle.verify
  let count = 0
  subtle.verify = (...args) => {
    count++
    return own.apply(subtle, args)
  }
  t.teardown(() => { subtle.verify = own })
  return () => count
}

t.test('a flood of forged tokens from one address', async t => {
  const [key, stranger] = [await keyOf('a'), await keyOf('a')]
  const issuer = await issuerFor(t, [key])
  const { gateway, agent } = await guarded(t, {
    sources: [jwtSource('corp', issuer.url)],
    root: ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", trustedProxies: [127.0.0.1/32]}']
  })
  const send = async (token: string, from: string): Promise<number> =>
    (await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['authorization', `Bearer ${token}`, 'x-forwarded-for', from])).status
  const verifications = countVerifications(t)

  const honest = await issuer.token(key)
  t.equal(await send(honest, '192.0.2.1'), 200)
  t.equal(verifications(), 1)
  const forged = await Promise.all(Array.from({ length: 400 }, (_, i) => issuer.token(stranger, { sub: `s${i}` })))
  const statuses: number[] = []
  const startedAt = performance.now()
  for (let at = 0; at < forged.length; at += 20) {
    const flood = forged.slice(at, at + 20).map(token => send(token, '192.0.2.66'))
    const [first, second] = await Promise.all([send(honest, '192.0.2.1'), send(honest, '192.0.2.66')])
    t.same([first, second], [200, 200], 'a remembered token needs no verification, wherever it comes from')
    statuses.push(...await Promise.all(flood))
  }
  // 50 at once and 20 in 10 s, one batch that was under way when the brake closed, then 250 in a second.
  const cost = verifications() - 1
  const seconds = (performance.now() - startedAt) / 1_000
  t.ok(cost >= 50 && cost <= 100 + 260 * Math.ceil(seconds), `${cost} verifications for ${forged.length} forged tokens in ${seconds.toFixed(1)} s`)
  t.ok(statuses.every(status => status === 401 || status === 429))
  t.ok(statuses.slice(-100).filter(status => status === 429).length >= 90, 'the brake is closed')
  const before = verifications()
  t.equal(await send(await issuer.token(key, { sub: 'bob' }), '192.0.2.2'), 200, 'new callers of other addresses come in')
  t.equal(verifications(), before + 1)
  t.equal(agent.received.length, 42)
  t.match(await (await fetch(`${gateway.adminUrl}/metrics`)).text(), '# TYPE a2a_gateway_authentication_duration_seconds histogram')
  t.equal(await gateway.metric('a2a_gateway_token_cache_entries{source="corp"}'), 2, 'no forged token is remembered')
  const hits = await gateway.metric('a2a_gateway_authentication_duration_seconds_count{source="corp",cache="hit"}')
  t.equal(hits, 40)
  t.equal(await gateway.metric('a2a_gateway_authentication_duration_seconds_count{source="corp",cache="miss"}'), cost + 2)
})

t.test('tokens that need no verification to be rejected', async t => {
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const { gateway } = await guarded(t, { sources: [jwtSource('corp', issuer.url)] })
  const verifications = countVerifications(t)
  const now = Math.floor(Date.now() / 1_000)
  for (const claims of [{ exp: now - 100 }, { aud: 'other' }, { iss: 'other' }, { cnf: { jkt: 'x' } }, { nbf: now + 100 }]) {
    const answer = await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['authorization', `Bearer ${await issuer.token(key, claims)}`])
    t.equal(answer.status, 401)
  }
  t.equal(verifications(), 0)
})

t.test('many calls with one new token', async t => {
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const { gateway } = await guarded(t, { sources: [jwtSource('corp', issuer.url)] })
  const verifications = countVerifications(t)
  const headers = ['authorization', `Bearer ${await issuer.token(key)}`]
  const answers = await Promise.all(Array.from({ length: 50 }, () => rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)))
  t.ok(answers.every(({ status }) => status === 200))
  t.equal(verifications(), 1)
})

t.test('a flood writes a bounded number of log lines, and counts the rest', async t => {
  const [key, stranger] = [await keyOf('a'), await keyOf('a')]
  const issuer = await issuerFor(t, [key])
  const { gateway } = await guarded(t, { sources: [jwtSource('corp', issuer.url)], root: ['telemetry: {logs: {level: info}}'] })
  const forged = await issuer.token(stranger)
  const [TOKENS, NOTHING] = [120, 60]
  const send = async (...headers: readonly string[]): Promise<number> => (await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)).status
  const startedAt = performance.now()
  const statuses = await Promise.all([...Array.from({ length: TOKENS }, () => send('authorization', `Bearer ${forged}`)), ...Array.from({ length: NOTHING }, () => send())])
  const seconds = Math.ceil((performance.now() - startedAt) / 1_000) + 1
  t.ok(statuses.every(status => status === 401 || status === 429))
  t.ok(statuses.includes(429), 'those beyond the limit are bounded too')
  const lines = (): { omitted?: number }[] => gateway.logs().filter(({ msg }) => msg === 'request')
  const counted = (): number => lines().reduce((sum, { omitted = 0 }) => sum + 1 + omitted, 0)
  await until(() => counted() === TOKENS + NOTHING, 'each request to have a line or a count')
  t.ok(lines().length <= 2 * seconds * 11, `${lines().length} lines for two sources in ${seconds} s`)
  t.equal((await rpc(`${gateway.url}/rpc`, 'NoSuchMethod', {}, ['authorization', `Bearer ${await issuer.token(key)}`])).status, 200)
  await until(() => counted() === TOKENS + NOTHING + 1, 'the line of a caller')
  t.equal(lines().at(-1)?.omitted, undefined)
  t.ok(await gateway.metric('a2a_gateway_requests_total{outcome="rejected"}') >= TOKENS + NOTHING, 'metrics count all')
})

t.test('a gateway that closes writes the counts', async t => {
  const { gateway } = await guarded(t, { root: ['telemetry: {logs: {level: info}}'] })
  await Promise.all(Array.from({ length: 15 }, () => rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE })))
  await gateway.close()
  t.equal(gateway.logs().filter(({ msg }) => msg === 'request').reduce((sum, line) => sum + 1 + Number(line.omitted ?? 0), 0), 15)
})

/** Sends forged tokens over many connections, each with the next one as soon as it has a response, until `stop`. */
async function flood (url: string, tokens: readonly string[], connections: number, stop: AbortSignal): Promise<readonly number[]> {
  const statuses: number[] = []
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  let next = 0
  await Promise.all(Array.from({ length: connections }, async () => {
    while (!stop.aborted) {
      const token = tokens[next++ % tokens.length] as string
      statuses.push(await new Promise<number>((resolve, reject) => {
        const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: `Bearer ${token}`, 'content-length': '2' }
        request(`${url}/rpc`, { method: 'POST', agent, headers }, response => {
          response.resume().on('end', () => { resolve(response.statusCode ?? 0) })
        }).on('error', reject).end('{}')
      }))
    }
  }))
  agent.destroy()
  return statuses
}

for (const { name, connections, share } of [
  { name: 'as many connections as tokens may wait', connections: 100, share: 1 },
  // New callers share the room with the flood: with thousands of forged tokens in a second, none may pass.
  { name: 'more connections than tokens may wait', connections: 400, share: 0 }
]) {
  t.test(`valid new tokens from the address of a flood of plausible forged tokens: ${name}`, async t => {
    const [key, stranger] = [await keyOf('a'), await keyOf('a')]
    const issuer = await issuerFor(t, [key])
    const { gateway } = await guarded(t, { sources: [jwtSource('corp', issuer.url)] })
    const send = async (token: string): Promise<number> =>
      (await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['authorization', `Bearer ${token}`])).status
    const verifications = countVerifications(t)
    // Everything but the signature is as in a valid token.
    const forged = await Promise.all(Array.from({ length: 2_000 }, (_, i) => issuer.token(stranger, { sub: `s${i}` })))
    t.equal(await send(await issuer.token(key, { sub: 'renewing', jti: 'first' })), 200)
    const stop = new AbortController()
    const startedAt = performance.now()
    const flooding = flood(gateway.url, forged, connections, stop.signal)
    await until(async () => await send(forged[0] as string) === 429, 'the brake to close')
    const fresh = await Promise.all(Array.from({ length: 15 }, (_, i) => issuer.token(key, { sub: `new${i}` })))
    const renewed = await Promise.all(Array.from({ length: 15 }, (_, i) => issuer.token(key, { sub: 'renewing', jti: `next${i}` })))
    t.ok(await gateway.metric('a2a_gateway_token_verifications_waiting') > 0, 'tokens wait')
    const waits: number[] = []
    const passed = async (tokens: readonly string[]): Promise<number> => {
      let count = 0
      for (const token of tokens) {
        const begin = performance.now()
        if (await send(token) !== 200) continue
        count++
        waits.push(performance.now() - begin)
      }
      return count
    }
    const [new15, renewed15] = await Promise.all([passed(fresh), passed(renewed)])
    stop.abort()
    const statuses = await flooding
    const seconds = (performance.now() - startedAt) / 1_000
    const cost = verifications()
    t.equal(await gateway.metric('a2a_gateway_token_verifications_waiting'), 0, 'all have had their turn')
    waits.sort((a, b) => a - b)
    t.comment(`${Math.round(statuses.length / seconds)} forged tokens in a second; of 15 valid ones each, ${new15} new callers and ${renewed15} renewed tokens passed; ` +
      `p50 ${Math.round(waits[waits.length >> 1] ?? 0)} ms, longest ${Math.round(waits.at(-1) ?? 0)} ms; ${Math.round(cost / seconds)} verifications in a second, ` +
      `${(100 - 100 * cost / statuses.length).toFixed(0)}% without one`)
    t.equal(renewed15, 15, 'a caller who renews a token is not affected')
    t.ok(new15 >= 15 * share, `${new15} of 15 new callers`)
    t.ok(statuses.every(status => status === 401 || status === 429))
    t.ok(cost <= 300 + 260 * Math.ceil(seconds), `${cost} verifications in ${seconds.toFixed(1)} s`)
  })
}
