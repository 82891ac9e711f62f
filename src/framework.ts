/** Fastify, for both listeners. */
import { createRequire } from 'node:module'
import type * as Fastify from 'fastify'
import type { FastifyServerOptions } from 'fastify'

// Required: to import a CommonJS package Node 20 first reads it for names (measured: 130 of 380 ms of processor time for all of ours; fastify alone 33).
export const { fastify, LogController } = createRequire(import.meta.url)('fastify') as typeof Fastify

const none = (): never => { throw new Error('no route of this gateway has a schema') }

/** No route has a schema; otherwise Fastify loads an Ajv and a maker of serializers for the first that might (measured: 40 ms of processor time). */
export const NO_SCHEMAS = { compilersFactory: { buildValidator: none, buildSerializer: none } } as const satisfies FastifyServerOptions['schemaController']
