/** The schema of the Helm chart's values: the values of the chart itself and, for `config`, the schema of the configuration. */
import { configSchema } from '#config/schema/schema.js'
import { addressed } from './public-address.js'

type Schema = Readonly<Record<string, unknown>>

const text = { type: 'string' }
const flag = { type: 'boolean' }
const count = (minimum: number, maximum?: number): Schema => ({ type: 'integer', minimum, ...(maximum === undefined ? {} : { maximum }) })
const choice = (...values: string[]): Schema => ({ type: 'string', enum: values })
const texts = { type: 'object', additionalProperties: { type: 'string' } }
/** Parts of the Kubernetes API, which the API server validates. */
const parts = { type: 'array', items: { type: 'object' } }
const part = { type: 'object' }
const group = (properties: Schema): Schema => ({ type: 'object', additionalProperties: false, properties })
const name = { type: 'string', pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$', maxLength: 50 }

const PROPERTIES: Schema = {
  image: group({
    repository: { type: 'string', minLength: 1 },
    tag: text,
    digest: { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
    pullPolicy: choice('Always', 'IfNotPresent', 'Never')
  }),
  imagePullSecrets: {
    type: 'array',
    items: { type: 'object', required: ['name'], additionalProperties: false, properties: { name: text } }
  },
  fullnameOverride: name,
  config: { $ref: '#/$defs/gateway' },
  configFiles: {
    type: 'object',
    properties: { 'gateway.yaml': false },
    patternProperties: { '^[-._a-zA-Z0-9]+$': { type: 'string' } },
    additionalProperties: false
  },
  existingConfigMap: text,
  env: { type: 'array', items: { type: 'object', required: ['name'] } },
  envFrom: parts,
  extraVolumes: parts,
  extraVolumeMounts: parts,
  serviceAccount: group({ create: flag, name: text, annotations: texts }),
  rbac: group({ create: flag }),
  podAnnotations: texts,
  podLabels: texts,
  priorityClassName: text,
  nodeSelector: texts,
  tolerations: parts,
  affinity: part,
  topologySpread: flag,
  resources: group({ requests: part, limits: part, claims: parts }),
  readyWith: choice('any', 'all'),
  termination: group({ preStopSeconds: count(1), spareSeconds: count(0) }),
  service: group({ type: choice('ClusterIP', 'NodePort', 'LoadBalancer'), port: count(1, 65535), grpcPort: count(1, 65535), annotations: texts }),
  replicas: count(0),
  autoscaling: group({ enabled: flag, minReplicas: count(1), maxReplicas: count(1), cpu: count(1, 100), scaleDownSeconds: count(0, 3600) }),
  disruptionBudget: group({ enabled: flag, maxUnavailable: { anyOf: [count(1), { type: 'string', pattern: '^[0-9]+%$' }] } }),
  networkPolicy: group({ enabled: flag, clients: parts, prometheus: parts, dns: parts, egress: parts }),
  serviceMonitor: group({ enabled: flag, labels: texts, interval: { type: 'string', pattern: '^[0-9]+(ms|s|m)$' } }),
  prometheusRule: group({ enabled: flag, labels: texts, runbookUrl: { type: 'string', pattern: '^(https?://[^#\\s]+)?$' } }),
  httpRoute: group({
    enabled: flag,
    parentRefs: { type: 'array', items: { type: 'object', required: ['name'] } },
    hostnames: { type: 'array', items: text },
    annotations: texts
  }),
  ingress: group({
    enabled: flag,
    className: text,
    hosts: { type: 'array', items: { type: 'string', minLength: 1 } },
    tls: { type: 'array', items: group({ hosts: { type: 'array', items: text }, secretName: text }) },
    annotations: { type: 'object', additionalProperties: { type: ['string', 'null'] } }
  })
}

/** The same schema, but a number or a boolean may also be a variable, such as `${WORKERS:-2}`. */
function substitutable (schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(substitutable)
  if (typeof schema !== 'object' || schema === null) return schema
  const { type, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === 'examples' || key === 'default' || key === 'const' || key === 'enum' ? value : substitutable(value)
    ])
  )
  if (type !== 'integer' && type !== 'number' && type !== 'boolean') return type === undefined ? rest : { type, ...rest }
  const { description, ...rules } = rest
  return { ...(description === undefined ? {} : { description }), anyOf: [{ type, ...rules }, { type: 'string', pattern: '\\$\\{' }] }
}

export function chartSchema (): string {
  const { $schema, $defs, ...gateway } = configSchema as Schema & { readonly $defs?: Schema }
  const definitions = { gateway: substitutable(gateway), ...substitutable($defs ?? {}) as Schema }
  const enabledNeeds = (name: string, list: string): Schema => ({
    if: { properties: { [name]: { properties: { enabled: { const: true } } } } },
    then: { properties: { [name]: { properties: { [list]: { minItems: 1 } } } } }
  })
  const required = { allOf: [enabledNeeds('httpRoute', 'parentRefs'), enabledNeeds('ingress', 'hosts')] }
  return (
    JSON.stringify(
      {
        $schema,
        title: 'Values of the chart a2a-extension-gateway',
        type: 'object',
        additionalProperties: false,
        properties: { global: part, ...PROPERTIES },
        ...required,
        $defs: definitions
      },
      null,
      1
    ) + '\n'
  )
}

const ALERTS = 'deploy/prometheus/alerts.yaml'
const MADE = `# Generated from ${ALERTS} by "npm run build". Edit that.\n`
const alerts = (): string => addressed(ALERTS)

/** The alerts as a file of the chart, because the chart can read no file outside of its folder. */
export function chartAlerts (): string {
  return MADE + alerts()
}

/** The alerts in the format of the Prometheus operator. */
export function prometheusRule (): string {
  const groups = alerts().split('\n').map(line => line === '' ? line : `  ${line}`).join('\n')
  return `${MADE}apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: a2a-gateway\nspec:\n${groups}`
}
