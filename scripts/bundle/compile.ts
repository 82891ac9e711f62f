/**
 * `node --hash-seed=1 dist/scripts/bundle/compile.js SCRIPT` has V8 compile all of a script and writes what it makes of it. All: functions that a start
 * calls are most of them, and which those are depends on how fast it is, while this gives the same bytes each time (docs/deploying.md; measured: 390 ms
 * of processor time for a start with everything, 360 with what one start had called). The seed has V8 put names into the same order.
 */
import { writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { cacheOf, readScript, writeCache } from '../../src/bundled.js'

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('usage: compile.js SCRIPT')
setFlagsFromString('--no-lazy')
const script = readScript(file)
// V8 keeps the flags beside it, and takes it under the same ones only: those of a process that was given none.
for (const flag of ['--lazy', '--hash-seed=0']) setFlagsFromString(flag)
writeFileSync(cacheOf(file), writeCache(script.createCachedData()))
