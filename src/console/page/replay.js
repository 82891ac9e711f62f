/**
 * Builds the call of a decision again: its interface, operation and extensions, with the corrections of a rejection. The gateway keeps no
 * data of requests, so the user fills in the data.
 */
import { get } from './api.js'
import { curlOf } from './copy.js'
import { bodyFor } from './try/message.js'

/** The call for the form of *Try it*, by id of the decision. Another page cannot have it: it is not in the address. */
let prepared = null

/** Opens *Try it* with the call. */
export async function replay (entry) {
  const form = await get('form', { name: entry.agent })
  prepared = { id: entry.id, ...callOf(entry, form) }
  location.hash = `#/agents/${encodeURIComponent(entry.agent)}/try?replay=${encodeURIComponent(entry.id)}`
}

/** @returns the call that `replay` has prepared; null after a reload of the page */
export function preparedCall (id) {
  return prepared?.id === id ? prepared : null
}

/** Returns the command that sends the call. */
export async function commandFor (entry) {
  const form = await get('form', { name: entry.agent })
  const call = callOf(entry, form)
  const { version, extensions, body } = call
  if (form.base === null) throw new Error('The gateway has no address that a command could use.')
  const place = call.operation === 'route' ? call.route : { verb: 'POST', path: pathOf(form, call) }
  return curlOf({
    method: place.verb,
    url: form.base + place.path,
    headers: [
      ...hostHeader(form),
      ['Content-Type', 'application/json'],
      ...(version === '1.0' ? [['A2A-Version', '1.0']] : []),
      ...(extensions.length === 0 ? [] : [[version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions', extensions.join(', ')]])
    ],
    body: place.verb === 'GET' ? '' : JSON.stringify(body),
    stream: call.operation === 'stream'
  })
}

/** The gateway may find the agent by a host name that is not in the URL. */
export function hostHeader ({ base, host }) {
  return host === null || new URL(base).hostname === host ? [] : [['Host', host]]
}

function pathOf (form, { binding, version, operation }) {
  const { path, tenant } = form.interfaces.find(one => one.binding === binding && one.version === version)
  if (binding === 'JSONRPC') return path === '' ? '/' : path
  return `${path}${version === '0.3' ? '/v1' : tenant === null ? '' : `/${encodeURIComponent(tenant)}`}/message:${operation}`
}

/** Operations that name a task, by method of JSON-RPC in both versions. */
const OF_TASKS = { GetTask: 'tasks/get', CancelTask: 'tasks/cancel', SubscribeToTask: 'tasks/resubscribe' }

/** @throws Error in words when *Try it* cannot send such a call */
export function callOf (entry, form) {
  const { binding, version, operation } = entry
  if (binding === 'GRPC') throw new Error('The page cannot send calls over gRPC. Use a client of gRPC, or a policy test with the binding GRPC.')
  const extensions = [...new Set([...entry.extensions, ...missingOf(entry)])]
  // An operation has the path below the agent, or below an interface.
  const route = form.routes.find(({ verb, path }) => operation.startsWith(`${verb} /`) && path.endsWith(operation.slice(verb.length + 1)))
  if (route !== undefined) return { binding, version, operation: 'route', route, method: null, extensions, body: outlined(entry, {}) }
  if (!form.interfaces.some(one => one.binding === binding && one.version === version)) {
    throw new Error('The agent no longer has the interface of this call.')
  }
  const common = { binding, version, route: null, extensions }
  const sent = { SendMessage: 'send', SendStreamingMessage: 'stream' }[operation]
  if (sent !== undefined) {
    const empty = { text: '', parts: [], messageMetadata: {}, metadata: {} }
    const body = outlined(entry, bodyFor({ version, binding, operation: sent }, empty))
    const { parts } = (binding === 'JSONRPC' ? body.params : body).message ?? { parts: null }
    if (parts?.length === 0) parts.push(version === '0.3' ? { kind: 'text', text: '<text>' } : { text: '<text>' })
    return { ...common, operation: sent, method: null, body }
  }
  const method = form.methods.find(one => one.name === operation)
  if (binding === 'JSONRPC' && (method !== undefined || Object.hasOwn(OF_TASKS, operation))) {
    const name = method !== undefined || version === '1.0' ? operation : OF_TASKS[operation]
    const params = method === undefined ? { id: entry.taskId ?? '<id of the task>' } : {}
    const body = outlined(entry, { jsonrpc: '2.0', id: 1, method: name, params })
    return { ...common, operation: 'send', method: method?.name ?? null, body }
  }
  throw new Error(`Try it cannot send ${operation} over this binding.`)
}

function missingOf ({ correction }) {
  const header = correction?.headers.find(({ name }) => /^(?:x-)?a2a-extensions$/i.test(name))
  return header === undefined ? [] : header.value.split(',').map(one => one.trim()).filter(one => one !== '')
}

/** Adds the places that a rejection names to a body, each with the expected value in words. */
function outlined ({ correction }, body) {
  return correction === null || correction.body === null ? body : filled(body, correction.body)
}

/** Largest index in a list that is drawn. */
const ITEMS = 50

function filled (value, { list, expected, remove, members }) {
  if (members.length === 0) return remove ? value : `<${expected ?? ''}>`
  if (list) {
    const items = Array.isArray(value) ? [...value] : []
    for (const [name, place] of members) {
      const at = Number(name)
      if (at >= ITEMS) continue
      while (items.length <= at) items.push({})
      items[at] = filled(items[at], place)
    }
    return items
  }
  // Names come from clients: one may be `__proto__`.
  const object = Object.assign(Object.create(null), typeof value === 'object' && value !== null ? value : {})
  for (const [name, place] of members) {
    if (place.remove && place.members.length === 0) delete object[name]
    else object[name] = filled(object[name], place)
  }
  return object
}
