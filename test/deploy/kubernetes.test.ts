/** The unchanged files of deploy/kubernetes. test/system/kubernetes.test.ts tests the output of kustomize and helm. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import { closed } from '../../scripts/kubernetes-schemas.js'
import { kindOf, manifests, problemsOf, VERSIONS } from '../helpers/kubernetes.js'
import type { Tree } from '../helpers/kubernetes.js'

const ROOT = 'deploy/kubernetes'
const files = readdirSync(ROOT, { recursive: true }).map(path => join(ROOT, String(path))).filter(path => path.endsWith('.yaml')).sort()
const kustomizations = files
  .filter(path => path.endsWith('/kustomization.yaml'))
  .map(path => ({ folder: dirname(path), content: parse(readFileSync(path, 'utf8')) as Tree }))
const patches = new Set(kustomizations.flatMap(({ folder, content }) => (content.patches ?? []).map((one: Tree) => join(folder, one.path))))

t.test('every manifest is valid for Kubernetes 1.30 and a recent version, without unknown fields', async t => {
  const whole = files.filter(path => !path.endsWith('/kustomization.yaml') && !path.endsWith('/gateway.yaml') && !patches.has(path))
  t.ok(whole.length >= 13)
  for (const path of whole) {
    for (const manifest of manifests(readFileSync(path, 'utf8'))) {
      for (const version of VERSIONS) t.same(problemsOf(manifest, version), [], `${path}: ${kindOf(manifest)}, ${version}`)
    }
  }
})

t.test('the schemas reject what the API server rejects', async t => {
  const [service] = manifests('apiVersion: v1\nkind: Service\nmetadata: {name: a, label: {}}\nspec: {ports: [{port: "80"}], type: [1]}\n')
  t.same(problemsOf(service ?? {}, '1.36').map(one => one.replace(/ +/g, ' ')).sort(), [
    'v1 Service/metadata must NOT have additional properties label',
    'v1 Service/spec/ports/0/port must be integer integer',
    'v1 Service/spec/type must be string string'
  ])
  t.match(problemsOf({ apiVersion: 'v1', kind: 'Secret' }, '1.36'), [/no schema of v1 Secret/])
  t.same(
    closed({
      type: 'object',
      description: 'x',
      properties: {
        description: { type: 'string', default: '' },
        port: { format: 'int-or-string', oneOf: [] },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: {} }
      }
    }),
    {
      type: 'object',
      properties: { description: { type: 'string' }, port: { type: ['integer', 'string'] }, open: { type: 'object', properties: {} } },
      additionalProperties: false
    }
  )
})

t.test('the gateway starts with every configuration', async t => {
  const configurations = files.filter(path => path.endsWith('/gateway.yaml'))
  t.equal(configurations.length, 3)
  for (const path of configurations) {
    const loaded = parseConfig(readFileSync(path, 'utf8'), { file: path, baseDir: '.', env: {} })
    t.equal(loaded.ok ? '' : loaded.problems.map(formatDiagnostic).join('\n'), '', path)
  }
})

t.test('files in a kustomization exist, and every file is in one', async t => {
  const named = kustomizations.flatMap(({ folder, content }) =>
    [
      ...(content.resources ?? []),
      ...(content.patches ?? []).map((one: Tree) => one.path),
      ...(content.configMapGenerator ?? []).flatMap((one: Tree) => one.files)
    ].map((path: string) => join(folder, path))
  )
  t.same(named.filter(path => !existsSync(path)), [])
  t.same(files.filter(path => !path.endsWith('/kustomization.yaml') && !named.includes(path)), [])
})

t.test('a ConfigMap keeps its name when it changes, because the gateway reads it again by itself', async t => {
  for (const { folder, content } of kustomizations) {
    for (const one of content.configMapGenerator ?? []) t.equal(one.options?.disableNameSuffixHash, true, folder)
  }
})
