/** A token endpoint that records what it is asked for, and that can misbehave. */
import { once } from 'node:events'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface TokenCall {
  readonly form: URLSearchParams
  readonly headers: IncomingHttpHeaders
}

export interface TokenEndpoint {
  readonly url: string
  /** Every request, in their order. */
  readonly calls: TokenCall[]
  /** Responds to a request. Default: a token named by the number of the request, for 5 minutes. */
  answer: (call: TokenCall, response: ServerResponse) => void
  stop (): Promise<void>
  restart (): Promise<void>
}

export const sendJson = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

export async function tokenEndpoint (t: Test): Promise<TokenEndpoint> {
  const server = createServer((request, response) => {
    text(request).then(body => {
      const call = { form: new URLSearchParams(body), headers: request.headers }
      endpoint.calls.push(call)
      endpoint.answer(call, response)
    }, () => {})
  })
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const port = await listen(0)
  const endpoint: TokenEndpoint = {
    url: `http://127.0.0.1:${port}/token`,
    calls: [],
    answer: (_call, response) => { sendJson(response, { access_token: `token-${endpoint.calls.length}`, token_type: 'Bearer', expires_in: 300 }) },
    stop: async () => {
      server.closeAllConnections()
      await new Promise(resolve => { server.close(resolve) })
    },
    restart: async () => { await listen(port) }
  }
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return endpoint
}
