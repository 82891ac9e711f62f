/**
 * `health`: checks through the admin listener that a running gateway is alive. The container's HEALTHCHECK uses it, because the container
 * has no shell and no curl.
 */
import { get } from 'node:http'
import type { Output } from './output.js'

const DEFAULT_ADMIN = '127.0.0.1:9901'
const TIMEOUT_MS = 2_000

/**
 * Runs the command.
 * @returns 0 when `/livez` responds with 200, 2 for an address that is none, else 1
 */
export async function runHealth (args: { readonly admin: string | undefined }, io: Output): Promise<number> {
  const admin = args.admin === undefined || args.admin === '' ? DEFAULT_ADMIN : args.admin
  const url = `http://${admin.replace(/^(?:0\.0\.0\.0|\[::\])?:/, '127.0.0.1:')}/livez`
  if (!URL.canParse(url)) {
    io.err(`a2a-gateway health: "${admin}" is not HOST:PORT`)
    return 2
  }
  return await new Promise<number>(resolve => {
    const fail = (why: string): void => {
      io.err(`a2a-gateway health: ${url}: ${why}`)
      resolve(1)
    }
    const request = get(url, { timeout: TIMEOUT_MS, agent: false }, response => {
      response.resume()
      if (response.statusCode !== 200) return fail(`responded with ${response.statusCode ?? 'nothing'}`)
      io.out('live')
      resolve(0)
    })
    request.on('timeout', () => { request.destroy(new Error(`no response within ${TIMEOUT_MS} ms`)) })
    request.on('error', (error: NodeJS.ErrnoException) => {
      fail(error.code === 'ECONNREFUSED' ? "nothing listens there; set the gateway's admin listener with --admin HOST:PORT" : error.message)
    })
  })
}
