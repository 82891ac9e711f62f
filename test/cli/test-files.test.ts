/** The arguments of `a2a-gateway test`: files, directories, patterns. */
import { symlinkSync } from 'node:fs'
import t from 'tap'
import { testFiles } from '#cli/policy-tests/files.js'
import { runFiles, one } from '../offline/kit.js'

const HI = '{message: {parts: [{text: hi}]}}'

t.test('directories and patterns', async t => {
  const directory = t.testdir({
    'a.test.yaml': '',
    'b.test.yml': '',
    'gateway.yaml': '',
    '[x].test.yaml': '',
    sub: { 'c.test.yaml': '', deep: { 'd.test.yaml': '', 'notes.yaml': '' }, node_modules: { 'e.test.yaml': '' } },
    empty: { 'x.yaml': '' }
  })
  symlinkSync(directory, `${directory}/sub/loop`)
  const found = (...names: string[]): unknown => {
    const result = testFiles(names.map(name => name === '' ? directory : `${directory}/${name}`))
    return 'problem' in result ? result.problem.replaceAll(directory, '') : result.files.map(file => file.slice(directory.length + 1))
  }
  t.same(found('a.test.yaml', 'none.test.yaml'), ['a.test.yaml', 'none.test.yaml'], 'a missing file is reported where it is read')
  t.same(found(''), ['[x].test.yaml', 'a.test.yaml', 'b.test.yml', 'sub/c.test.yaml', 'sub/deep/d.test.yaml'])
  t.same(found('sub', ''), ['sub/c.test.yaml', 'sub/deep/d.test.yaml', '[x].test.yaml', 'a.test.yaml', 'b.test.yml'], 'each once')
  t.same(found('*.test.yaml'), ['[x].test.yaml', 'a.test.yaml'])
  t.same(found('[x].test.yaml'), ['[x].test.yaml'], 'a file of this name is no pattern')
  t.same(found('[ab].test.y*ml'), ['a.test.yaml', 'b.test.yml'])
  t.same(found('{a,b}.test.{yaml,yml}'), ['a.test.yaml', 'b.test.yml'])
  t.same(found('?.test.yaml'), ['a.test.yaml'])
  t.same(found('*/*.test.yaml'), ['sub/c.test.yaml'])
  t.same(found('s*b/**/*.yaml'), ['sub/c.test.yaml', 'sub/deep/d.test.yaml', 'sub/deep/notes.yaml'])
  t.same(found('**/d.test.yaml'), ['sub/deep/d.test.yaml'])
  t.equal(found('empty'), '/empty: there is no file *.test.yaml in this directory')
  t.equal(found('[z-a].test.yaml'), 'no file matches "/[z-a].test.yaml"')
  t.equal(found('*.test.json'), 'no file matches "/*.test.json"')
})

t.test('relative names stay relative', async t => {
  const directory = t.testdir({ 'a.test.yaml': '', sub: { 'b.test.yaml': '' } })
  const before = process.cwd()
  process.chdir(directory)
  t.teardown(() => { process.chdir(before) })
  t.same(testFiles(['.']), { files: ['a.test.yaml', 'sub/b.test.yaml'] })
  t.same(testFiles(['./*.test.yaml']), { files: ['a.test.yaml'] })
  t.same(testFiles(['**/*.test.yaml']), { files: ['a.test.yaml', 'sub/b.test.yaml'] })
})

t.test('the command runs all files of a directory, and none is a usage error', async t => {
  const text = one(HI, '{decision: reject}')
  const ran = runFiles(t, { 'a.test.yaml': text, 'sub/b.test.yaml': text }, { files: [t.testdirName] })
  t.match(ran, { code: 0, out: /^a\.test\.yaml\n[^]*\nsub\/b\.test\.yaml\n/ })
  t.match(runFiles(t, { 'x.yaml': '' }, { files: [t.testdirName] }), { code: 2, out: '', err: /there is no file \*\.test\.yaml/ })
  t.match(runFiles(t, {}, { files: [] }), { code: 2, err: /name test files or a directory/ })
})
