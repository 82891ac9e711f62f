/**
 * Checks `.github` as far as possible without GitHub: workflows are pinned, have minimal rights and run existing scripts. Forms have the
 * members that GitHub requires. `actionlint`, when it is installed, checks the syntax of workflows.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '#config/paths.js'
import { releaseFiles, releaseNotes, releaseProblems } from '../../scripts/release-check.js'

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Record<string, unknown>
  readonly env?: Record<string, string>
}
interface Job {
  readonly uses?: string
  readonly needs?: string | string[]
  readonly permissions?: Record<string, string>
  readonly environment?: string
  readonly steps?: Step[]
  readonly 'timeout-minutes'?: number
}
interface Workflow {
  readonly permissions?: Record<string, string>
  readonly jobs: Record<string, Job>
  readonly on: Record<string, unknown>
}

const root = packageRoot()
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const FOLDER = '.github/workflows'
const workflows = readdirSync(join(root, FOLDER)).map(file => ({
  file,
  text: read(join(FOLDER, file)),
  ...(parse(read(join(FOLDER, file))) as Workflow)
}))
const jobs = workflows.flatMap(({ file, jobs }) => Object.entries(jobs).map(([id, job]) => ({ at: `${file} ${id}`, job })))
const steps = jobs.flatMap(({ at, job }) => (job.steps ?? []).map(step => ({ at, step })))

t.test('third-party actions are pinned by commit, with the version as a comment', async t => {
  const loose = workflows.flatMap(({ file, text }) => [...text.matchAll(/uses: (.*)$/gm)].map(([, used = '']) => `${file}: ${used}`))
    .filter(line => !/: \.\/|: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))
  t.same(loose, [])
})

t.test('a job has only the permissions that it needs', async t => {
  for (const { file, permissions } of workflows) t.same(permissions, { contents: 'read' }, file)
  const WRITES: Record<string, string[]> = {
    'release.yml image-platform': ['packages'],
    'release.yml image': ['packages', 'id-token', 'attestations'],
    'release.yml chart': ['packages', 'id-token', 'attestations'],
    'release.yml npm': ['id-token'],
    'release.yml github-release': ['contents', 'id-token', 'attestations'],
    'site.yml publish': ['id-token', 'pages']
  }
  for (const { at, job } of jobs) {
    const writes = Object.entries(job.permissions ?? {}).filter(([, right]) => right !== 'read').map(([what]) => what)
    t.same(writes, WRITES[at] ?? [], at)
    const approved = at === 'site.yml publish' ? 'github-pages' : 'release'
    t.equal(job.environment, writes.length > 0 ? approved : undefined, `${at} waits for an approval if it can publish`)
    t.equal(typeof job['timeout-minutes'] === 'number', job.uses === undefined, `${at} ends`)
  }
  t.same(
    steps
      .filter(({ step }) => step.uses?.startsWith('actions/checkout@') === true && step.with?.['persist-credentials'] !== false)
      .map(({ at }) => at),
    [],
    'no step finds the token of the checkout'
  )
  t.same(workflows.filter(({ on }) => 'pull_request_target' in on).map(({ file }) => file), [], 'nothing of a fork runs with rights')
})

t.test('values of an event reach a script as variables only', async t => {
  t.same(steps.filter(({ step }) => step.run?.includes('${{') === true).map(({ at, step }) => `${at}: ${String(step.run)}`), [])
})

t.test('scripts, files and npm scripts that a workflow runs exist', async t => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const missing: string[] = []
  for (const { at, step } of steps) {
    for (const [, file = ''] of step.run?.matchAll(/(?<![\w/.])((?:\.ci|deploy|scripts|dist\/scripts)\/[\w./-]+)/g) ?? []) {
      const source = file.replace(/^dist\/(.*)\.js$/, '$1.ts')
      if (!existsSync(join(root, source))) missing.push(`${at}: ${file}`)
    }
    for (const [, script = ''] of step.run?.matchAll(/npm run ([\w:]+)/g) ?? []) {
      if (!(script in scripts)) missing.push(`${at}: npm run ${script}`)
    }
  }
  for (const { at, job } of jobs) {
    if (job.uses !== undefined && !existsSync(join(root, job.uses))) missing.push(`${at}: ${job.uses}`)
    const needed = [job.needs ?? []].flat()
    const workflow = workflows.find(({ file }) => at.startsWith(`${file} `))
    missing.push(...needed.filter(id => workflow?.jobs[id] === undefined).map(id => `${at}: needs ${id}`))
  }
  t.same(missing, [])
  t.ok((statSync(join(root, '.ci/run')).mode & 0o100) !== 0, '.ci/run can be executed')
})

t.test('a release is of a tag, and publishes nothing before everything has passed', async t => {
  const release = workflows.find(({ file }) => file === 'release.yml')
  t.same(release?.on, { push: { tags: ['v*'] } })
  const before = (id: string): string[] => [release?.jobs[id]?.needs ?? []].flat().flatMap(one => [one, ...before(one)])
  for (const [id, job] of Object.entries(release?.jobs ?? {})) {
    if (job.environment === 'release') for (const first of ['ci', 'check']) t.ok(before(id).includes(first), `${id} waits for ${first}`)
  }
  t.ok(
    read('deploy/helm/a2a-extension-gateway/values.yaml').split('\n').includes('  repository: a2a-gateway'),
    'the line that the chart job replaces is there'
  )
})

t.test('conditions that stop a release', async t => {
  const files = releaseFiles()
  const { version } = files
  const ready = {
    ...files,
    address: 'https://git.example.com/a',
    changelog: `# C\n\n## ${version} (2026-12-01)\n\n### Added\n\n- x\n\n## 0.0.9 (2026-01-01)\n\n- y\n`
  }
  t.same(releaseProblems(`v${version}`, ready.address, ready), [])
  t.equal(releaseNotes(`v${version}`, ready.changelog), '### Added\n\n- x\n')
  t.match(releaseProblems('v9.9.9', ready.address, ready), [/^The tag is v9\.9\.9, but the version in package\.json is/, /no heading "## /])
  t.match(releaseProblems(`v${version}`, ready.address, { ...ready, chart: { version: '1', appVersion: '2' }, dockerfile: '' }), [
    /^version in .*Chart\.yaml is 1/,
    /^appVersion in .* is 2/,
    /^ARG VERSION in Dockerfile is none/
  ])
  t.match(releaseProblems(`v${version}`, ready.address, { ...ready, changelog: `## Unreleased (${version})\n\n- x\n` }), [
    /replace "Unreleased/
  ])
  t.match(releaseProblems(`v${version}`, ready.address, { ...ready, address: 'https://github.com/OWNER/a' }), [/provenance/])
  t.same(
    releaseProblems(`v${version}`, files.address, { ...files, changelog: ready.changelog }),
    [],
    'image and chart state the version of the package'
  )
})

t.test('issue forms and updates', async t => {
  const folder = '.github/ISSUE_TEMPLATE'
  for (const name of readdirSync(join(root, folder)).filter(one => one !== 'config.yml')) {
    const form = parse(read(join(folder, name))) as {
      name: string
      description: string
      body: { type: string; id?: string; attributes: Record<string, unknown> }[]
    }
    t.ok(form.name !== '' && form.description !== '', name)
    const inputs = form.body.filter(one => one.type !== 'markdown')
    t.same(
      inputs.filter(one => !/^(?:textarea|input|dropdown|checkboxes)$/.test(one.type) || typeof one.attributes.label !== 'string'),
      [],
      name
    )
    t.equal(new Set(inputs.map(one => one.id)).size, inputs.length, `${name}: ids are unique`)
  }
  const { updates } = parse(read('.github/dependabot.yml')) as { updates: { 'package-ecosystem': string, directory: string }[] }
  t.same(updates.filter(({ directory }) => !existsSync(join(root, directory))), [])
  t.same(updates.map(one => one['package-ecosystem']), ['npm', 'npm', 'github-actions', 'docker', 'docker-compose'])
})

const actionlint = spawnSync('actionlint', ['-version']).error === undefined
t.test(
  'actionlint',
  { skip: actionlint ? false : 'is not installed: go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12' },
  async t => {
    const { status, stdout } = spawnSync(
      'actionlint',
      workflows.map(({ file }) => join(FOLDER, file)),
      { cwd: root, encoding: 'utf8' }
    )
    t.equal(status, 0, stdout)
  }
)
