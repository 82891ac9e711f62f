/** The rules for cards that a proxy serves (spec 1.0.1 §8; 0.3.0 §5). */
import { isObject, own } from '#wire/json/object.js'
import { callGrpc } from '../client/grpc-client.js'
import { sendHttp } from '../client/http-client.js'
import { valueOf } from '../http1.js'
import type { CardRule, Case, Exchange, Line, Receipt } from '../model.js'
import { grpcRequest, httpRequest } from '../protocol.js'
import { difference, jsonOf } from './compare.js'
import type { Context } from './context.js'
import { CARD_PATH, interfacesOf, interfaceUrl } from './targets.js'

/** What was seen on one way: names of calls are marks again. */
export interface Way {
  readonly name: string
  readonly exchange: Exchange
  readonly receipts: readonly Receipt[]
}

export interface CaseRun { readonly case: Case, readonly direct: Way | null, readonly through: Way, readonly context: Context }

type Card = Readonly<Record<string, unknown>>
type Lines = string[] | null

const SPOOFED = 'spoofed.conform.example'
/** Members that name addresses, and what depends on them. */
const ADDRESSED = new Set(['url', 'preferredTransport', 'additionalInterfaces', 'supportedInterfaces', 'signatures'])

/** @returns the problem with the card that the proxy serves, or null */
export async function cardProblem (rule: CardRule, caseRun: CaseRun): Promise<Lines> {
  const { context, through, direct } = caseRun
  const card = jsonOf(through.exchange.body)
  if (rule === 'host') return await hostProblem([['Host', SPOOFED]], context)
  if (rule === 'forwarded-host') {
    return await hostProblem(
      [['X-Forwarded-Host', SPOOFED], ['X-Forwarded-Proto', 'https'], ['Forwarded', `host=${SPOOFED};proto=https`]], context
    )
  }
  if (rule === 'private') return await privateProblem(caseRun)
  if (rule === 'extended') return ownAddresses(through.exchange, context)
  if (!isObject(card)) return [`the card is no JSON object: ${through.exchange.problem ?? `status ${through.exchange.status}`}`]
  const original = direct === null ? context.direct.card : jsonOf(direct.exchange.body)
  if (!isObject(original)) return ['the card of the agent is no JSON object']
  switch (rule) {
    case 'valid': return validProblem(card, through.exchange)
    case 'addresses': return addressProblem(card, context)
    case 'reachable': return await reachableProblem(card, context)
    case 'order': return orderProblem(original, card)
    case 'members': return membersProblem(original, card)
    case 'signature': return signatureProblem(original, card)
    case 'validator': return validatorProblem(caseRun)
    case 'not-modified': return await notModifiedProblem(caseRun)
    case 'same-everywhere': return await sameEverywhere(card, context)
  }
}

const get = async (context: Context, target: string, headers: readonly Line[]): Promise<Exchange> =>
  await sendHttp(
    { kind: 'http', method: 'GET', target, headers: [...headers, ['Accept', 'application/json']], body: null },
    { base: context.through.base, name: context.name() }
  )

function validProblem (card: Card, { status, headers }: Exchange): Lines {
  if (status !== 200) return [`the status of the card is ${status}`]
  const type = valueOf(headers, 'content-type') ?? 'none'
  if (!/^application\/(?:a2a\+)?json\b/i.test(type)) return [`the content type of the card is ${type}`]
  return typeof own(card, 'name') === 'string' ? null : ['the card has no name']
}

/** Addresses of the agent, as a client would use them. */
const addressesOf = (card: Card): string[] => interfacesOf(card).map(({ url }) => new URL(url).host)

function addressProblem (card: Card, { direct, through }: Context): Lines {
  const agents = new Set(addressesOf(direct.card ?? {}))
  const proxies = new Set([through.base, ...through.interfaces.map(({ url }) => url)].map(url => new URL(url).host))
  const wrong = addressesOf(card).filter(host => agents.has(host) || !proxies.has(host))
  if (addressesOf(card).length === 0) return ['the card names no interface']
  return wrong.length === 0
    ? null
    : [
        'the card names addresses that do not lead to the proxy', '  through:  ' +
          `${[...new Set(wrong)].join(', ').replaceAll(/:\d+/g, ':{port}')}`
      ]
}

function ownAddresses ({ body, status, problem }: Exchange, { direct }: Context): Lines {
  if (status === 0) return [`no response: ${problem ?? ''}`]
  const text = body.toString('latin1')
  const agents = [...new Set(addressesOf(direct.card ?? {}))]
  // The addresses of documents and icons are no interfaces.
  const interfaces = agents.filter(host => text.replaceAll(/"[^"]*\/\.conform\/[^"]*"/g, '').includes(host))
  return interfaces.length === 0 ? null : ['the extended card names addresses of the agent']
}

