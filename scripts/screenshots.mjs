/**
 * `npm run docs:screenshots`: takes the pictures of docs/images anew, from the console of a real gateway in a real browser (Chromium). The
 * tests of the console take them, so that each picture shows a state that a test has checked.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const { status } = spawnSync(process.execPath, [join(import.meta.dirname, 'test.mjs'), 'system/console.test', 'system/playground'], {
  stdio: 'inherit',
  env: { ...process.env, CONSOLE_SCREENSHOTS: '1' }
})
process.exitCode = status ?? 1
