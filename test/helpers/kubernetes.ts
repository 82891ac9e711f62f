/** Kubernetes manifests for tests, validated against the official schemas (scripts/kubernetes-schemas.ts). */
import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { RE2JS } from 're2js'
import { parseAllDocuments } from 'yaml'
import type { Schemas } from '../../scripts/kubernetes-schemas.js'
import { inTests } from './paths.js'

/** Any member of any member. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- what a test expects of a place is what it asserts
export type Tree = any

export interface Manifest { readonly [key: string]: Tree }

export const VERSIONS = ['1.30', '1.36'] as const

/** @throws Error when the text is not YAML, or has a duplicate key */
export function manifests (text: string): Manifest[] {
  const documents = parseAllDocuments(text)
  if (!Array.isArray(documents)) return []
  for (const { errors } of documents) if (errors[0] !== undefined) throw errors[0]
  return documents.map(document => document.toJS() as Manifest).filter(one => one !== null)
}

export function kindOf (manifest: Manifest): string {
  return `${String(manifest.apiVersion)} ${String(manifest.kind)}`
}

/** @throws Error unless there is exactly one */
export function only (all: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = all.filter(one => String(one.kind) === kind && (name === undefined || String(one.metadata?.name) === name))
  if (found.length !== 1) throw new Error(`${found.length} ${kind} ${name ?? ''} in ${all.map(kindOf).join(', ')}`)
  return found[0] as Manifest
}

const published = JSON.parse(readFileSync(inTests('fixtures/kubernetes/schemas.json'), 'utf8')) as Record<string, Schemas>
// The patterns use Go's syntax, such as `(?i)`. Ajv keeps one compiled pattern for each `toString`.
const regExp = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(pattern)
    return { test: (text: string) => compiled.matcher(text).find(), toString: () => pattern }
  },
  { code: 'RE2JS' }
)
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, code: { regExp } })
for (const version of VERSIONS) ajv.addSchema(published[version] as Schemas, version)

/** The problems that the API server of a version would report for a manifest, each with its place. */
export function problemsOf (manifest: Manifest, version: (typeof VERSIONS)[number]): string[] {
  const name = published[version]?.kinds[kindOf(manifest)]
  if (name === undefined) return [`no schema of ${kindOf(manifest)}: add it to scripts/kubernetes-schemas.ts`]
  const validate = ajv.getSchema(`${version}#/schemas/${encodeURIComponent(name)}`)
  if (validate === undefined) throw new Error(`no schema ${name}`)
  validate(manifest)
  return (validate.errors ?? []).map(error =>
    `${kindOf(manifest)}${error.instancePath} ${error.message ?? ''} ${Object.values(error.params).join(' ')}`.trim()
  )
}
