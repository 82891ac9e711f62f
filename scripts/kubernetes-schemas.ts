/**
 * `node dist/scripts/kubernetes-schemas.js` writes test/fixtures/kubernetes/schemas.json. The file contains the kinds that deploy/ uses,
 * from the official schemas of Kubernetes, of the Prometheus operator and of the Gateway API. The schemas come from Go modules, and the Go
 * toolchain verifies their checksums. The script therefore needs `go` and the network. The schemas reject fields that they do not name, as
 * `kubectl --validate=strict` does.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

export const FILE = 'test/fixtures/kubernetes/schemas.json'

/** The oldest version that the manifests support, and a recent version. */
const KUBERNETES = { '1.30': 'v1.30.14', 1.36: 'v1.36.3' }
const KINDS: Readonly<Record<string, readonly string[]>> = {
  api__v1: ['Namespace', 'ServiceAccount', 'ConfigMap', 'Service', 'Pod'],
  apis__apps__v1: ['Deployment'],
  apis__policy__v1: ['PodDisruptionBudget'],
  apis__autoscaling__v2: ['HorizontalPodAutoscaler'],
  'apis__networking.k8s.io__v1': ['NetworkPolicy', 'Ingress']
}
const CUSTOM = [
  [
    'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml'
  ],
  [
    'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml'
  ],
  ['sigs.k8s.io/gateway-api@v1.4.1', 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  ['sigs.k8s.io/gateway-api@v1.4.1', 'config/crd/standard/gateway.networking.k8s.io_grpcroutes.yaml'],
  ['sigs.k8s.io/gateway-api@v1.4.1', 'config/crd/standard/gateway.networking.k8s.io_referencegrants.yaml']
] as const

export type Schema = { readonly [key: string]: unknown }

/** Schemas of one version of Kubernetes: `kinds` maps `apiVersion Kind` to a name in `schemas`. */
export interface Schemas { readonly kinds: Record<string, string>, readonly schemas: Record<string, Schema> }

export const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'
/** Keywords that have no effect on validation. */
const WORDS = new Set(['description', 'default', 'example', 'externalDocs'])
/** Keywords whose members are names of properties, not keywords. */
const NAMES = new Set(['properties', 'patternProperties'])

/** Converts a schema of OpenAPI 3 to a JSON Schema that rejects members that the schema does not name. */
export function closed (schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const given = schema as Schema
  if (given['x-kubernetes-int-or-string'] === true || given.format === 'int-or-string') return { type: ['integer', 'string'] }
  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(given)) {
    if (WORDS.has(key) || key.startsWith('x-kubernetes-') || key === 'format') continue
    if (key === '$ref') out.$ref = `#/schemas/${(value as string).split('/').at(-1) as string}`
    else if (NAMES.has(key)) out[key] = Object.fromEntries(Object.entries(value as Schema).map(([name, one]) => [name, closed(one)]))
    else out[key] = key === 'enum' || key === 'required' ? value : closed(value)
  }
  const open = given.additionalProperties !== undefined || given['x-kubernetes-preserve-unknown-fields'] === true
  if (given.properties !== undefined && given.type === 'object' && !open) out.additionalProperties = false
  return out
}

/** @returns the folder of a Go module, whose checksum the Go toolchain has verified */
export function moduleFolder (module: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'module-'))
  try {
    return (JSON.parse(execFileSync('go', ['mod', 'download', '-json', module], { cwd: folder, encoding: 'utf8' })) as { Dir: string }).Dir
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function schemasOf (release: string): Schemas {
  const folder = join(moduleFolder(`k8s.io/kubernetes@${release}`), 'api/openapi-spec/v3')
  const all: Record<string, Schema> = {}
  const kinds: Record<string, string> = {}
  for (const [group, names] of Object.entries(KINDS)) {
    const { components } = JSON.parse(readFileSync(join(folder, `${group}_openapi.json`), 'utf8')) as {
      components: { schemas: Record<string, Schema> }
    }
    Object.assign(all, components.schemas)
    const version = group.split('__').slice(1).join('/')
    for (const name of names) {
      kinds[`${version} ${name}`] = Object.keys(components.schemas).find(one =>
        one.endsWith(`.${version.split('/').at(-1) as string}.${name}`)
      ) as string
    }
  }
  const schemas: Record<string, Schema> = {}
  const take = (name: string): void => {
    if (name in schemas) return
    const schema = closed(all[name]) as Schema
    schemas[name] = schema
    for (const [, ref] of JSON.stringify(schema).matchAll(/"#\/schemas\/([^"]+)"/g)) take(ref as string)
  }
  for (const name of Object.values(kinds)) take(name)
  for (const [module, path] of CUSTOM) {
    const { spec } = parse(readFileSync(join(moduleFolder(module), path), 'utf8')) as {
      spec: { group: string; names: { kind: string }; versions: { name: string; schema: { openAPIV3Schema: Schema } }[] }
    }
    for (const { name, schema } of spec.versions.filter(one => one.name === 'v1' || spec.versions.length === 1)) {
      const kind = `${spec.group}/${name} ${spec.names.kind}`
      const whole = closed(schema.openAPIV3Schema) as { properties: Record<string, unknown> }
      schemas[kind] = { ...whole, properties: { ...whole.properties, metadata: { $ref: `#/schemas/${META}` } } }
      kinds[kind] = kind
    }
  }
  return { kinds, schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => a < b ? -1 : 1)) }
}

/** The whole text of the file. */
export function schemasText (): string {
  return JSON.stringify(Object.fromEntries(Object.entries(KUBERNETES).map(([version, release]) => [version, schemasOf(release)]))) + '\n'
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  mkdirSync(dirname(FILE), { recursive: true })
  writeFileSync(FILE, schemasText())
}
