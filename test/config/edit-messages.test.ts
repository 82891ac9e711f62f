import t from 'tap'
import { EDIT_FILES, EDIT_ROWS, editLines } from './edit-rows.js'
import { policyWith } from './rows.js'

const directory = t.testdir(EDIT_FILES)

for (const [name, text, ...expected] of EDIT_ROWS) {
  t.test(name, async t => {
    const printed = editLines(text, directory)
    t.same(printed, expected)
    t.notMatch(printed.join('\n'), /hunter2/, 'what a secret says is never told')
  })
}

t.test('valid files produce no problems', async t => {
  const right = [
    'redact: [$uri, "$uri/a", "key#/a/*/b~1c", "$uri#/x"]',
    'owns: {metadata: [$uri]}\ninactive: {request: reject}\ninject: [{metadata: $uri, fromSecret: {file: secret.txt}}, {metadata: $uri/x, fromSecret: {env: TOKEN}, existing: keep, when: {taskId: present}}, {metadata: n, value: null}]',
    'activation: {signals: [always]}\ninject: [{metadata: a, value: 1, when: {taskId: present}}, {metadata: a, value: 2}]',
    'activation: {default: inject}\ninject: [{metadata: k, value: 1}]\nrequest: [{id: r, select: {metadata: {key: k}}, count: {min: 1}}]',
    'integrity: verbatim\nowns: {headers: [signature]}\ninactive: {request: reject}\nrequest: [{id: r, select: {header: signature}, count: {min: 1}}]',
    'owns: {headers: [x]}\ninactive: {request: strip}\nintegrity: normal'
  ]
  for (const text of right) t.same(editLines(policyWith(text), directory), [], text)
})
