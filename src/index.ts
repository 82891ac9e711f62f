/** The package's interface for Fastify applications. The command line is main.ts. */
export type { A2aGatewayAdminOptions } from './plugin/admin.js'
export { a2aGatewayAdmin } from './plugin/admin.js'
export type { A2aGatewayOptions } from './plugin/gateway.js'
export { a2aGateway } from './plugin/gateway.js'
