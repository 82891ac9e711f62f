/** Words that the pages which a new reader meets first do not use, with what to write instead. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'

const ROOT = packageRoot()
const PATTERNS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bof (?:its|their) own\b/i, 'separate, or nothing'],
  [/\bcan(?:not)? be had\b/i, 'is (not) available'],
  [/\bstrangers?\b/i, 'unauthenticated requests'],
  [/\bmend(?:s|ed)?\b/i, 'fix'],
  [/\bheld to\b/i, 'checked against'],
  [/\bthe word of the agent\b/i, 'what the agent reports'],
  [/\bdoubted\b/i, 'questioned'],
  [/\bas to\b/i, 'about'],
  [/\bno caller can meet\b/i, 'no caller can satisfy']
]
/** Pages that come first: the landing page, the index, tutorials, and the pages about decisions of operators. */
const FIRST = [
  'README.md', 'docs/README.md', 'docs/for-client-developers.md',
  ...readdirSync(join(ROOT, 'docs/start')).map(name => `docs/start/${name}`),
  ...['roll-out', 'size', 'production-checklist', 'cookbook', 'find-out-why'].map(name => `docs/how-to/${name}.md`),
  'docs/explain/modes.md', 'docs/explain/faq.md', 'docs/reference/compatibility.md'
]

t.test('words', async t => {
  t.ok(FIRST.length > 12)
  for (const page of FIRST) {
    const lines = readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```[^]*?^```$/gm, '').split('\n')
    const found = lines.flatMap(line => PATTERNS.filter(([pattern]) => pattern.test(line)).map(([pattern, instead]) => `${String(pattern)}: write ${instead}: ${line}`))
    t.same(found, [], page)
  }
  t.match('an agent of its own', PATTERNS[0]?.[0])
})
