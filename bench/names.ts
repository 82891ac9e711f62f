/** Names of works and rows that goals name. The file imports nothing, because the build renders the page without the cases. */
export const COLD_CALLS = 2_000
export const WARMING_CALLS = 24_000
/** Streams that are open at once. */
export const STREAMS = 2_000

const inWords = (count: number): string => count.toLocaleString('en-US')

export const COLD = `first ${inWords(COLD_CALLS)} calls`
export const WARM = `after ${inWords(WARMING_CALLS)} more`
/** Row of the case `core`. */
export const CORE_OLDEST = 'gateway, oldest Node'
export const ALONE = 'no streams'
export const WITH_STREAMS = `${inWords(STREAMS)} streams open`
export const ANONYMOUS = 'without identity'
export const REMEMBERED = 'a token that is remembered'
/** Work of the case `identity`. */
export const FORGED = '400 B beside forged tokens'
export const QUIET = 'no forged tokens'
export const FLOODED = 'a flood of forged tokens'
export const UNREAD = 'responses not read (responses: off)'
export const OBSERVED = 'object schemas observed'
/** Works of the case `grpc`. */
export const GRPC_UNARY = '400 B'
export const GRPC_EVENTS = '100 events'
/** Its parties in addition to the gateway. */
export const HTTP2_PROXY = 'node-http2-proxy'
export const GRPC_JS_PROXY = 'grpc-js-proxy'
/** Parties of the case `mesh` in addition to the gateway. */
export const ENVOY_ALONE = 'envoy, forwarding only'
export const ENVOY_AND_GATEWAY = 'envoy in front of the gateway'
export const ENVOY_AUTHZ = 'envoy, ext_authz'
export const ENVOY_PROC_REQUESTS = 'envoy, ext_proc of requests'
export const ENVOY_PROC = 'envoy, ext_proc'
