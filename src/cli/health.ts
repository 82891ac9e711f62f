/**
 * `health`: checks through the admin listener that a running gateway is alive. The container's HEALTHCHECK uses it, because the container
 * has no shell and no curl.
 */
import { get } from 'node:http'
import type { Output } from './output.js'
import { JSON_FORMAT } from './output.js'
import { failureAsJson, reportFailure, usageProblem } from './reports/failure.js'
import { parseUrl } from '#wire/url.js'
import { withCode } from '#operator-errors.js'

const DEFAULT_ADMIN = '127.0.0.1:9901'
const CODE = 'A2AGW_ERR_NOT_ALIVE'
const TIMEOUT_MS = 2_000
/** `host:port`, `:port` or `[::1]:port`. */
const ADDRESS = /^(?:[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]):\d{1,5}$/

export interface HealthArguments { readonly admin: string | undefined, readonly json: boolean }

/**
 * Runs the command.
 * @returns 0 when `/livez` responds with 200, 2 for an address that is none, else 1
 */
export async function runHealth ({ admin: named, json }: HealthArguments, io: Output): Promise<number> {
  const admin = named === undefined || named === '' ? DEFAULT_ADMIN : named
  const url = `http://${admin.replace(/^(?:0\.0\.0\.0|\[::\])?:/, '127.0.0.1:')}/livez`
  if (!ADDRESS.test(admin) || parseUrl(url) === null) {
    reportFailure('health', [usageProblem(`"${admin}" is not HOST:PORT, such as ${DEFAULT_ADMIN}`)], json, io)
    return 2
  }
  return await new Promise<number>(resolve => {
    const fail = (why: string): void => {
      if (json) io.out(failureAsJson([{ file: url, line: 0, col: 0, message: why, code: CODE }], { url }))
      else io.err(withCode(`a2a-gateway health: ${url}: ${why}`, CODE))
      resolve(1)
    }
    const request = get(url, { timeout: TIMEOUT_MS, agent: false }, response => {
      response.resume()
      if (response.statusCode !== 200) return fail(`responded with ${response.statusCode ?? 'nothing'}`)
      io.out(json ? JSON.stringify({ format: JSON_FORMAT, ok: true, url }) : 'live')
      resolve(0)
    })
    request.on('timeout', () => { request.destroy(new Error(`no response within ${TIMEOUT_MS} ms`)) })
    request.on('error', (error: NodeJS.ErrnoException) => {
      fail(error.code === 'ECONNREFUSED' ? "nothing listens there; set the gateway's admin listener with --admin HOST:PORT" : error.message)
    })
  })
}
