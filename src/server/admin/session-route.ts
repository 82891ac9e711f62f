/** `/console/api/session`: a browser signs in with POST and signs out with DELETE. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { HEADERS, writeProblem } from '#console/guard.js'
import { parseJson } from '#wire/json/parse-json.js'
import type { AdminAccess, SignIn } from './access.js'

/** Largest body of a sign-in, bytes. Access tokens have at most 8 KiB. */
const BODY = 16 * 1024

/**
 * @param path below which the cookie is valid: the prefix of the admin routes, or `/`
 */
export async function serveSession (access: AdminAccess, request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
  for (const [name, value] of HEADERS) response.setHeader(name, value)
  const send = (status: number, headers: Record<string, string | string[]>, body: object | null): void => {
    if (!request.complete) response.setHeader('connection', 'close')
    response.writeHead(status, { ...headers, ...(body === null ? {} : { 'content-type': 'application/json; charset=utf-8' }) })
    response.end(body === null ? undefined : JSON.stringify(body))
  }
  if (request.method !== 'POST' && request.method !== 'DELETE') return send(405, { allow: 'POST, DELETE' }, { error: 'use POST or DELETE' })
  const foreign = writeProblem(request.headers)
  if (foreign !== null) return send(foreign.status, {}, { error: foreign.error })
  if (request.method === 'DELETE') return send(204, { 'set-cookie': access.signOut(request, path) }, null)
  const text = await bodyOf(request)
  if (text === null) return send(413, {}, { error: `the body is larger than ${BODY} bytes` })
  const given = readSignIn(text)
  if (given === null) return send(400, {}, { error: 'send {"credential": "…"}, with "user" for Basic credentials' })
  const result = await access.signIn(given, request, path)
  if ('cookie' in result) return send(204, { 'set-cookie': result.cookie }, null)
  // A challenge would open the browser's own dialog over the page.
  const { 'www-authenticate': _, ...headers } = result.headers
  send(result.status, headers, { error: result.error })
}

async function bodyOf (request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > BODY) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** A credential has no control characters: it becomes the value of a header. */
function readSignIn (text: string): SignIn | null {
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    return null
  }
  const { user = '', credential } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  if (typeof user !== 'string' || typeof credential !== 'string' || credential === '') return null
  return /\p{Cc}/u.test(user + credential) ? null : { user, credential: credential.trim() }
}
