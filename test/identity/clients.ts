/** Client certificates: the files of test/fixtures/clients, and calls over TLS with them. */
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { RequestOptions } from 'node:https'
import { join } from 'node:path'
import { JSON_TYPE, MESSAGE, readAnswer, rpcBody, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'

export const CLIENTS = inTests('fixtures/clients')
const SERVER = inTests('fixtures/tls')
const KEY = readFileSync(join(CLIENTS, 'key.pem'))
/** Authority of the listener. */
export const LISTENER_CA = readFileSync(join(SERVER, 'ca.pem'))

export const pemOf = (name: string): Buffer => readFileSync(join(CLIENTS, `${name}.pem`))
export const x509Of = (name: string): X509Certificate => new X509Certificate(pemOf(name))
export const pairOf = (name: string): { cert: Buffer; key: Buffer } => ({ cert: pemOf(name), key: KEY })

/** As in the claim `cnf`. */
export const thumbprintOf = (name: string): string => Buffer.from(x509Of(name).fingerprint256.replaceAll(':', ''), 'hex').toString('base64url')
export const hexOf = (name: string): string => x509Of(name).fingerprint256.replaceAll(':', '').toLowerCase()
/** As the header `Client-Cert`. */
export const clientCertOf = (name: string): string => `:${x509Of(name).raw.toString('base64')}:`

/** Certificate and key of a listener, as keys of `server.tls`. */
export const OWN = `cert: "${join(SERVER, 'right.pem')}", key: "${join(SERVER, 'right.key.pem')}"`

/** Configuration of a listener that asks for certificates of the authority of {@link CLIENTS}. */
export function tlsServer (mode = 'request', more = ''): string {
  return `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, tls: {${OWN}, clientCa: "${join(CLIENTS, 'ca.pem')}", clientCertificate: ${mode}}${more}}`
}

/** Sends a message over TLS. @param client options of the connection, such as a certificate */
export async function askTls (url: string, client: RequestOptions = {}, headers: readonly string[] = []): Promise<Answer> {
  const outgoing = request(`${url}/rpc`, { method: 'POST', ca: LISTENER_CA, agent: false, ...client })
  const all = [...JSON_TYPE, ...V1, ...headers]
  for (let i = 0; i < all.length; i += 2) outgoing.setHeader(all[i] ?? '', all[i + 1] ?? '')
  outgoing.end(rpcBody('SendMessage', { message: MESSAGE }))
  const [response] = await once(outgoing, 'response') as [IncomingMessage]
  return await readAnswer(response)
}
