/** `npm run bench`; see options.ts for its flags. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'
import { notStarted, waitUntilIdle } from './idle.js'
import { HELP, benchOptions, command } from './options.js'
import { nodePrograms } from './nodes.js'
import { render } from './render.js'
import { run } from './run.js'

async function main (args: readonly string[]): Promise<number> {
  const options = benchOptions(args, join(packageRoot(), 'bench'))
  if (options === null) {
    console.log(HELP)
    return 0
  }
  const begin = performance.now()
  const say = (line: string): void => { console.error(`${Math.round((performance.now() - begin) / 1_000)} s  ${line}`) }
  if (options.out !== null && !options.quick) {
    const busy = await waitUntilIdle(say)
    if (busy !== null) {
      console.error(notStarted(busy))
      return 1
    }
  }
  const results = await run({ ...options, nodes: await nodePrograms() }, say)
  console.log(render(results))
  if (options.out !== null) {
    mkdirSync(options.out, { recursive: true })
    writeFileSync(join(options.out, 'results.json'), `${JSON.stringify(results, null, 1)}\n`)
    writeFileSync(join(options.out, 'RESULTS.md'), render(results))
  }
  return results.measured.some(({ rows }) => rows.some(row => row.broken !== undefined && row.party.startsWith('gateway'))) ? 1 : 0
}

await command(main)
