/** A closed loop of gRPC calls by h2load, and one call that checks the response, because h2load does not look at `grpc-status`. */
import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ClosedResult } from './closed.js'

export interface GrpcLoad {
  /** The URL of all calls. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** A message with its prefix. */
  readonly body: Buffer
  readonly connections: number
  /** Calls at once on each connection. */
  readonly streams: number
  readonly seconds: number
}

export async function h2load ({ url, headers, body, connections, streams, seconds }: GrpcLoad, directory: string): Promise<ClosedResult> {
  const file = join(directory, 'h2load.body')
  writeFileSync(file, body)
  try {
    const { stdout } = await promisify(execFile)('h2load', [
      '-t1', `-c${connections}`, `-m${streams}`, `--duration=${Math.round(seconds * 1_000)}ms`, '-d', file,
      ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
      url
    ])
    const [, calls, bad] = /^requests: .* (\d+) succeeded, (\d+) failed/m.exec(stdout) ?? []
    if (bad === undefined) throw new Error(`unexpected output of h2load: ${stdout}`)
    return { calls: Number(calls), bad: Number(bad), seconds }
  } finally {
    rmSync(file)
  }
}

const PATIENCE_MS = 10_000

/** @returns what is wrong with the response to one call, or null */
export async function wrongWithGrpc (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  wanted: Buffer
): Promise<string | null> {
  const { origin, pathname } = new URL(url)
  const session = connect(origin)
  try {
    return await new Promise(resolve => {
      session.on('error', error => { resolve(String(error)) })
      const stream = session.request({ ':method': 'POST', ':path': pathname, ...headers })
      const chunks: Buffer[] = []
      let status: unknown
      let message: unknown
      stream.setTimeout(PATIENCE_MS, () => { resolve('no response') })
      stream.on('response', head => {
        status = head['grpc-status']
        message = head['grpc-message']
      })
      stream.on('trailers', trailers => { status ??= trailers['grpc-status'] })
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('error', error => { resolve(String(error)) })
      stream.on('close', () => {
        const bytes = Buffer.concat(chunks)
        if (status !== '0') resolve(`grpc-status ${String(status)}: ${String(message)}`)
        else resolve(bytes.equals(wanted) ? null : `${bytes.length} bytes came back that are not the ${wanted.length} the agent sent`)
      })
      stream.end(body)
    })
  } finally {
    session.destroy()
  }
}
