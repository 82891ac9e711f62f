/**
 * A Fastify application with the gateway behind its own hooks: API keys, CORS and rate limits.
 *
 *     npm run build && node dist/examples/fastify-application.js
 */
import cors from '@fastify/cors'
import rateLimit from '@fastify/rate-limit'
import { fastify } from 'fastify'
import type { FastifyInstance } from 'fastify'
import { a2aGateway, a2aGatewayAdmin } from 'a2a-extension-gateway'

export interface Options {
  /** Path of the configuration, or the configuration as an object. */
  readonly config: string | Record<string, unknown>
  /** Keys that clients may send as `Authorization: Bearer KEY`. */
  readonly clients: ReadonlySet<string>
  /** Keys of operators, for metrics and the console below `/gateway`. */
  readonly operators: ReadonlySet<string>
}

export async function application ({ config, clients, operators }: Options): Promise<FastifyInstance> {
  const app: FastifyInstance = fastify()
  await app.register(cors, { origin: ['https://app.example.com'] })
  await app.register(rateLimit, { max: 1_000, timeWindow: '1 minute' })

  const bearer = (header: string | undefined): string => header?.replace(/^Bearer /i, '') ?? ''

  // All agents of the configuration, at their paths.
  await app.register(async agents => {
    agents.addHook('onRequest', async (request, reply) => {
      if (!clients.has(bearer(request.headers.authorization))) {
        return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'send a key of yours as Authorization: Bearer KEY' })
      }
    })
    await agents.register(a2aGateway, { config })
  })

  // Probes, metrics, /agents and the console, below /gateway.
  await app.register(async admin => {
    admin.addHook('onRequest', async (request, reply) => {
      if (!operators.has(bearer(request.headers.authorization))) {
        return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'operators only' })
      }
    })
    await admin.register(a2aGatewayAdmin)
  }, { prefix: '/gateway' })

  // Any other route of the application.
  app.get('/health', async () => ({ status: 'ok' }))
  return app
}

if (process.argv[1] !== undefined && import.meta.filename === process.argv[1]) {
  const { CLIENT_KEY = 'client', OPERATOR_KEY = 'operator', CONFIG = 'config/gateway.yaml' } = process.env
  const app = await application({ config: CONFIG, clients: new Set([CLIENT_KEY]), operators: new Set([OPERATOR_KEY]) })
  console.log(`listening on ${await app.listen({ port: 3000 })}`)
}
