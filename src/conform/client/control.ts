/** The runner's side of the scripted agent: gives scripts, and reads what arrived. */
import { request } from 'node:http'
import { parseJson } from '#wire/json/parse-json.js'
import type { Receipt, Script } from '../model.js'

/** The scripted agent at an address that no proxy is in front of. */
export class AgentControl {
  readonly #base: string

  /** @param direct URL of the agent */
  constructor (direct: string) {
    this.#base = new URL(direct).origin
  }

  /** True when the agent is the scripted one. */
  async isScripted (): Promise<boolean> {
    try {
      return Array.isArray(await this.#ask('GET', 'receipts/conform-call-00000000'))
    } catch {
      return false
    }
  }

  async script (name: string, script: Script): Promise<void> {
    await this.#ask('POST', `script/${name}`, JSON.stringify(script))
  }

  async release (name: string, piece: number): Promise<void> {
    await this.#ask('POST', `release/${name}/${piece}`, '')
  }

  async receipts (name: string): Promise<readonly Receipt[]> {
    return await this.#ask('GET', `receipts/${name}`) as readonly Receipt[]
  }

  /** Addresses of traps that somebody has requested for the call. */
  async traps (name: string): Promise<readonly string[]> {
    return await this.#ask('GET', `traps/${name}`) as readonly string[]
  }

  /** Waits until one receipt fulfils the condition. @returns false after the time, in ms */
  async until (name: string, condition: (receipt: Receipt) => boolean, time: number): Promise<boolean> {
    for (const end = Date.now() + time; ; await new Promise(resolve => setTimeout(resolve, 20))) {
      if ((await this.receipts(name)).some(condition)) return true
      if (Date.now() > end) return false
    }
  }

  async #ask (method: string, what: string, body?: string): Promise<unknown> {
    return await new Promise((resolve, reject) => {
      const sent = request(`${this.#base}/.conform/${what}`, { method, agent: false, timeout: 5_000 }, response => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => { chunks.push(chunk) })
        response.on('error', reject)
        response.on('end', () => {
          if (response.statusCode !== 200) return reject(new Error(`the agent responds with status ${response.statusCode ?? 0}`))
          try {
            resolve(parseJson(Buffer.concat(chunks)))
          } catch (error) {
            reject(error instanceof Error ? error : new Error('the agent sends no JSON'))
          }
        })
      })
      sent.on('error', reject)
      sent.on('timeout', () => sent.destroy(new Error('the agent does not respond')))
      sent.end(body)
    })
  }
}
