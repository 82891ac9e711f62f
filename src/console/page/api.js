/** Access to the console's own data. */

/**
 * Fetches data.
 * @param {Record<string, string>} [query]
 */
export async function get (name, query) {
  const search = query === undefined ? '' : `?${new URLSearchParams(query)}`
  return await read(await fetch(`api/${name}${search}`))
}

export async function post (name, body) {
  return await read(
    await fetch(`api/${name}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  )
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

async function read (response) {
  if (response.status === 401) location.replace(SIGN_IN)
  const value = await response.json()
  if (!response.ok) throw new Error(value.error ?? `the gateway responded with ${response.status}`)
  return value
}

/**
 * Calls `look` repeatedly while the page is visible.
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
        if (!stopped) failed(error)
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
