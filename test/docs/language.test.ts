/**
 * The texts that a user meets first: messages, schema descriptions, `--help` and the console. A machine finds these patterns of sentences
 * that are hard to read; a reviewer finds the rest.
 */
import { readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import t from 'tap'
import { ROOT } from '../helpers/paths.js'
import { sentencesOf } from '../helpers/sentences.js'

const PATTERNS: readonly (readonly [name: string, pattern: RegExp, instead: string])[] = [
  ['"of its own"', /\bof (?:its|their) own\b/, 'write "separate", or nothing'],
  ['"can be had"', /\b(?:can|could|cannot|may) be had\b/, 'write "the gateway cannot get …"'],
  ['"shall"', /\bshall\b/i, 'write "must" or "may"'],
  ['private words', /\b(?:strangers?|word of the (?:agent|client)|put in force)\b/i, 'write "unauthenticated requests", "the agent reports"'],
  ['archaic words', /\b(?:mend(?:s|ed|ing)?|held to|doubted|at the spot|what is told)\b/i, 'write "fix", "compare", "question"'],
  ['a flag that begins with "Whether the request has no"', /^Whether the \w+ (?:has|is) no\b/, 'write "`true`: …"'],
  ['three genitives', /\bof the \w+ of the \w+ of the\b/, 'make two sentences'],
  ['a path in docs/', /(?<![\w/.-])docs\/[\w-]+/, 'write "a2a-gateway help TOPIC"'],
  ['a double negation', /\bnot un(?:known|usable|readable)\b/, 'write the positive']
]

t.test('each pattern finds a sentence that has it, and leaves a plain sentence', async t => {
  const examples = [
    'give each a source of its own', 'no token can be had', 'nobody shall use it', 'what strangers get', 'says how to mend it',
    'Whether the request has no caller.', 'the keys of the issuer of the token of the caller of the agent', 'see docs/grpc.md', 'is not unknown'
  ]
  for (const [index, [name, pattern]] of PATTERNS.entries()) {
    if (name === 'three genitives') t.match('the keys of the issuer of the token of the caller', pattern, name)
    else t.match(examples[index], pattern, name)
    t.notMatch('The gateway cannot fetch the signing keys of the token\'s issuer.', pattern, name)
  }
})

t.test('no text of the sources has one of the patterns', async t => {
  const files = readdirSync(join(ROOT, 'src'), { encoding: 'utf8', recursive: true })
    .map(file => `src/${file.replaceAll(sep, '/')}`)
    .filter(file => /\.(?:ts|js)$/.test(file) && !/\/built\/|^src\/console\/editor\//.test(file))
  const sentences = files.flatMap(sentencesOf)
  t.ok(sentences.length > 3_000, `${sentences.length} sentences in ${files.length} files`)
  const found = sentences.flatMap(({ place, text }) =>
    PATTERNS.filter(([, pattern]) => pattern.test(text)).map(([name, , instead]) => `${place}: ${name}: ${instead}: ${text.slice(0, 200)}`)
  )
  t.same(found, [])
})
