/** Words that the pages of the documentation do not use, with what to write instead. */
import { readFileSync, readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
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
  [/\bas to\b(?! HTTP|$)/i, 'about'],
  [/\bin force\b(?! (?:in|on) )/i, 'in use, or: the agent uses'],
  [/\bsays? so\b/i, 'the place and its content'],
  [/\bcounts? for (?:itself|both)\b/i, 'one count for each'],
  [/\bshall\b/i, 'must, or may'],
  [/\bno caller can meet\b/i, 'no caller can satisfy']
]
/** All pages but those for contributors, and the pages of the catalogue, which are generated from its policies. */
const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map(name => `docs/${name.replaceAll(sep, '/')}`)
  .filter(name => name.endsWith('.md') && !/^docs\/(?:contributing|extensions)\//.test(name))]

t.test('words', async t => {
  t.ok(PAGES.length > 50)
  for (const page of PAGES) {
    const lines = readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```[^]*?^```$/gm, '').split('\n')
    const found = lines.flatMap(line => PATTERNS.filter(([pattern]) => pattern.test(line)).map(([pattern, instead]) => `${String(pattern)}: write ${instead}: ${line}`))
    t.same(found, [], page)
  }
  t.match('an agent of its own', PATTERNS[0]?.[0])
})
