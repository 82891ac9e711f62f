import { randomUUID } from 'node:crypto'
import type { Resource } from '@opentelemetry/resources'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '#vendor/opentelemetry.js'
import type { ExportOptions } from './environment.js'

const SERVICE_NAME = 'a2a-extension-gateway'

/** The sender of spans, metrics and log records. */
export interface Origin {
  readonly resource: Resource
  readonly scope: { readonly name: string, readonly version: string }
}

/**
 * Tells the processes of a service apart: a collector that gets totals of several replicas must not mix them up.
 * https://opentelemetry.io/docs/specs/semconv/registry/attributes/service/
 */
const INSTANCE = randomUUID()

/** Environments whose resource attributes are not valid, and were logged. */
const logged = new WeakSet<NodeJS.ProcessEnv>()

export function originOf (options: ExportOptions): Origin {
  return {
    resource: withEnvironment(options.env, () => resource(options)),
    scope: { name: SERVICE_NAME, version: options.version }
  }
}

/** Merges the SDK's own attributes, then the gateway's name and version, then OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME. */
function resource ({ env, version, log }: ExportOptions): Resource {
  const detected = detectResources({ detectors: [envDetector] })
  const count = Object.keys(detected.attributes).length - (env.OTEL_SERVICE_NAME ? 1 : 0)
  if (count === 0 && env.OTEL_RESOURCE_ATTRIBUTES?.trim() && !logged.has(env)) {
    logged.add(env)
    log.warn(
      {},
      'the gateway ignores OTEL_RESOURCE_ATTRIBUTES, which is not valid: write key=value,key=value, and percent-encode "," and "=" ' +
        'inside keys and values'
    )
  }
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.name': SERVICE_NAME, 'service.version': version, 'service.instance.id': INSTANCE }))
    .merge(detected)
}

/** Replaces `process.env` by `env` while `make` runs. The SDK reads `process.env` in its constructors and offers no other way. */
export function withEnvironment<T> (env: NodeJS.ProcessEnv, make: () => T): T {
  if (env === process.env) return make()
  const own = process.env
  process.env = env
  try {
    return make()
  } finally {
    process.env = own
  }
}
