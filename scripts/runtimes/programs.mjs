/**
 * The versions of Node that the suites run on, and their programs. package.json and package-lock.json of this folder are the table of exact
 * versions; the Dockerfile names the version that ships. test/deploy/node-versions.test.ts compares both with everything else that names a
 * version.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { ROOT } from '../build-tests.mjs'

const HERE = import.meta.dirname ?? new URL('.', import.meta.url).pathname
const { optionalDependencies } = JSON.parse(readFileSync(join(HERE, 'package.json'), 'utf8'))

/** Exact versions by major version, the oldest first: {20: '20.20.2', …}. */
export const VERSIONS = Object.fromEntries(Object.entries(optionalDependencies).map(([name, spec]) => [/^node-(\d+)-/.exec(name)[1], spec.split('@').at(-1)]))

/** Major versions: the oldest that package.json supports, and the one of the container image. */
export const OLDEST = majorOf('package.json', /"node": ">=(\d+)\./)
export const SHIPPED = majorOf('Dockerfile', /^ARG NODE_IMAGE=node:(\d+)\./m)

function majorOf (file, pattern) {
  const major = pattern.exec(readFileSync(join(ROOT, file), 'utf8'))?.[1]
  if (VERSIONS[major] === undefined) throw new Error(`scripts/runtimes/package.json has no program of Node ${major}, which ${file} names`)
  return major
}

const PLATFORM = `${process.platform}-${process.arch}`
const PLATFORMS = [...new Set(Object.keys(optionalDependencies).map(name => name.replace(/^node-\d+-/, '')))]

/** The reason why this platform has no programs; null when it has them. */
export const NO_PROGRAMS = PLATFORMS.includes(PLATFORM) ? null : `npm has no programs of all versions for ${PLATFORM}, only for ${PLATFORMS.join(' and ')}`

/**
 * Returns the absolute paths of programs by major version, and installs them when one is missing.
 * @param majors major versions
 * @throws Error with the reason when this platform has no programs, or the registry of npm is not reachable
 */
export function programsOf (majors) {
  if (NO_PROGRAMS !== null) throw new Error(NO_PROGRAMS)
  const programs = Object.fromEntries(majors.map(major => [major, join(HERE, 'node_modules', `node-${major}-${PLATFORM}`, 'bin/node')]))
  if (!majors.every(major => isVersion(programs[major], VERSIONS[major]))) {
    console.log(`# installing Node ${Object.values(VERSIONS).join(', ')} in scripts/runtimes/node_modules`)
    const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: HERE, stdio: ['ignore', 'ignore', 'inherit'] })
    if (status !== 0) throw new Error('npm ci in scripts/runtimes failed; the reason is above')
    const wrong = majors.filter(major => !isVersion(programs[major], VERSIONS[major]))
    if (wrong.length > 0) throw new Error(`the programs of Node ${wrong.join(', ')} do not run, or have another version than scripts/runtimes/package.json`)
  }
  return programs
}

const isVersion = (program, version) => existsSync(program) && spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout.trim() === `v${version}`

/** The environment in which commands that a test starts as `node` run with the program too. */
export function environmentOf (program) {
  return { ...process.env, PATH: `${dirname(program)}${delimiter}${process.env.PATH ?? ''}` }
}
