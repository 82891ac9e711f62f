/**
 * `node dist/scripts/executable/main.js FILE` makes a single-file executable of the built gateway, for the system and the Node that run
 * this script. Stages: lay out the gateway, join its files into one asset, make a blob of launcher and asset, put the blob into a copy of
 * Node.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { serialize } from 'node:v8'
import { brotliCompressSync, constants } from 'node:zlib'
import { build } from 'esbuild'
import { packageRoot } from '#config/paths.js'
import { mebibytes, putApp } from '../image/app.js'
import { filesBelow } from '../image/files.js'

/** Marks the place in Node where the blob begins, as in Node's documentation. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

/** Loads a module with Node's loader of files, which the script inside of the executable lacks. */
const START = 'start.cjs'

export async function makeExecutable (file: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'executable-'))
  try {
    const app = join(work, 'app')
    putApp(app)
    const files = new Map(filesBelow(app).map(path => [path, readFileSync(join(app, path))]))
    files.set(START, Buffer.from('module.exports = url => import(url)\n'))
    const all = serialize(files)
    const quality = Number(process.env.BROTLI_QUALITY ?? 9)
    writeFileSync(join(work, 'app.br'), brotliCompressSync(all, { params: { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_LGWIN]: 24 } }))
    writeFileSync(join(work, 'digest'), createHash('sha256').update(all).digest('hex').slice(0, 32))
    await build({
      entryPoints: [join(packageRoot(), 'dist/scripts/executable/launcher.js')],
      outfile: join(work, 'launcher.cjs'),
      bundle: true,
      platform: 'node',
      format: 'cjs',
      target: 'node20.20',
      logLevel: 'warning'
    })
    const config = {
      main: join(work, 'launcher.cjs'),
      output: join(work, 'blob'),
      disableExperimentalSEAWarning: true,
      assets: { app: join(work, 'app.br'), digest: join(work, 'digest') }
    }
    writeFileSync(join(work, 'config.json'), JSON.stringify(config))
    execFileSync(process.execPath, ['--experimental-sea-config', join(work, 'config.json')], { stdio: ['ignore', 'ignore', 'inherit'] })
    mkdirSync(dirname(file), { recursive: true })
    copyFileSync(process.execPath, file)
    chmodSync(file, 0o755)
    const postject = join(dirname(createRequire(import.meta.url).resolve('postject/package.json')), 'dist/cli.js')
    const macho = process.platform === 'darwin' ? ['--macho-segment-name', 'NODE_SEA'] : []
    const inject = [postject, file, 'NODE_SEA_BLOB', join(work, 'blob'), '--sentinel-fuse', FUSE, ...macho]
    // postject warns of sections of ELF that it does not know. The error of a failure contains its output.
    execFileSync(process.execPath, inject, { stdio: ['ignore', 'ignore', 'pipe'] })
    console.log(`${file}: ${mebibytes(statSync(file).size)}, of which the gateway takes ${mebibytes(statSync(join(work, 'blob')).size)}`)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('usage: main.js FILE')
await makeExecutable(resolve(file))
