/**
 * `npm run docs:site [-- --check]`: builds the documentation site from README.md, CHANGELOG.md, CONTRIBUTING.md and docs/ into dist/site.
 * Installs the packages of scripts/site first, if they are missing. SITE_BASE is the path of the site on its host, `/` unless set.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { check } from './check.mjs'
import { HERE, OUTPUT, SOURCE } from './paths.mjs'
import { writeRedirects } from './redirects.mjs'
import { writeSource } from './source.mjs'

const npm = (args, options = {}) => run('npm', args, { cwd: HERE, shell: process.platform === 'win32', ...options })

function run (program, args, options) {
  const { status, error } = spawnSync(program, args, { stdio: 'inherit', ...options })
  if (error !== undefined || status !== 0) {
    console.error(`${program} ${args.join(' ')} failed${error === undefined ? '' : `: ${error.message}`}`)
    process.exit(1)
  }
}

const vitepress = join(HERE, 'node_modules/vitepress/bin/vitepress.js')
if (!existsSync(vitepress)) npm(['ci', '--no-audit', '--no-fund'])
const { pages } = writeSource(SOURCE)
run(process.execPath, [vitepress, 'build', HERE])
writeRedirects(OUTPUT)
console.log(`${pages.size} pages in ${OUTPUT}`)
if (process.argv.includes('--check')) {
  const problems = await check(pages)
  for (const problem of problems) console.error(problem)
  console.log(problems.length === 0 ? 'links, headings and search are good' : `${problems.length} problems`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
