/** Access to the console's own data. */
import { Lost, lost, responded } from './connection.js'

/** A gateway that takes longer does not respond, ms. */
const PATIENCE = 10_000

/** Settings of the gateway that several pages use, as of the last status. */
export const settings = { tryIt: false, traceUrl: null }

/**
 * Fetches data.
 * @param {Record<string, string>} [query]
 */
export async function get (name, query) {
  const search = query === undefined ? '' : `?${new URLSearchParams(query)}`
  return await read(await request(`api/${name}${search}`, { signal: AbortSignal.timeout(PATIENCE) }))
}

/**
 * Sends data, and reads a response in lines while it arrives.
 * @param onLine gets each line, parsed; the last one is the result
 * @param signal stops the call
 * @returns the result
 */
export async function post (name, body, onLine, signal) {
  const response = await request(`api/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' },
    body: JSON.stringify(body),
    signal
  })
  if (response.headers.get('content-type') !== 'application/x-ndjson') return await read(response)
  let result = null
  for await (const line of linesOf(response.body)) {
    const value = JSON.parse(line)
    if (value.error !== undefined) throw new Error(value.error)
    if (value.result !== undefined) result = value.result
    else onLine(value)
  }
  if (result === null) throw new Error('the response of the gateway is not complete')
  return result
}

async function * linesOf (stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop()
    yield * lines
  }
}

/**
 * Begins a session.
 * @param {{user: string, credential: string}} given `user` is empty for an API key or an access token
 */
export async function signIn (given) {
  const response = await session('POST', given)
  if (!response.ok) throw new Error((await response.json()).error ?? `the gateway responded with ${response.status}`)
}

/** Ends the session, and shows the page that signs in. */
export async function signOut () {
  await session('DELETE')
  location.replace(SIGN_IN)
}

const SIGN_IN = 'sign-in.html'

async function session (method, body) {
  return await fetch('api/session', { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

async function request (url, options) {
  let response
  try {
    response = await fetch(url, options)
  } catch (error) {
    // The user has stopped the call. The time limit has another reason, whatever the name of the error.
    if (options.signal.reason?.name === 'AbortError') throw error
    lost()
    throw new Lost('the gateway does not respond')
  }
  return response
}

async function read (response) {
  if (response.status === 401) location.replace(SIGN_IN)
  let value
  try {
    value = await response.json()
  } catch {
    // Not a response of the gateway, but of a proxy in front of it.
    lost()
    throw new Lost(`the gateway does not respond: status ${response.status}`)
  }
  responded()
  if (!response.ok) throw new Error(value.error ?? `the gateway responded with ${response.status}`)
  return value
}

/**
 * Calls `look` repeatedly while the page is visible.
 * @param failed called with an error that the gateway reports; while the gateway does not respond, the page keeps its data
 * @returns a function that stops the calls
 */
export function poll (milliseconds, look, failed) {
  let stopped = false
  let timer = null
  const turn = async () => {
    clearTimeout(timer)
    if (stopped) return
    if (!document.hidden) {
      try {
        await look()
      } catch (error) {
        if (!stopped && !(error instanceof Lost)) failed(error)
      }
    }
    if (!stopped) timer = setTimeout(turn, milliseconds)
  }
  const seen = () => { if (!document.hidden) turn() }
  document.addEventListener('visibilitychange', seen)
  turn()
  return () => {
    stopped = true
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', seen)
  }
}
