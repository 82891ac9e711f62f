/** Formats numbers and times for readers. */
const NUMBER = new Intl.NumberFormat('en')

export function count (value) {
  return NUMBER.format(value)
}

/** Formats a number with its noun, such as `1 call` and `2 calls`. */
export function counted (value, noun, plural = `${noun}s`) {
  return `${count(value)} ${value === 1 ? noun : plural}`
}

export function share (part, whole) {
  return whole === 0 ? '–' : `${(100 * part / whole).toFixed(part === 0 || part / whole >= 0.1 ? 0 : 1)} %`
}

/** Name of a binding as people write it. */
export function bindingName (binding) {
  return BINDINGS[binding] ?? binding
}

const BINDINGS = { JSONRPC: 'JSON-RPC', GRPC: 'gRPC' }

export function age (seconds) {
  if (seconds === null || seconds === undefined) return 'never read'
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`
  return seconds < 129600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`
}

export function clock (at) {
  const date = new Date(at)
  return `${date.toLocaleTimeString('en-GB')}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** @param value seconds */
export function duration (value) {
  if (value === 0) return '0'
  if (value < 0.001) return `${short(value * 1e6)} µs`
  return value < 1 ? `${short(value * 1e3)} ms` : `${short(value)} s`
}

export function short (value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1).replace(/\.0$/, '') : value.toFixed(2).replace(/\.?0+$/, '')
}

const SIGNATURES = {
  verified: 'verified',
  partial: 'verified in part',
  unsigned: 'none',
  invalid: 'not valid',
  unknown_key: 'no configured key matches',
  unavailable: 'not verified, because the keys cannot be fetched'
}

/** @param signature result of `card.verify` */
export function signatureWords ({ outcome, form, key }) {
  return SIGNATURES[outcome] + (form === null ? '' : `, form ${form}`) + (key === null ? '' : `, key ${key}`)
}

export const OUTCOMES = {
  forwarded: 'forwarded',
  observed: 'observed',
  edited: 'edited',
  agent_error: 'error response',
  rejected: 'rejected',
  client_aborted: 'client disconnected',
  upstream_error: 'agent failed',
  gateway_error: 'gateway error'
}
