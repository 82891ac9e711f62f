/** The gateway accepts the YAML on these pages without a warning, except one about the version of Node.js. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import { packageRoot } from '#config/paths.js'
import { CHECKS } from '#offline/configuration.js'

const AGENT = 'version: 1\nagents: [{name: a, upstream: {url: "http://127.0.0.1:1"}, extensions: [p]}]\n'

/** A whole file, keys of one, or keys of a policy. */
function whole (block: string): string {
  if (/^version:/.test(block)) return block
  const policy = /^ {2}store:/m.test(block) ? '' : block.replaceAll(/^(?=.)/gm, '    ')
  return `${AGENT}${policy === '' ? block : ''}extensions:\n  p:\n    uri: https://acme.example/ext/p/v1\n${policy}`
}

for (const [page, known] of [['how-to/check-responses.md', /^(?:version|observe):/], ['how-to/run.md', /^state:/], ['how-to/grpc.md', /^version:/]] as const) {
  t.test(page, async t => {
    const text = readFileSync(join(packageRoot(), 'docs', page), 'utf8')
    const blocks = [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, block = '']) => block).filter(block => known.test(block))
    t.ok(blocks.length > 0)
    for (const block of blocks) {
      const result = parseConfig(whole(block), { file: page, baseDir: '/', env: { REDIS_PASSWORD: 'x' }, checks: CHECKS })
      const printed = (result.ok ? result.warnings : result.problems).map(formatDiagnostic)
      t.same(printed.filter(line => !line.includes('HTTP/2 server of Node.js')), [], block.split('\n', 3).join(' / '))
    }
  })
}
