/**
 * The checks that an operator would write for this one agent in njs, the JavaScript of nginx: the request declares the required extension,
 * the body is JSON, and the first DataPart that names the schema conforms to it. The script supports neither the card nor other bindings.
 * `internalRedirect` keeps the original body.
 */
import { DATA_TYPE, REQUIRED } from '../agent/card.js'

export const NJS = `
function asked (value) {
  return value !== undefined && value.split(',').some(function (uri) { return uri.trim() === '${REQUIRED}' })
}

function valid (data) {
  if (typeof data !== 'object' || data === null || !Array.isArray(data.items)) return false
  for (var key in data) if (key !== 'items') return false
  return data.items.every(function (item) {
    if (typeof item !== 'object' || item === null) return false
    if (typeof item.sku !== 'string' || item.sku.length < 1) return false
    if (!Number.isInteger(item.quantity) || item.quantity < 1) return false
    if (item.note !== undefined && typeof item.note !== 'string') return false
    for (var key in item) if (key !== 'sku' && key !== 'quantity' && key !== 'note') return false
    return true
  })
}

function refuse (r, code, message) {
  r.headersOut['Content-Type'] = 'application/json'
  r.return(200, JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: code, message: message } }))
}

function request (r) {
  if (r.method !== 'POST') return r.internalRedirect('@agent')
  var call
  try {
    call = JSON.parse(r.requestText)
  } catch (e) {
    return refuse(r, -32700, 'not JSON')
  }
  if (typeof call !== 'object' || call === null) return refuse(r, -32600, 'not a call')
  if (!asked(r.headersIn['a2a-extensions'])) return refuse(r, -32008, 'extension required')
  var parts = call.params && call.params.message && call.params.message.parts
  if (!Array.isArray(parts)) return refuse(r, -32602, 'no parts')
  var named = parts.find(function (part) { return part.data !== undefined && part.mediaType === '${DATA_TYPE}' })
  if (named !== undefined && !valid(named.data)) return refuse(r, -32602, 'data breaks the schema')
  r.internalRedirect('@agent')
}

export default { request }
`
