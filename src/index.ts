/** The package's interface for Fastify applications. The command line is main.ts. */
export type { ErrorCode } from './operator-errors.js'
export type { A2aGatewayAdminOptions } from './server/plugin/admin.js'
export { a2aGatewayAdmin } from './server/plugin/admin.js'
export type { A2aGatewayError, A2aGatewayOptions } from './server/plugin/gateway.js'
export { a2aGateway } from './server/plugin/gateway.js'
