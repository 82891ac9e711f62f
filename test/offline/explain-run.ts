/** `a2a-gateway explain`, in the process of the test. */
import type { ExplainArguments } from '#cli/explain.js'
import { runExplain } from '#cli/explain.js'

export interface ExplainRun { readonly code: number, readonly out: string, readonly err: string }

/** @param args those that are not given have the values of the command line without flags */
export async function runExplainWith (args: Partial<ExplainArguments>): Promise<ExplainRun> {
  let [out, err] = ['', '']
  const code = await runExplain(
    {
      recordings: [],
      config: null,
      card: null,
      upstream: undefined,
      agent: null,
      caller: null,
      headers: [],
      request: null,
      response: null,
      json: false,
      env: {},
      ...args
    },
    { out: text => { out += text }, err: text => { err += text } }
  )
  return { code, out, err }
}
