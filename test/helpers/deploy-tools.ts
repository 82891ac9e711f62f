/** kustomize and helm: programs from the PATH, or from Go's folder, where `go install` puts them. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { manifests } from './kubernetes.js'
import type { Manifest } from './kubernetes.js'

const MODULES = { kustomize: 'sigs.k8s.io/kustomize/kustomize/v5@v5.8.2', helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0' }
export const CHART = 'deploy/helm/a2a-extension-gateway'

/** @throws Error that explains how to install the missing program */
export function program (name: keyof typeof MODULES): string {
  const found = [join(process.env.GOBIN ?? join(process.env.GOPATH ?? join(homedir(), 'go'), 'bin'), name), name].find(path =>
    path.includes('/') ? existsSync(path) : spawnSync(path, ['version']).error === undefined
  )
  if (found === undefined) throw new Error(`${name} is not installed: go install ${MODULES[name]}`)
  return found
}

/** The manifests that kustomize builds from a folder. */
export function kustomized (folder: string): Manifest[] {
  return manifests(execFileSync(program('kustomize'), ['build', folder], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }))
}

/** The output and exit status of helm. */
export function helm (
  args: readonly string[],
  values = ''
): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  const { status, stdout, stderr, error } = spawnSync(program('helm'), [...args, '--values', '-'], {
    input: values === '' ? '{}' : values,
    encoding: 'utf8',
    maxBuffer: 64 << 20
  })
  if (error !== undefined) throw error
  return { status, stdout, stderr }
}

/**
 * The manifests that helm renders from values, in YAML or JSON.
 * @throws Error with helm's message
 */
export function charted (values = '', ...args: string[]): Manifest[] {
  const { status, stdout, stderr } = helm(
    ['template', 'a2a-gateway', CHART, '--namespace', 'shared', '--kube-version', '1.36.0', ...args],
    values
  )
  if (status !== 0) throw new Error(stderr)
  return manifests(stdout)
}
