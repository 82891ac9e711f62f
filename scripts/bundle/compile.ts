/**
 * `node --hash-seed=1 dist/scripts/bundle/compile.js SCRIPT` compiles all functions of a script with V8 and writes the code cache. A start
 * calls most of the functions, but the set depends on the speed of the start. A cache of all functions has the same bytes each time
 * (docs/how-to/deploy.md). Measured: a start takes 390 ms of processor time with all functions, and 360 ms with the functions that one
 * start had called. The seed makes V8 put names into the same order each time.
 */
import { writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { cacheOf, readScript, writeCache } from '#bundled.js'

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('usage: compile.js SCRIPT')
setFlagsFromString('--no-lazy')
const script = readScript(file)
// V8 stores its flags in the cache, and accepts the cache only under the same flags. These are the flags of a process that was started
// without flags.
for (const flag of ['--lazy', '--hash-seed=0']) setFlagsFromString(flag)
writeFileSync(cacheOf(file), writeCache(script.createCachedData()))
