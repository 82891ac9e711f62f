/** Tracks the connection to the gateway. While the gateway does not respond, the page says so and marks its data as old. */
import { replace } from './dom.js'
import { clock } from './words.js'

/** The gateway did not respond. Errors that the gateway reports are other errors. */
export class Lost extends Error {}

/** Time of the last response, ms since the epoch; null before the first. */
let last = null

export function responded () {
  last = Date.now()
  document.body.classList.remove('stale')
  banner().hidden = true
}

export function lost () {
  const element = banner()
  if (!element.hidden) return
  document.body.classList.add('stale')
  element.hidden = false
  replace(
    element,
    last === null
      ? 'The gateway does not respond.'
      : `The gateway has not responded since ${clock(last).slice(0, 8)}. Showing the last data received. Retrying.`
  )
}

function banner () {
  return document.getElementById('stale')
}
