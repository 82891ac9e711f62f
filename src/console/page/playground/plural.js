import { count } from '../words.js'

/** A number and its noun: `1 request`, `1,200 requests`. */
export function counted (number, noun) {
  return `${count(number)} ${number === 1 ? noun : `${noun}s`}`
}
