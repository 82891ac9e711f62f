/** Loads Fastify for both listeners. */
import { createRequire } from 'node:module'
import type * as Fastify from 'fastify'
import type { FastifyServerOptions } from 'fastify'

// Loaded with `require`: to import a CommonJS package, Node 20 first reads the package for its export names (measured: 130 of 380 ms of
// processor time for all such packages; 33 ms for fastify alone).
export const { fastify, LogController } = createRequire(import.meta.url)('fastify') as typeof Fastify

const none = (): never => { throw new Error('no route of this gateway has a schema') }

/**
 * Schema compilers that throw. No route has a schema. Without this option, Fastify loads an Ajv and a serializer compiler for the first
 * route that might have one (measured: 40 ms of processor time).
 */
export const NO_SCHEMAS = { compilersFactory: { buildValidator: none, buildSerializer: none } } as const satisfies FastifyServerOptions['schemaController']
