/** Where calls go: the interfaces of the agent, as its card names them, and the addresses of the proxy that lead to the same interfaces. */
import { isObject, own } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import { parseUrl } from '#wire/url.js'
import { sendHttp } from '../client/http-client.js'
import type { Transport, Version } from '../model.js'

export interface Interface { readonly url: string, readonly transport: Transport, readonly version: Version }

export interface Target {
  /** The base URL, without a final slash. The card is below it. */
  readonly base: string
  readonly card: Readonly<Record<string, unknown>> | null
  readonly interfaces: readonly Interface[]
}

/** A problem that keeps the suite from running: exit code 2. */
export class TargetError extends Error {}

export const CARD_PATH = '/.well-known/agent-card.json'
const BINDINGS: Readonly<Record<string, Transport>> = { JSONRPC: 'jsonrpc', 'HTTP+JSON': 'rest', GRPC: 'grpc' }

/** @throws {TargetError} when there is no card */
export async function directTarget (url: string): Promise<Target> {
  const base = baseOf(url, '--direct')
  const { card, problem } = await fetchCard(base)
  if (card === null) throw new TargetError(`--direct ${url}: ${problem}`)
  const interfaces = interfacesOf(card)
  if (interfaces.length === 0) throw new TargetError(`--direct ${url}: the card names no interface with JSONRPC, HTTP+JSON or GRPC`)
  return { base, card, interfaces }
}

/**
 * Finds the way through the proxy to each interface of the agent. An address in the proxy's card counts if it leads to the proxy. Otherwise
 * the path of the agent's address, below the proxy's URL, is used.
 * @param grpc URL of the proxy's gRPC listener, if it is not in the card
 */
export async function proxyTarget (url: string, direct: Target, grpc: string | null): Promise<Target> {
  const base = baseOf(url, '--through')
  const { card } = await fetchCard(base)
  const own = card === null ? [] : interfacesOf(card)
  const proxy = new URL(base)
  const interfaces = direct.interfaces.map((cardInterface): Interface => {
    const { transport, version } = cardInterface
    if (transport === 'grpc' && grpc !== null) return { ...cardInterface, url: baseOf(grpc, '--grpc') }
    const served = own.find(other => other.transport === transport && other.version === version && other.url !== cardInterface.url)
    if (served !== undefined && (transport === 'grpc' || new URL(served.url).host === proxy.host)) return served
    if (transport === 'grpc') return { ...cardInterface, url: proxy.origin }
    const below = new URL(direct.base).pathname.replace(/\/$/, '')
    const path = new URL(cardInterface.url).pathname
    return { ...cardInterface, url: base + (path.startsWith(below) ? path.slice(below.length) : path).replace(/\/$/, '') }
  })
  return { base, card, interfaces }
}

/** The address of an interface, or null. */
export function interfaceUrl (target: Target, transport: Transport, version: Version): string | null {
  if (transport === 'card') return target.base
  return target.interfaces.find(cardInterface => cardInterface.transport === transport && cardInterface.version === version)?.url ?? null
}

/** All interfaces that a card names, each once. gRPC addresses become URLs. */
export function interfacesOf (card: Readonly<Record<string, unknown>>): Interface[] {
  const interfaces: Interface[] = []
  const add = (url: unknown, binding: unknown, version: Version): void => {
    const transport = typeof binding === 'string' ? BINDINGS[binding] : undefined
    if (typeof url !== 'string' || transport === undefined) return
    const full = transport === 'grpc' && !url.includes('://') ? `http://${url}` : url
    if (parseUrl(full) === null || interfaces.some(other => other.transport === transport && other.version === version)) return
    interfaces.push({ url: full.replace(/\/$/, ''), transport, version })
  }
  const list = (name: string): Array<Readonly<Record<string, unknown>>> => {
    const value = own(card, name)
    return Array.isArray(value) ? value.filter(isObject) : []
  }
  for (const entry of list('supportedInterfaces')) {
    const version = String(own(entry, 'protocolVersion') ?? '1.0')
    if (version.startsWith('1.') || version.startsWith('0.3')) {
      add(
        own(entry, 'url'), own(entry, 'protocolBinding'), version.startsWith('1.') ? '1.0' : '0.3'
      )
    }
  }
  const ofRoot = String(own(card, 'protocolVersion') ?? '')
  if (own(card, 'url') !== undefined && !ofRoot.startsWith('1.')) {
    add(own(card, 'url'), own(card, 'preferredTransport') ?? 'JSONRPC', '0.3')
    for (const entry of list('additionalInterfaces')) add(own(entry, 'url'), own(entry, 'transport'), '0.3')
  }
  return interfaces
}

/** URIs of the extensions that a card requires. */
export function requiredOf (card: Readonly<Record<string, unknown>> | null): string[] {
  const capabilities = card === null ? undefined : own(card, 'capabilities')
  const extensions = isObject(capabilities) ? own(capabilities, 'extensions') : undefined
  return (Array.isArray(extensions) ? extensions : []).flatMap(entry =>
    isObject(entry) && own(entry, 'required') === true && typeof own(entry, 'uri') === 'string' ? [own(entry, 'uri') as string] : [])
}

async function fetchCard (base: string): Promise<{ card: Readonly<Record<string, unknown>> | null, problem: string }> {
  const exchange = await sendHttp(
    { kind: 'http', method: 'GET', target: CARD_PATH, headers: [['Accept', 'application/json'], ['Connection', 'close']], body: null },
    { base, name: 'conform-call-00000000' }
  )
  if (exchange.status !== 200) {
    return {
      card: null, problem: exchange.problem ?? `${CARD_PATH} responds with status ${exchange.status}; name the URL below which the card is`
    }
  }
  try {
    const card = parseJson(exchange.body)
    return isObject(card) ? { card, problem: '' } : { card: null, problem: 'the card is not an object' }
  } catch {
    return { card: null, problem: 'the card is not JSON' }
  }
}

function baseOf (text: string, flag: string): string {
  const url = parseUrl(text)
  if (url === null || !/^https?:$/.test(url.protocol)) throw new TargetError(`${flag} ${text}: use a URL such as http://127.0.0.1:8080`)
  return url.origin + url.pathname.replace(/\/$/, '')
}
