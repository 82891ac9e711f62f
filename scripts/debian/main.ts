/**
 * `node dist/scripts/debian/main.js FOLDER` makes a Debian package of the built gateway in FOLDER, for the processor that runs this script.
 * The package contains the Node that runs this script, because Debian 12 has an older one. dpkg-deb makes the package.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { SCRIPTS } from '#cli/command-line/completion.js'
import { packageVersion } from '#config/paths.js'
import { mebibytes, putApp } from '../image/app.js'
import { filesBelow, put, settle, write } from '../image/files.js'
import { publicAddress } from '../public-address.js'
import { controlOf, debianVersion, POSTINST, POSTRM, PRERM, WRAPPER } from './control.js'
import { manualPage } from './manual.js'

/** Names of processors in Debian, by those of Node. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }
const LIBRARY = 'usr/lib/a2a-extension-gateway'
const DOCUMENTS = 'usr/share/doc/a2a-extension-gateway'

/**
 * @param epoch of all files, in seconds since 1970
 * @param compression as dpkg-deb's option `-Z` names it
 * @returns path of the package
 */
export function makePackage (folder: string, epoch: number, compression: string): string {
  const architecture = ARCHITECTURES[process.arch]
  if (architecture === undefined) throw new Error(`packages for ${process.arch} are not supported`)
  if ((process.config.variables as { readonly node_shared?: boolean }).node_shared === true) throw new Error('this Node needs a library of its own: use a release of https://nodejs.org')
  const root = mkdtempSync(join(tmpdir(), 'debian-'))
  try {
    putApp(join(root, LIBRARY))
    put(process.execPath, join(root, LIBRARY, 'node'))
    write(join(root, 'usr/bin/a2a-gateway'), WRAPPER)
    put('deploy/debian/a2a-gateway.service', join(root, 'usr/lib/systemd/system/a2a-gateway.service'))
    put('deploy/debian/gateway.yaml', join(root, 'etc/a2a-gateway/gateway.yaml'))
    write(join(root, DOCUMENTS, 'copyright'), copyright())
    write(join(root, 'usr/share/bash-completion/completions/a2a-gateway'), SCRIPTS.bash())
    write(join(root, 'usr/share/zsh/vendor-completions/_a2a-gateway'), SCRIPTS.zsh())
    write(join(root, 'usr/share/fish/vendor_completions.d/a2a-gateway.fish'), SCRIPTS.fish())
    write(join(root, 'usr/share/man/man1/a2a-gateway.1.gz'), gzipSync(manualPage(epoch), { level: 9 }))
    const bytes = filesBelow(root).reduce((sum, path) => sum + statSync(join(root, path)).size, 0)
    write(join(root, 'DEBIAN/control'), controlOf({ version: packageVersion(), address: publicAddress(), architecture, kibibytes: Math.ceil(bytes / 1024) }))
    write(join(root, 'DEBIAN/conffiles'), '/etc/a2a-gateway/gateway.yaml\n')
    const scripts = { postinst: POSTINST, prerm: PRERM, postrm: POSTRM }
    for (const [name, text] of Object.entries(scripts)) write(join(root, 'DEBIAN', name), text)
    const programs = [`${LIBRARY}/node`, 'usr/bin/a2a-gateway', ...Object.keys(scripts).map(name => `DEBIAN/${name}`)]
    settle(root, new Set(programs.map(path => join(root, path))), epoch)
    mkdirSync(folder, { recursive: true })
    const file = join(folder, `a2a-extension-gateway_${debianVersion(packageVersion())}_${architecture}.deb`)
    execFileSync('dpkg-deb', ['--root-owner-group', `-Z${compression}`, '--build', root, file], {
      env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
      stdio: ['ignore', 'ignore', 'inherit']
    })
    console.log(`${file}: ${mebibytes(statSync(file).size)}, installed ${mebibytes(bytes)}`)
    return file
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** The licences of the gateway and of Node. Each package in `node_modules` has its own file. */
function copyright (): string {
  const prefix = join(dirname(process.execPath), '..')
  const ofNode = [join(prefix, 'LICENSE'), join(prefix, 'share/doc/nodejs/LICENSE')].find(path => existsSync(path))
  if (ofNode === undefined) throw new Error(`there is no LICENSE of Node below ${prefix}: use a release of https://nodejs.org`)
  return [
    'a2a-extension-gateway: Apache-2.0, /usr/lib/a2a-extension-gateway/LICENSE',
    'Packages of npm: the files LICENSE below /usr/lib/a2a-extension-gateway/node_modules',
    'Packages whose code dist/src/vendor contains: LICENSES.txt in that folder',
    'Node.js, /usr/lib/a2a-extension-gateway/node:',
    '',
    readFileSync(ofNode, 'utf8')
  ].join('\n')
}

const [folder, compression = 'xz'] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: main.js FOLDER [COMPRESSION]')
makePackage(resolve(folder), Number(process.env.SOURCE_DATE_EPOCH ?? 0), compression)
