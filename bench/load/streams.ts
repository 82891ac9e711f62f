/** Opens many streams at once and holds each stream open after its first event. */
import { request } from 'node:http'
import type { ClientRequest } from 'node:http'

export interface HeldStreams {
  close (): Promise<void>
}

/** Streams that are opened at the same time. A larger number would overflow the backlog of a listener. */
const AT_ONCE = 50

/** @returns when every stream has delivered `firstEvent`; throws when a stream does not */
export async function holdStreams (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  count: number,
  firstEvent: Buffer
): Promise<HeldStreams> {
  const open: ClientRequest[] = []
  for (let from = 0; from < count; from += AT_ONCE) {
    open.push(...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - from) }, () => hold(url, headers, body, firstEvent)))))
  }
  return {
    close: async () => {
      await Promise.all(
        open.map(
          one =>
            new Promise(resolve => {
              one.on('close', resolve)
              one.destroy()
            })
        )
      )
    }
  }
}

async function hold (url: string, headers: Readonly<Record<string, string>>, body: Buffer, firstEvent: Buffer): Promise<ClientRequest> {
  return await new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { method: 'POST', agent: false, headers: { ...headers, 'content-length': String(body.length) } },
      response => {
        let received = Buffer.alloc(0)
        response.on('error', () => {})
        response.on('data', (chunk: Buffer) => {
          received = Buffer.concat([received, chunk])
          if (response.statusCode !== 200 || !firstEvent.subarray(0, received.length).equals(received)) {
            reject(new Error(`a stream of status ${response.statusCode ?? 0} has unexpected content`))
          }
          if (received.length === firstEvent.length) resolve(outgoing)
        })
        response.on('end', () => {
          reject(new Error(`a stream of status ${response.statusCode ?? 0} ends`))
        })
      }
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
