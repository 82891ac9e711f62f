import { setFlagsFromString } from 'node:v8'

/**
 * What V8 runs a gateway with; before its code is loaded, because what V8 has kept of code (bundled.ts) is only good for the flags that it was made
 * under.
 */
export function setEngineFlags (): void {
  // V8 takes what lives through one collection of a busy start for long-lived and puts its like straight into old space, whence each keeps alive what it
  // points to: collections then copy a third of what a request made (measured at 400 B: 280 us of CPU a call, 230 so).
  setFlagsFromString('--no-allocation-site-pretenuring')
  // A full collection takes the bodies that are under way for long-lived, and is followed by the next as soon as the heap has grown by a little: often
  // these bodies alone are that little (measured at 1 MB: 7 full collections a second and 4.0 ms of CPU a call, next to none and 2.6 so).
  setFlagsFromString('--heap-growing-percent=200')
}
