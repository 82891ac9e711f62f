/**
 * Compiles the files that the tests run. esbuild removes the types of all files in about a second; `npm run typecheck` checks the types.
 *
 * - `test/` and `bench/` are always compiled, to `dist/test` and `dist/bench`, with source maps.
 * - `src/`, `scripts/` and `examples/` are built again only when one of their files, a file that the build reads, or the list of files has
 *   changed since the last build: `npm ci` has already built them.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const STAMP = join(ROOT, 'dist/sources.sha256')

/** Files below these folders, relative to the repository, sorted. `scripts/site` may have packages of its own. */
function files (folders, pattern) {
  return folders.flatMap(folder => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && pattern.test(entry.name))
    .map(entry => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .filter(file => !/[\\/]node_modules[\\/]/.test(file))).sort()
}

/** SHA-256 of the names and contents of all files that the build of `dist/src` reads. */
export function sourcesDigest () {
  const hash = createHash('sha256')
  for (const file of [
    ...files(['src', 'scripts', 'examples', 'config', 'bench'], /\.(ts|as|mjs|js|css|html|svg|yaml)$/),
    'package.json',
    'package-lock.json'
  ]) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0')
  }
  return hash.digest('hex')
}

export function stampSources () {
  mkdirSync(dirname(STAMP), { recursive: true })
  writeFileSync(STAMP, sourcesDigest())
}

async function compile (entryPoints) {
  await build({
    entryPoints,
    absWorkingDir: ROOT,
    outdir: 'dist',
    outbase: '.',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    logLevel: 'warning'
  })
}

function run (...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) throw new Error(`node ${args.join(' ')} failed`)
}

export async function buildTests () {
  // Deletes the old output, so that no import or glob of the tests finds a file that was deleted or moved.
  for (const folder of ['test', 'bench']) rmSync(join(ROOT, 'dist', folder), { recursive: true, force: true })
  await compile(files(['test', 'bench'], /(?<!\.d)\.ts$/))
  const current = existsSync(STAMP) && readFileSync(STAMP, 'utf8') === sourcesDigest()
  if (!current) {
    for (const folder of ['src', 'scripts', 'examples']) rmSync(join(ROOT, 'dist', folder), { recursive: true, force: true })
    await compile(files(['src', 'scripts', 'examples'], /(?<!\.d)\.ts$/))
    run('dist/scripts/generate.js')
    run('dist/scripts/bundle/main.js')
    stampSources()
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--stamp')) stampSources()
  else await buildTests()
}
