/**
 * The examples for Envoy, Envoy Gateway, Istio and agentgateway: their schemas, their references, and no switch that lets a call pass
 * without a decision. test/system/envoy.test.ts runs the bootstraps.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { META } from '../../scripts/kubernetes-schemas.js'
import type { MeshSchemas } from '../../scripts/mesh-schemas.js'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import { bootstrapOf, filterOf } from '../helpers/envoy.js'
import { kindOf, manifests, only, problemsOf } from '../helpers/kubernetes.js'
import type { Manifest, Tree } from '../helpers/kubernetes.js'

const FOLDERS = ['envoy-gateway', 'istio', 'agentgateway'] as const
const { sources, schemas } = JSON.parse(readFileSync('test/fixtures/kubernetes/mesh.json', 'utf8')) as MeshSchemas
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false }).addSchema({ $id: META, type: 'object' })

/** The manifests of a folder, by file. */
function manifestsOf (folder: string): Map<string, Manifest[]> {
  const files = readdirSync(join('deploy', folder)).filter(name => name !== 'mesh-config.yaml')
  return new Map(files.map(name => [name, manifests(readFileSync(join('deploy', folder, name), 'utf8'))]))
}

/** The manifests of all folders. */
const ALL = FOLDERS.flatMap(folder => [...manifestsOf(folder).values()].flat())

function problems (schema: string, value: unknown): string[] {
  const validate = ajv.compile(schemas[schema] as object)
  validate(value)
  return (validate.errors ?? []).map(error => `${schema}${error.instancePath} ${error.message ?? ''} ${Object.values(error.params).join(' ')}`)
}

/** Every value of a member with one of the names, at any depth. */
function members (tree: Tree, name: RegExp): unknown[] {
  if (typeof tree !== 'object' || tree === null) return []
  return Object.entries(tree).flatMap(([key, value]) => [...name.test(key) ? [value] : [], ...members(value, name)])
}

t.test('every manifest is valid for its published schema, without unknown fields', async t => {
  for (const folder of FOLDERS) {
    for (const [file, all] of manifestsOf(folder)) {
      t.ok(all.length > 0, file)
      for (const one of all) {
        const kind = kindOf(one)
        t.same(sources[kind] === undefined ? problemsOf(one, '1.36') : problems(kind, one), [], `${folder}/${file}: ${kind}`)
      }
    }
  }
  const { extensionProviders: [provider] } = parse(readFileSync('deploy/istio/mesh-config.yaml', 'utf8')) as Tree
  t.same(Object.keys(provider), ['name', 'envoyExtAuthzGrpc'])
  t.same(problems('EnvoyExternalAuthorizationGrpcProvider', provider.envoyExtAuthzGrpc), [])
})

t.test('the schemas reject misspelt fields', async t => {
  const [policy] = manifestsOf('envoy-gateway').get('ext-authz.yaml') ?? []
  const kind = kindOf(policy ?? {})
  t.match(problems(kind, { ...policy, spec: { ...policy?.spec, extAuth: { ...policy?.spec.extAuth, failOpn: false } } }), [/failOpn/])
  t.match(problems('EnvoyExternalAuthorizationGrpcProvider', { service: 'a', failOpn: false }), [/failOpn/])
})

t.test('nothing fails open, and bodies are never cut before the gateway sees them', async t => {
  const all = [
    ...['ext-authz', 'ext-proc'].map(mode => bootstrapOf(mode as 'ext-authz')),
    ...ALL,
    parse(readFileSync('deploy/istio/mesh-config.yaml', 'utf8'))
  ]
  for (const tree of all) {
    t.same(members(tree, /^(?:failOpen|failure_mode_allow|allowPartialMessage|allow_partial_message)$/).filter(value => value !== false), [])
    t.same(members(tree, /^failureMode$/), [], 'the default is to fail closed')
    t.same(members(tree, /body_?mode/i).filter(value => /partial/i.test(String(value))), [])
  }
})

t.test('requests of limits.body fit, and the filter of EnvoyFilter is that of the bootstrap', async t => {
  const path = 'deploy/envoy/gateway.yaml'
  const loaded = parseConfig(readFileSync(path, 'utf8'), { file: path, baseDir: '.', env: {} })
  if (!loaded.ok) return t.fail(loaded.problems.map(formatDiagnostic).join('\n'))
  const { limits, server: { mesh }, agents } = loaded.config
  const proc = bootstrapOf('ext-proc')
  const sizes = [
    ...members(bootstrapOf('ext-authz'), /^max_request_bytes$/),
    ...members(proc, /^per_connection_buffer_limit_bytes$/),
    ...members(ALL, /^(?:maxRequestBytes|maxSize|per_connection_buffer_limit_bytes)$/),
    ...members(parse(readFileSync('deploy/istio/mesh-config.yaml', 'utf8')), /^maxRequestBytes$/)
  ]
  t.same(sizes, sizes.map(() => limits.body))
  t.equal(sizes.length, 6)
  const cluster = proc.static_resources.clusters.find(({ name }: Tree) => name === 'a2a-gateway')
  t.equal(cluster.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value, mesh?.listen.port)
  t.equal(agents[0]?.name, 'my-agent')

  const { patch: { value } } = only(manifestsOf('istio').get('ext-proc.yaml') ?? [], 'EnvoyFilter').spec.configPatches[0]
  const { grpc_service: _ours, ...filter } = value.typed_config
  const { grpc_service: _theirs, ...wanted } = filterOf(proc.static_resources.listeners[0])
  t.same(filter, wanted)
})

t.test('policies have a target and a gateway, and name the agent', async t => {
  const routes = manifestsOf('envoy-gateway').get('routes.yaml') ?? []
  const { metadata: { namespace }, spec: grant } = only(routes, 'ReferenceGrant')
  const service = parse(readFileSync('deploy/kubernetes/components/mesh/service.yaml', 'utf8')) as Tree
  for (const file of ['ext-authz.yaml', 'ext-proc.yaml']) {
    const [policy] = manifestsOf('envoy-gateway').get(file) ?? []
    for (const { kind, name } of policy?.spec.targetRefs ?? []) {
      t.equal(only(routes, kind, name).metadata.namespace, policy?.metadata.namespace)
    }
    const [backends] = members(policy, /^backendRefs$/) as Tree[][]
    t.equal(service.metadata.name, grant.to[0].name)
    t.same(backends, [{ name: grant.to[0].name, namespace, port: service.spec.ports[0].port }])
    t.ok(grant.from.some((one: Tree) => one.kind === policy?.kind && one.namespace === policy?.metadata.namespace))
  }
  t.equal(JSON.stringify(ALL).match(/"a2a-agent[^}]*my-agent/g)?.length, 4)
})
