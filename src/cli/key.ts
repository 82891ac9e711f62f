/** `a2a-gateway key`: makes an API key and its entry in a key file. */
import { hash, randomBytes } from 'node:crypto'
import { isKeyName, timeOf } from '#config/key-file.js'
import type { Output } from './output.js'
import { JSON_FORMAT } from './output.js'
import { reportFailure, usageProblem } from './reports/failure.js'

/** Random bytes of a key: guessing is hopeless, so digests need no salt and no slow hash. */
const BYTES = 32
/** Scanners of repositories find leaked keys by this prefix. */
const PREFIX = 'a2agw_'

export interface KeyArguments {
  readonly id: string | undefined
  readonly client: string | undefined
  readonly expires: string | undefined
  readonly json?: boolean
}

/** @returns exit code: 0, or 2 for wrong arguments */
export function runKey ({ id, client, expires, json = false }: KeyArguments, io: Output): number {
  const wrong = (text: string): number => {
    reportFailure('key', [usageProblem(`${text} (a2a-gateway key --help)`)], json, io)
    return 2
  }
  if (id === undefined) return wrong('--id is required')
  for (const [flag, value] of [['--id', id], ['--client', client]] as const) {
    if (value !== undefined && !isKeyName(value)) return wrong(`${flag} must have from 1 to 256 visible ASCII characters`)
  }
  if (expires !== undefined && timeOf(expires) === null) return wrong('--expires must be a date or time, such as 2027-01-01')
  if (
    expires !== undefined &&
    (timeOf(expires) ?? 0) <= Date.now()
  ) return wrong('--expires must be in the future: the key would never be valid')
  const key = PREFIX + randomBytes(BYTES).toString('base64url')
  const entry = {
    id, sha256: hash('sha256', key), ...(client === undefined ? {} : { client }), ...(expires === undefined ? {} : { expires })
  }
  if (json) {
    io.out(JSON.stringify({ format: JSON_FORMAT, ok: true, key, entry }, null, 2))
    return 0
  }
  io.out(key)
  // JSON is YAML, whatever characters a name has.
  io.out(`- ${JSON.stringify(entry)}`)
  return 0
}
