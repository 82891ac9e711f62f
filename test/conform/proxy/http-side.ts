/** The HTTP side of the faulty proxy: checks the head, forwards the request, and streams the response. */
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { chunkBytes, headBytes, Http1Reader, LAST_CHUNK, valueOf, valuesOf } from '#conform/http1.js'
import type { Head } from '#conform/http1.js'
import type { Line } from '#conform/model.js'
import { cardResponse, CARD_PATHS, withoutAddresses } from './cards.js'
import { missingOf } from './enforce.js'
import type { ProxyState } from './proxy.js'
import { changedEvents, changedRequest, changedRequestLines, changedResponse, changedResponseLines, changedTarget } from './changes.js'

export interface ClientRequest {
  readonly method: string
  readonly target: string
  readonly headers: readonly Line[]
  readonly body: Buffer
  readonly version: string
}

type SendError = (code: number, status: number, name: string, message: string) => void

export function serveClient (socket: Socket, state: ProxyState): void {
  if (!state.has('trusts-framing') && !state.has('opens-tunnels')) return serveRequests(socket, state)
  socket.once('data', (first: Buffer) => {
    const isTunnel = first.toString('latin1', 0, 8) === 'CONNECT '
    if (state.has('opens-tunnels') && !isTunnel) {
      socket.unshift(first)
      return serveRequests(socket, state)
    }
    const { hostname, port } = new URL(state.agent)
    const upstream = connect({ host: hostname, port: Number(port) })
    for (const one of [socket, upstream]) one.on('error', () => { socket.destroy(); upstream.destroy() })
    if (isTunnel) socket.write('HTTP/1.1 200 OK\r\n\r\n')
    upstream.write(isTunnel ? first.subarray(first.indexOf('\r\n\r\n') + 4) : first)
    socket.pipe(upstream).pipe(socket)
  })
}

