/** deploy/compose.yaml as an engine reads it, and the commands of its images, from their Dockerfiles. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'

export interface Service {
  readonly image: string
  readonly build?: { readonly context: string, readonly dockerfile: string }
  readonly user?: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly networks?: readonly string[]
  readonly healthcheck?: { readonly test: readonly string[] }
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
  readonly volumes: Readonly<Record<string, object>>
}

export const FOLDER = 'deploy'

export function readCompose (): Compose {
  return parse(readFileSync(join(FOLDER, 'compose.yaml'), 'utf8'), { merge: true }) as Compose
}

/** Instructions of the last stage, with continued lines joined. */
export function instructions (dockerfile: string): { readonly name: string, readonly text: string }[] {
  const lines = readFileSync(dockerfile, 'utf8').replace(/\\\n/g, ' ').split('\n').filter(line => /^[A-Z]+ /.test(line))
  const from = lines.findLastIndex(line => line.startsWith('FROM '))
  return lines.slice(from).map(line => ({ name: line.split(' ', 1)[0] ?? '', text: line.slice(line.indexOf(' ') + 1).trim() }))
}

/** The command and environment of a service. Paths of the image are replaced with files of the repository. */
export function commandOf ({ build, command = [] }: Service): {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
} {
  if (build === undefined) throw new Error('only of images that are built here')
  const all = instructions(join(FOLDER, build.context, build.dockerfile))
  const entry = JSON.parse(all.findLast(one => one.name === 'ENTRYPOINT')?.text ?? '[]') as string[]
  const env = Object.fromEntries(
    all
      .filter(one => one.name === 'ENV')
      .flatMap(one => [...one.text.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]))
  )
  return { args: [...entry.slice(1).map(arg => arg.replace(/^\/app\//, '')), ...command], env }
}

/** The file of the repository that is mounted at a path of the service. */
export function mounted ({ volumes = [] }: Service, path: string): string {
  for (const volume of volumes) {
    const [source = '', target = ''] = volume.split(':')
    if (path === target || path.startsWith(`${target}/`)) return join(FOLDER, source, path.slice(target.length))
  }
  throw new Error(`nothing is mounted at ${path} of ${dirname(path)}`)
}
