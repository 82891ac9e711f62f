import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { builtPolicies } from '../../scripts/catalogue.js'
import { builtCatalogue } from '#config/built/catalogue.js'
import { catalogueFiles, loadCatalogue, readPolicy, unchanged } from '#config/catalogue.js'
import { ownUris } from '#config/checks/policy-checks.js'
import { compileGlob } from '#wire/glob.js'
import { inlineSchemaProblems } from '#policy/compile/inline-schemas.js'

t.test('a bad policy of the catalogue is an error with every problem', t => {
  const directory = mkdtempSync(join(tmpdir(), 'catalogue-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  const read = (text: string) => {
    const file = join(directory, 'p.yaml')
    writeFileSync(file, text)
    try {
      return readPolicy(file)
    } catch (error) {
      return error instanceof Error ? error.message.replaceAll(`${directory}/`, '').split('\n') : error
    }
  }
  t.match(read('uri: urn:x\n'), { uri: 'urn:x' })
  t.match(read('uri: ""\nnothing: {}\nrequest: [{id: r, select: {part: {}}}]\n'), [
    'p.yaml:1:6: uri must be an extension URI (ASCII, without commas, spaces and control characters: clients send it in a comma-separated header)',
    /^p\.yaml:2:1: unknown key "nothing" \(known keys: uri, .*\brequest\b.*\)$/,
    'p.yaml:3:11: request[0] needs count, required, schema or external (a rule without them checks nothing)'
  ])
  t.same(read('['), ['p.yaml:1:2: the "[" is not closed, or a line before its "]" is not indented'])
  t.same(read(''), ['p.yaml:1:1: the policy must be a mapping, not null'])
  t.end()
})

t.test('the catalogue', async t => {
  const catalogue = loadCatalogue()
  const names = Object.keys(catalogue)
  t.ok(names.length >= 20, `${names.length} policies, each a file that is valid`)
  t.same(inlineSchemaProblems({ extensions: catalogue, agents: [] }), [], 'every schema of theirs compiles')
  t.same(
    names.filter(name => catalogue[name]?.mode !== 'observe'),
    ['object-schemas'],
    'all others only observe until a team turns them on'
  )
  for (const name of names) {
    const { about } = catalogue[name] ?? {}
    t.ok(
      [about?.title, about?.source, about?.summary, about?.read, about?.status].every(one => one !== undefined),
      `${name} says what it is, where that is specified, in which state, and when it was read`
    )
  }
  const uris = names.flatMap(name => ownUris(catalogue[name]))
  t.same(uris.filter((uri, index) => uris.indexOf(uri) !== index), [], 'no two are for one URI')
  for (const name of names) {
    const pattern = catalogue[name]?.uriPattern
    if (pattern !== undefined) t.same(uris.filter(uri => compileGlob(pattern).test(uri)), [], `nor is the pattern of ${name} for another's`)
  }
})

t.test('the policy that the build has read equals the file, until the file changes', async t => {
  const built = builtPolicies()
  const names: string[] = []
  for (const [name, file] of catalogueFiles()) {
    if (built[name] === undefined) continue
    names.push(name)
    t.strictSame(unchanged(built[name], file), readPolicy(file), name)
  }
  t.strictSame(names, Object.keys(loadCatalogue()), 'all of them')

  const directory = mkdtempSync(join(tmpdir(), 'catalogue-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  const [[name, original] = ['', '']] = catalogueFiles()
  const file = join(directory, 'p.yaml')
  copyFileSync(original, file)
  t.not(unchanged(built[name], file), null)
  writeFileSync(file, `${readFileSync(original, 'utf8')}\n`)
  t.equal(unchanged(built[name], file), null, 'a byte is enough')
  t.equal(unchanged(undefined, file), null, 'a policy that was put there since')
  t.strictSame(builtCatalogue(), built, 'the build has put its catalogue in place')
})