function serveRequests (socket: Socket, state: ProxyState): void {
  let head: Head | null = null
  let chunks: Buffer[] = []
  let turn = Promise.resolve()
  const invalid = (): void => { socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n') }
  let rejected = false
  const reader = new Http1Reader('request', {
    head: received => {
      head = received
      chunks = []
      if (isInvalid(received, state)) {
        rejected = true
        return invalid()
      }
      if (/100-continue/i.test(valueOf(received.headers, 'expect') ?? '')) socket.write('HTTP/1.1 100 Continue\r\n\r\n')
    },
    data: bytes => { chunks.push(bytes) },
    end: trailers => {
      if (head === null || rejected) return
      const [method = '', target = '', version = ''] = head.start.split(' ')
      const headers = state.has('merges-trailers') ? [...head.headers, ...trailers] : head.headers
      const request = { method, target, version, headers, body: Buffer.concat(chunks) }
      turn = turn.then(async () => await handle(socket, request, state))
      const [, inner] = /^GET (\S+) HTTP/.exec(request.body.toString('latin1')) ?? []
      if (state.has('skips-body-of-get') && inner !== undefined) {
        turn = turn.then(async () => await handle(socket, { ...request, method: 'GET', target: inner, body: Buffer.alloc(0) }, state))
      }
    },
    fault: invalid
  })
  socket.on('data', (chunk: Buffer) => { if (!rejected) reader.feed(chunk) })
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** What RFC 9112 says must be rejected. */
function isInvalid ({ start, headers }: Head, { has }: ProxyState): boolean {
  const names = headers.some(([name, value]) => !TOKEN.test(name) || /[\0\r\n]/.test(value))
  const hosts = valuesOf(headers, 'host').length
  const isBadHead = names || hosts !== 1 || start.startsWith('CONNECT') || !/ HTTP\/1\.[01]$/.test(start)
  if (isBadHead && !has('trusts-heads')) return true
  const lengths = valuesOf(headers, 'content-length')
  const coding = valueOf(headers, 'transfer-encoding')
  const isBadLength = lengths.length > 1 || lengths.some(value => !/^\d+$/.test(value))
  return isBadLength || (coding !== null && (coding.toLowerCase() !== 'chunked' || lengths.length > 0))
}

async function handle (socket: Socket, request: ClientRequest, state: ProxyState): Promise<void> {
  const { has } = state
  const send = (status: number, type: string, body: string | Buffer, more: readonly Line[] = []): void => {
    const bytes = Buffer.from(body)
    socket.write(headBytes(`HTTP/1.1 ${status} Status`, [...more, ...type === '' ? [] : [['Content-Type', type] as const], ...status === 304 ? [] : [['Content-Length', String(bytes.length)] as const]]))
    if (request.method !== 'HEAD') socket.write(bytes)
    if (/close/i.test(valueOf(request.headers, 'connection') ?? '')) socket.end()
  }
  const text = request.body.toString('latin1')
  const id = has('errors-without-id') ? 'null' : /"id":("[^"]*"|\d+)/.exec(text)?.[1] ?? 'null'
  const isRpc = request.target.startsWith('/jsonrpc')
  const error = (code: number, status: number, name: string, message: string): void => isRpc
    ? send(status < 500 ? 200 : status, 'application/json', `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"${message}"}}`)
    : send(status, 'application/json', `{"error":{"code":${status},"status":"${name}","message":"${message}"}}`)
  if (has('answers-html')) return send(502, 'text/html', '<html><body>Bad Gateway</body></html>')
  if (has('limits-bodies') && request.body.length > 65_536) return send(413, 'text/html', '<html>too large</html>')
  if (!has('accepts-versions') && /^99/.test(valueOf(request.headers, 'a2a-version') ?? '')) return error(-32009, 400, 'FAILED_PRECONDITION', 'no such version')
  const carriesMessage = /\/message(?::|%3A)(?:send|stream)$/.test(request.target) || (isRpc && /"method":"(?:Send(?:Streaming)?Message|message\/(?:send|stream))"/.test(text))
  const missing = missingOf(request.headers, state, carriesMessage)
  if (missing !== null) return error(-32008, 400, 'FAILED_PRECONDITION', has('names-nothing') ? 'an extension is missing' : `EXTENSION_SUPPORT_REQUIRED: ${missing.join(', ')}`)
  if (CARD_PATHS.has(request.target.split('?')[0] ?? '')) {
    const { status, headers, body } = await cardResponse(request, state)
    return send(status, status === 304 ? '' : 'application/json', body, headers)
  }
  await forward({ socket, request, error }, state)
}

interface Client { readonly socket: Socket, readonly request: ClientRequest, readonly error: SendError }

/** Sends the request to the agent on a new connection, and its response to the client. */
async function forward (client: Client, state: ProxyState, place: string | null = null): Promise<void> {
  const { socket, request, error } = client
  const tries = place === null ? 0 : 1
  const { has, agent } = state
  const { hostname, port } = new URL(agent)
  const upstream = connect({ host: hostname, port: Number(port), noDelay: true })
  const { body, headers } = changedRequest(request, state)
  upstream.write(Buffer.concat([headBytes(`${request.method} ${place === null || place === '' ? changedTarget(request.target, state) : place} HTTP/1.1`, changedRequestLines(request, headers, body, state)), body]))
  await new Promise<void>(resolve => {
    let begun = false
    let done = false
    let status = 0
    let held: Buffer[] = []
    let framing: 'length' | 'chunked' | 'none' = 'chunked'
    let isStream = false
    let whole = false
    let lines: readonly Line[] = []
    let idle: NodeJS.Timeout | undefined
    const closes = /close/i.test(valueOf(request.headers, 'connection') ?? '') || request.version === 'HTTP/1.0'
    const finish = (): void => {
      if (done) return
      done = true
      clearTimeout(idle)
      upstream.destroy()
      resolve()
    }
    const write = (bytes: Buffer): void => {
      if (bytes.length > 0) socket.write(framing === 'chunked' ? chunkBytes(bytes) : bytes)
    }
    const end = (): void => {
      if (framing === 'chunked') socket.write(LAST_CHUNK)
      if (closes) socket.end()
      finish()
    }
    const again = (where = ''): void => {
      done = true
      upstream.destroy()
      forward(client, state, where).then(resolve, resolve)
    }
    const watch = (): void => {
      clearTimeout(idle)
      if (has('closes-idle-streams') && isStream) idle = setTimeout(end, 900)
    }
    const reader = new Http1Reader('response', {
      head: head => {
        if (done) return
        status = Number(head.start.slice(9, 12))
        if (status < 200) return
        if (has('retries-statuses') && status === 503 && tries === 0) return again()
        const location = valueOf(head.headers, 'location')
        if (has('follows-redirects') && status >= 300 && status < 400 && location !== null && tries === 0) return again(location)
        begun = true
        lines = changedResponseLines(head.headers, state)
        isStream = /event-stream/.test(valueOf(head.headers, 'content-type') ?? '')
        const isPage = /html/.test(valueOf(head.headers, 'content-type') ?? '') && status >= 500
        if (isPage) {
          done = true
          upstream.destroy()
          error(-32603, status, 'UNAVAILABLE', 'the agent has failed')
          return resolve()
        }
        if (has('hides-statuses') && status >= 400) {
          socket.write('HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n')
          return finish()
        }
        const isGzip = has('decodes-bodies') && valueOf(head.headers, 'content-encoding') === 'gzip'
        whole = isGzip || (isStream ? has('buffers-events') || changesEvents(state) : changesBodies(state, request))
        const length = valueOf(head.headers, 'content-length')
        framing = status === 204 || status === 304 || request.method === 'HEAD' ? 'none' : length !== null && !whole ? 'length' : 'chunked'
        if (isGzip) lines = lines.filter(([name]) => name.toLowerCase() !== 'content-encoding')
        const extra: Line[] = framing === 'length' ? [['Content-Length', length ?? '0']] : framing === 'chunked' ? [['Transfer-Encoding', 'chunked']] : []
        socket.write(headBytes(head.start, [...lines, ...extra, ...closes ? [['Connection', 'close'] as const] : []]))
        watch()
      },
      data: bytes => {
        watch()
        if (done) return
        if (whole) held.push(bytes)
        else write(bytes)
      },
      end: () => {
        if (done || status < 200) return
        if (whole) write(isStream ? changedEvents(Buffer.concat(held), state) : extended(request, changedResponse(has('decodes-bodies') ? inflated(Buffer.concat(held)) : Buffer.concat(held), state), state))
        held = []
        end()
      },
      fault: () => broken()
    })
    reader.withoutBody = request.method === 'HEAD'
    const broken = (): void => {
      if (done) return
      if (!begun) {
        if (has('retries-connections') && tries === 0) return again()
        done = true
        clearTimeout(idle)
        if (has('html-errors')) socket.write('HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>')
        else error(-32603, has('hides-failures') ? 200 : 502, 'UNAVAILABLE', 'the agent cannot be reached')
        return resolve()
      }
      if (has('completes-broken')) {
        // What is missing of a length becomes spaces.
        if (framing === 'length') socket.write(' '.repeat(1_000))
        return end()
      }
      socket.resetAndDestroy()
      finish()
    }
    upstream.on('data', (chunk: Buffer) => { reader.feed(chunk) })
    upstream.on('end', () => { if (!reader.finish()) broken() })
    upstream.on('error', broken)
    upstream.on('close', broken)
    socket.once('close', () => { if (!has('ignores-leaving')) finish() })
  })
}

const changesBodies = ({ has }: ProxyState, { target, body }: ClientRequest): boolean =>
  has('rewrites-responses') || has('drops-unknown-members') || /\/(?:extendedAgentCard|card)$/.test(target) || /"method":"(?:GetExtendedAgentCard|agent\/getAuthenticatedExtendedCard)"/.test(body.toString('latin1'))
const changesEvents = ({ has }: ProxyState): boolean => has('loses-comments') || has('loses-fields') || has('normalizes-line-ends') || has('cuts-events') || has('rewrites-responses')

/** An extended card names the addresses of the proxy. */
function extended (request: ClientRequest, body: Buffer, state: ProxyState): Buffer {
  if (!/\/(?:extendedAgentCard|card)$/.test(request.target) && !/getAuthenticatedExtendedCard|GetExtendedAgentCard/.test(request.body.toString('latin1'))) return body
  if (!state.has('stores-extended-cards')) return withoutAddresses(body, state)
  const stored = state.stored.get(`extended ${request.target}`) ?? withoutAddresses(body, state)
  state.stored.set(`extended ${request.target}`, stored)
  return stored
}

function inflated (body: Buffer): Buffer {
  try {
    return gunzipSync(body)
  } catch {
    return body
  }
}
