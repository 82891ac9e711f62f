/**
 * The texts that a user meets first: messages, schema descriptions, `--help` and the console. A machine finds these patterns of sentences
 * that are hard to read; a reviewer finds the rest.
 */
import { readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import t from 'tap'
import { ROOT } from '../helpers/paths.js'
import { configSchema } from '#config/schema/schema.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { REASON_HELP } from '#a2a/reason-help.js'
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
  ['"must hold"', /\b(?:must|should) hold\b/, 'write "must match"'],
  ['"tell"', /\b(?:tells?|told) (?:the|a|an|whether|who|what|how)\b/, 'write "names", "reports", "knows"'],
  ['"counts for", "counts as"', /\bcounts? (?:for (?:itself|both)|as (?:not|signed|unknown|true|active))\b/, 'write "one count for each", "the gateway treats … as"'],
  ['"in force" in messages', /\b(?:is|stays?|stay) (?:not )?in force\b/, 'write "in use", "the agent uses"'],
  ['a status that somebody "gets"', /\bgets? [1-5]\d\d\b/, 'write "the gateway rejects … with 429"'],
  ['a type without an article', /\bmust be (?:string|integer|object|array|number|boolean)\b/, 'write "must be a string"'],
  ['a passive without an actor', /\b(?:is|are) (?:ignored|not followed|remembered|counted in|treated)\b/, 'write "the gateway ignores"'],
  ['"says so"', /\bsays? so\b/, 'name the place and its content'],
  ['"the same again"', /\bas if it was not there\b/, 'write "without it"'],
  ['a double negation', /\bnot un(?:known|usable|readable)\b/, 'write the positive']
]

t.test('each pattern finds a sentence that has it, and leaves a plain sentence', async t => {
  const examples = [
    'give each a source of its own', 'no token can be had', 'nobody shall use it', 'what strangers get', 'says how to mend it',
    'Whether the request has no caller.', 'the keys of the issuer of the token of the caller of the agent', 'see docs/grpc.md', 'one of them must hold', 'a header that tells the agent who calls', 'each extension counts for itself',
    'the policy is not in force', 'further messages get 429', 'must be string', 'the entry is ignored', 'and the log says so',
    'go on as if it was not there', 'is not unknown'
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
    .filter(file => /\.(?:ts|js)$/.test(file) && !/\/built\/|^src\/console\/editor\/|^src\/conform\/cases\//.test(file))
  const sentences = files.flatMap(sentencesOf)
  t.ok(sentences.length > 3_000, `${sentences.length} sentences in ${files.length} files`)
  const found = sentences.flatMap(({ place, text }) =>
    PATTERNS.filter(([, pattern]) => pattern.test(text)).map(([name, , instead]) => `${place}: ${name}: ${instead}: ${text.slice(0, 200)}`)
  )
  t.same(found, [])
})

t.test('descriptions of keys and of reasons have at most 25 words in a sentence, and begin with a noun, not with a pronoun', async t => {
  const texts = [...descriptionsOf(configSchema, ''), ...Object.entries(REASON_HELP).flatMap(([reason, { cause, client, operator }]) =>
    [cause, client, operator].map(text => [reason, text] as const))]
  t.ok(texts.length > 500, `${texts.length} texts`)
  t.same(texts.filter(([, text]) => /^(?:Its|It|They|Their|This)\b/.test(text)), [], 'name the subject')
  const long = texts.flatMap(([place, text]) => text.split(/(?<=[.;:])\s/).filter(one => one.split(/\s+/).length > 25).map(one => `${place}: ${one}`))
  t.same(long, [], 'make two sentences')
})

/** The descriptions of all keys, each with the path of its key. */
function descriptionsOf (schema: Schema, path: string): (readonly [path: string, text: string])[] {
  const { description, properties = {}, items, additionalProperties, $defs = {} } = schema
  return [
    ...description === undefined ? [] : [[path, description] as const],
    ...Object.entries({ ...properties, ...$defs }).flatMap(([key, child]) => descriptionsOf(child, `${path}.${key}`)),
    ...items === undefined ? [] : descriptionsOf(items, `${path}[]`),
    ...typeof additionalProperties === 'object' ? descriptionsOf(additionalProperties, `${path}.*`) : []
  ]
}
