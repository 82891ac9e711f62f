/** Loads Fastify for both listeners. */
import type { FastifyServerOptions } from 'fastify'

export { fastify, LogController } from 'fastify'

const none = (): never => { throw new Error('no route of this gateway has a schema') }

/**
 * Schema compilers that throw. No route has a schema. Without this option, Fastify loads an Ajv and a serializer compiler for the first
 * route that might have one (measured: 40 ms of processor time).
 */
export const NO_SCHEMAS = {
  compilersFactory: { buildValidator: none, buildSerializer: none }
} as const satisfies FastifyServerOptions['schemaController']
