/**
 * `node dist/scripts/mesh-schemas.js [FOLDER COMMIT]` writes test/fixtures/kubernetes/mesh.json: the published schemas of the kinds that
 * deploy/envoy-gateway, deploy/istio and deploy/agentgateway use. Those of Envoy Gateway and Istio come from Go modules.
 * github.com/agentgateway/agentgateway is no module: FOLDER is a checkout of COMMIT; without it, its schema stays as it is. Of each schema,
 * the file has only the members of `spec` that the manifests use, and rejects all others.
 */
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import protobufjs from 'protobufjs'
import { parseAllDocuments } from 'yaml'
import { closed, META, moduleFolder } from './kubernetes-schemas.js'
import type { Schema } from './kubernetes-schemas.js'

export const FILE = 'test/fixtures/kubernetes/mesh.json'

const ENVOY_GATEWAY = 'github.com/envoyproxy/gateway@v1.9.1'
const ISTIO = 'istio.io/api@v1.31.4'
const CRDS = 'charts/gateway-crds-helm/templates/generated'

/** Kinds by source: file of the source, `kind`, `apiVersion`, and the members of `spec`. */
const KINDS: readonly (readonly [source: string, file: string, kind: string, version: string, members: readonly string[]])[] = [
  [ENVOY_GATEWAY, `${CRDS}/gateway.envoyproxy.io_securitypolicies.yaml`, 'SecurityPolicy', 'v1alpha1', ['targetRefs', 'extAuth']],
  [ENVOY_GATEWAY, `${CRDS}/gateway.envoyproxy.io_envoyextensionpolicies.yaml`, 'EnvoyExtensionPolicy', 'v1alpha1', ['targetRefs', 'extProc']],
  [
    ENVOY_GATEWAY,
    `${CRDS}/gateway.envoyproxy.io_clienttrafficpolicies.yaml`,
    'ClientTrafficPolicy',
    'v1alpha1',
    ['targetRefs', 'connection', 'path', 'timeout']
  ],
  [ISTIO, 'kubernetes/customresourcedefinitions.gen.yaml', 'AuthorizationPolicy', 'v1', ['selector', 'action', 'provider', 'rules']],
  [ISTIO, 'kubernetes/customresourcedefinitions.gen.yaml', 'PeerAuthentication', 'v1', ['selector', 'mtls']],
  [ISTIO, 'kubernetes/customresourcedefinitions.gen.yaml', 'EnvoyFilter', 'v1alpha3', ['workloadSelector', 'configPatches']]
]
const AGENTGATEWAY = [
  'controller/install/helm/agentgateway-crds/templates/agentgateway.dev_agentgatewaypolicies.yaml', 'AgentgatewayPolicy', 'v1alpha1',
  ['targetRefs', 'traffic']
] as const
/** Of `spec.traffic` of an AgentgatewayPolicy. */
const TRAFFIC = ['extAuth', 'extProc']
/** The provider of MeshConfig for ext_authz. */
const PROVIDER = 'EnvoyExternalAuthorizationGrpcProvider'

export interface MeshSchemas {
  /** Where each schema comes from: module or repository, its version, and the file. */
  readonly sources: Record<string, string>
  /** By `apiVersion Kind`. */
  readonly schemas: Record<string, Schema>
}

interface Crd {
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string }
    readonly versions: readonly { readonly name: string, readonly schema: { readonly openAPIV3Schema: Schema } }[]
  }
}

type Members = Record<string, Schema & { properties?: Members }>

/** @returns the kind with its group, and its schema with the members alone */
function trimmed (text: string, kind: string, version: string, members: readonly string[]): readonly [string, Schema] {
  const found = parseAllDocuments(text, { logLevel: 'error' }).map(one => one.toJS() as Crd | null).find(one => one?.spec?.names?.kind === kind)
  const schema = found?.spec.versions.find(({ name }) => name === version)?.schema.openAPIV3Schema
  if (found === undefined || found === null || schema === undefined) throw new Error(`no ${version} ${kind}`)
  const { properties: { spec, ...root } } = closed(schema) as { properties: Members }
  delete root.status
  Object.assign(root, { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { $ref: META } })
  return [
    `${found.spec.group}/${version} ${kind}`,
    { type: 'object', required: ['spec'], additionalProperties: false, properties: { ...root, spec: only(spec as Schema, members) } }
  ]
}

function only (schema: Schema, members: readonly string[]): Schema {
  const all = schema.properties as Record<string, unknown>
  const absent = members.filter(name => all[name] === undefined)
  if (absent.length > 0) throw new Error(`no member ${absent.join()}`)
  const { required = [] } = schema as { required?: string[] }
  return {
    type: 'object',
    additionalProperties: false,
    required: required.filter(name => members.includes(name)),
    properties: Object.fromEntries(members.map(name => [name, all[name]]))
  }
}

const SCALARS: Readonly<Record<string, unknown>> = {
  string: { type: 'string' }, bool: { type: 'boolean' }, uint32: { type: ['integer', 'string'] }, 'google.protobuf.Duration': { type: 'string' }
}

/** A message of a .proto file as the schema of its JSON. */
function messageSchema (type: protobufjs.Type, scope: protobufjs.Type): Schema {
  const properties = Object.fromEntries(type.fieldsArray.map(({ name, type: named, repeated }): [string, unknown] => {
    const inner = scope.nested?.[named]
    const one = SCALARS[named] ?? (inner instanceof protobufjs.Type ? messageSchema(inner, scope) : { type: 'object' })
    return [name, repeated ? { type: 'array', items: one } : one]
  }))
  return { type: 'object', additionalProperties: false, properties }
}

/** @param agentgateway folder and commit of a checkout; null: the schema of the last run stays */
export function meshSchemasText (agentgateway: readonly [folder: string, commit: string] | null): string {
  const sources: Record<string, string> = {}
  const schemas: Record<string, Schema> = {}
  const add = (source: string, folder: string, file: string, kind: string, version: string, members: readonly string[]): string => {
    const [name, schema] = trimmed(readFileSync(join(folder, file), 'utf8'), kind, version, members)
    schemas[name] = schema
    sources[name] = `${source} ${file}`
    return name
  }
  for (const [source, ...rest] of KINDS) add(source, moduleFolder(source), ...rest)
  const proto = 'mesh/v1alpha1/config.proto'
  const root = protobufjs.parse(readFileSync(join(moduleFolder(ISTIO), proto), 'utf8')).root
  const providers = root.lookupType('istio.mesh.v1alpha1.MeshConfig.ExtensionProvider')
  schemas[PROVIDER] = messageSchema(providers.lookupType(PROVIDER), providers)
  sources[PROVIDER] = `${ISTIO} ${proto}`
  if (agentgateway === null) {
    const before = JSON.parse(readFileSync(FILE, 'utf8')) as MeshSchemas
    for (const [name, source] of Object.entries(before.sources).filter(([name]) => name.startsWith('agentgateway.dev/'))) {
      sources[name] = source
      schemas[name] = before.schemas[name] as Schema
    }
  } else {
    const [folder, commit] = agentgateway
    const name = add(`github.com/agentgateway/agentgateway@${commit}`, folder, ...AGENTGATEWAY)
    const { properties } = schemas[name] as { properties: { spec: { properties: Record<string, Schema> } } }
    properties.spec.properties.traffic = only(properties.spec.properties.traffic as Schema, TRAFFIC)
  }
  return `${JSON.stringify({ sources, schemas } satisfies MeshSchemas)}\n`
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [,, folder, commit] = process.argv
  writeFileSync(FILE, meshSchemasText(folder === undefined || commit === undefined ? null : [folder, commit]))
}
