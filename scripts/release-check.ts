/**
 * Checks before a release that all files state the same version, so that a tag that was made too early publishes nothing.
 *
 * - `release-check.js TAG REPOSITORY` exits with 1 and prints a line for each problem, or prints the outputs of a workflow step: `version`
 *   and `latest`.
 * - `release-check.js --notes TAG` prints the changelog's section of the release.
 */
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { packageRoot, packageVersion } from '#config/paths.js'
import { publicAddress } from './public-address.js'

const CHART = 'deploy/helm/a2a-extension-gateway/Chart.yaml'

export interface ReleaseFiles {
  readonly version: string
  readonly address: string
  readonly dockerfile: string
  readonly chart: { readonly version: string, readonly appVersion: string }
  readonly changelog: string
}

export function releaseFiles (): ReleaseFiles {
  const read = (file: string): string => readFileSync(join(packageRoot(), file), 'utf8')
  return {
    version: packageVersion(),
    address: publicAddress(),
    dockerfile: read('Dockerfile'),
    chart: parse(read(CHART)) as ReleaseFiles['chart'],
    changelog: read('CHANGELOG.md')
  }
}

/** The problems that prevent a release of `tag` from the repository at `address`, one sentence each. */
export function releaseProblems (tag: string, address: string, files: ReleaseFiles): string[] {
  const { version } = files
  const image = /^ARG VERSION=(.*)$/m.exec(files.dockerfile)?.[1] ?? 'none'
  return [
    ...(tag === `v${version}`
      ? []
      : [`The tag is ${tag}, but the version in package.json is ${version}: set the version, then tag v${version}.`]),
    ...(files.chart.version === version ? [] : [`version in ${CHART} is ${files.chart.version}: set ${version}.`]),
    ...(files.chart.appVersion === version ? [] : [`appVersion in ${CHART} is ${files.chart.appVersion}: set ${version}.`]),
    ...(image === version ? [] : [`ARG VERSION in Dockerfile is ${image}: set ${version}.`]),
    ...(releaseNotes(tag, files.changelog) === null
      ? [`CHANGELOG.md has no heading "## ${version} (YYYY-MM-DD)": replace "Unreleased (${version})".`]
      : []),
    ...(files.address === address
      ? []
      : [
          `repository.url in package.json is ${files.address}, but this is ${address}: npm accepts provenance only for the repository it names.`
        ])
  ]
}

/** The changelog's text below the heading of the release. Null when the changelog has no such heading with a date. */
export function releaseNotes (tag: string, changelog: string): string | null {
  const version = tag.replace(/^v/, '')
  const section = changelog.split(/^## /m).find(text => text.startsWith(`${version} (`) && /^\S+ \(\d{4}-\d\d-\d\d\)\n/.test(text))
  return section === undefined ? null : `${section.slice(section.indexOf('\n')).trim()}\n`
}

function main (args: readonly string[]): number {
  const files = releaseFiles()
  if (args[0] === '--notes') {
    const notes = releaseNotes(args[1] ?? '', files.changelog)
    if (notes !== null) process.stdout.write(notes)
    return notes === null ? 1 : 0
  }
  const [tag = '', address = ''] = args
  const problems = releaseProblems(tag, address, files)
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) return 1
  // The tag `latest` never points to a version with a pre-release part, such as 1.0.0-rc.1.
  console.log(`version=${files.version}\nlatest=${String(!files.version.includes('-'))}`)
  return 0
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.exitCode = main(process.argv.slice(2))
}
