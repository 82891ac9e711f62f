/** Sends one call to a party and checks that the agent got every byte of the request and the client every byte of the response. */
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { ANSWER, EVENT, responseTo } from '../agent/calls.js'

/** @returns a description of the fault, or null */
export async function wrongWith (url: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<string | null> {
  const stream = /^(?:burst|paced) (\d+)$/.exec(headers['bench-stream'] ?? '')
  const response = headers['bench-response']
  const plain = response === undefined ? ANSWER : responseTo(response)
  const wanted = stream === null ? plain : Buffer.concat(Array.from({ length: Number(stream[1]) }, () => EVENT))
  const { status, bytes, digest } = await ask(url, { ...headers, ...(stream === null ? { 'bench-digest': 'yes' } : {}) }, body)
  if (status !== 200) return `status ${status}: ${bytes.toString('utf8', 0, 200)}`
  if (stream === null && digest !== createHash('sha256').update(body).digest('hex')) return 'the agent got another body, or no request'
  if (!bytes.equals(wanted)) {
    return `${bytes.length} bytes came back that are not the ${wanted.length} the agent sent: ${bytes.toString('utf8', 0, 200)}`
  }
  return null
}

async function ask (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer
): Promise<{ status: number; bytes: Buffer; digest: string }> {
  return await new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { method: 'POST', agent: false, headers: { ...headers, 'content-length': String(body.length) } },
      response => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, bytes: Buffer.concat(chunks), digest: String(response.headers['bench-digest']) })
        })
      }
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
