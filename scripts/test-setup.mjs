/**
 * Loaded before each test. tap follows every promise and every socket through `async_hooks`, so that it finds the subtest of an error that
 * nobody handles. Without the hooks, such an error ends the process with its stack, and the process fails as well.
 */
import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const idle = { enable: () => idle, disable: () => idle }
asyncHooks.createHook = () => idle
syncBuiltinESMExports()

// The runner fails a process that warns: a MaxListenersExceededWarning, for example, is a leak of the gateway or of a helper.
process.on('warning', ({ name, message, stack }) => {
  if (name === 'ExperimentalWarning' || name === 'DeprecationWarning') return
  process.stdout.write(`\n# process warning: ${name}: ${message}\n${String(stack).replace(/^/gm, '# ')}\n`)
})