async function reachableProblem (card: Card, context: Context): Promise<Lines> {
  const problems: string[] = []
  for (const { url, transport, version } of interfacesOf(card)) {
    const name = context.name()
    const exchange = transport === 'grpc'
      ? await callGrpc(grpcRequest('get_task', version), { base: url, name })
      : await sendHttp(httpRequest('get_task', transport, version), { base: url, name })
    const arrived = context.scripted ? (await context.control.receipts(name)).length : 1
    const isReached = arrived > 0 && (context.scripted ? exchange.status === 200 : exchange.status !== 0)
    if (!isReached) {
      problems.push(
      `the interface ${transport} ${version} of the card does not lead to the agent: ${exchange.problem ?? `status ${exchange.status}`}`
      )
    }
  }
  return problems.length === 0 ? null : problems
}

function orderProblem (original: Card, card: Card): Lines {
  const names = (of: Card): string[] => interfacesOf(of).map(({ transport, version }) => `${transport} ${version}`)
  const served = names(card)
  const expected = names(original).filter(name => served.includes(name))
  return served.join() === expected.join()
    ? null
    : ['the order of the interfaces has changed', `  directly: ${expected.join(', ')}`, `  through:  ${served.join(', ')}`]
}

function membersProblem (original: Card, card: Card): Lines {
  const others = (of: Card): Card => Object.fromEntries(Object.entries(of).filter(([name]) => !ADDRESSED.has(name)))
  const rest = (of: Card): Buffer => Buffer.from(JSON.stringify(sorted(others(of))))
  return difference('the card, without its addresses,', rest(original), rest(card))
}

function sorted (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  return isObject(value) ? Object.fromEntries(Object.keys(value).sort().map(key => [key, sorted(value[key])])) : value
}

function signatureProblem (original: Card, card: Card): Lines {
  const unsigned = (of: Card): Card => Object.fromEntries(Object.entries(of).filter(([name]) => name !== 'signatures'))
  const without = (of: Card): string => JSON.stringify(sorted(unsigned(of)))
  const before = own(original, 'signatures')
  const after = own(card, 'signatures')
  const texts = (of: unknown): string[] => (Array.isArray(of) ? of : []).map(signature => JSON.stringify(sorted(signature)))
  const remaining = texts(after).filter(text => texts(before).includes(text))
  return without(original) === without(card) || remaining.length === 0
    ? null
    : ['the card has changed, and keeps a signature of the old content']
}

function validatorProblem ({ direct, through }: CaseRun): Lines {
  const tag = valueOf(through.exchange.headers, 'etag')
  if (tag === null) return ['response header ETag is missing']
  const isChanged = direct !== null && !direct.exchange.body.equals(through.exchange.body)
  return isChanged && valueOf(direct.exchange.headers, 'etag') === tag
    ? ['the card has changed, and keeps the entity tag of the old content']
    : null
}

async function notModifiedProblem ({ through, context }: CaseRun): Promise<Lines> {
  const tag = valueOf(through.exchange.headers, 'etag')
  if (tag === null) return ['response header ETag is missing']
  const { status, body } = await get(context, CARD_PATH, [['If-None-Match', tag]])
  return status === 304 && body.length === 0 ? null : [`a request with If-None-Match gets the status ${status} instead of 304`]
}

async function hostProblem (spoofed: readonly Line[], context: Context): Promise<Lines> {
  const first = await get(context, CARD_PATH, spoofed)
  const second = await get(context, CARD_PATH, [])
  const isPoisoned = second.body.includes(SPOOFED)
  if (isPoisoned) return ['a later client gets a card with the host that another client has sent']
  const isSpoofed = spoofed[0]?.[0] !== 'Host' && first.body.includes(SPOOFED)
  return isSpoofed ? ['the card names a host that the client has sent in a forwarding header'] : null
}

async function privateProblem ({ context }: CaseRun): Promise<Lines> {
  const base = interfaceUrl(context.through, 'rest', '1.0')
  if (base === null) return null
  const request = httpRequest('get_extended_agent_card', 'rest', '1.0')
  const read = async (caller: string): Promise<Exchange> =>
    await sendHttp({ ...request, headers: [...request.headers, ['Authorization', `Bearer ${caller}`]] }, { base, name: context.name() })
  await read('first-caller')
  const second = await read('second-caller')
  const text = second.body.toString('latin1')
  if (text.includes('first-caller')) return ['a caller gets the extended card of another caller']
  return text.includes('second-caller') ? null : [`the extended card of the caller does not arrive: status ${second.status}`]
}

async function sameEverywhere (card: Card, context: Context): Promise<Lines> {
  const old = jsonOf((await get(context, '/.well-known/agent.json', [])).body)
  if (!isObject(old)) return ['/.well-known/agent.json has no card, although the agent serves one']
  const urls = (of: Card): string => interfacesOf(of).map(({ url }) => url).join()
  return urls(old) === urls(card) ? null : ['/.well-known/agent.json names other addresses']
}
