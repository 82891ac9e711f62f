/** Node and the shared libraries that it is linked against, with the names and versions of their Debian packages. */
import { execFileSync } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import { put, write } from './files.js'

export interface DebianPackage { readonly name: string, readonly version: string, readonly architecture: string, readonly status: string }

export interface Runtime {
  /** Paths of executable files in the tree. */
  readonly programs: readonly string[]
  readonly packages: readonly DebianPackage[]
}

/** Path of Node in the image. */
export const NODE = '/usr/local/bin/node'

const run = (program: string, ...args: string[]): string => execFileSync(program, args, { encoding: 'utf8' })

/**
 * Copies Node and its libraries into the image.
 * @param root folder that becomes `/` of the image
 * @throws Error on a system that is not Debian, because its packages have no known names
 */
export function putRuntime (root: string): Runtime {
  const libraries = librariesOf(run('ldd', process.execPath))
  put(process.execPath, join(root, NODE))
  for (const library of libraries) put(library, join(root, library))
  const packages = packagesOf(libraries)
  // Scanners look for packages here in images without dpkg: one file for each package, as in the distroless images.
  for (const one of packages) write(join(root, 'var/lib/dpkg/status.d', one.name), one.status)
  for (const one of packages) put(`/usr/share/doc/${one.name}/copyright`, join(root, 'usr/share/doc', one.name, 'copyright'))
  put('/etc/os-release', join(root, 'etc/os-release'))
  write(join(root, 'etc/passwd'), 'root:x:0:0:root:/:/sbin/nologin\ngateway:x:1000:1000:gateway:/:/sbin/nologin\n')
  write(join(root, 'etc/group'), 'root:x:0:\ngateway:x:1000:\n')
  // Names in /etc/hosts take precedence over names from DNS.
  write(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n')
  return {
    programs: [join(root, NODE), ...libraries.filter(path => basename(path).startsWith('ld-')).map(path => join(root, path))],
    packages
  }
}

/**
 * The paths of the libraries in the output of `ldd`: `libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x…)` or `/lib64/ld-linux-x86-64.so.2
 * (0x…)`.
 */
export function librariesOf (ldd: string): string[] {
  const found = ldd.split('\n').map(line => {
    if (line.includes('not found')) throw new Error(`a library of Node is missing: ${line.trim()}`)
    return /(?:=> |^\s*)(\/\S+) \(/.exec(line)?.[1]
  })
  return found.filter(path => path !== undefined)
}

function packagesOf (paths: readonly string[]): DebianPackage[] {
  // dpkg knows a library by the path of its installation: below /lib, or since Debian 13 below /usr/lib.
  const owner = (path: string): string => {
    for (const one of [path, realpathSync(path), realpathSync(path).replace(/^\/usr/, '')]) {
      try {
        return run('dpkg', '-S', one).split(': ')[0] as string
      } catch {}
    }
    throw new Error(`no Debian package owns ${path}: the image is built on a Debian image of Node`)
  }
  return [...new Set(paths.map(owner))].sort().map(owned => {
    const status = run('dpkg', '-s', owned)
    const field = (name: string): string => new RegExp(`^${name}: (.+)$`, 'm').exec(status)?.[1] ?? ''
    return { name: field('Package'), version: field('Version'), architecture: field('Architecture'), status }
  })
}

/** Name and version of the distribution, such as `debian-12`, for package URLs. */
export function distribution (): string {
  const release = readFileSync('/etc/os-release', 'utf8')
  const field = (name: string): string => new RegExp(`^${name}="?([^"\n]+)"?$`, 'm').exec(release)?.[1] ?? ''
  return `${field('ID')}-${field('VERSION_ID')}`
}
