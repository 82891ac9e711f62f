import t from 'tap'
import { readYaml } from '#config/yaml/document.js'
import { guardYaml } from '#config/yaml/guard.js'
import { formatDiagnostic, parseConfig } from '#config/load.js'

// CVE-2026-33532: deeply nested YAML. yaml 2.9.1 aborts the process on 50,000 unclosed brackets, so a file must be
// refused before the parser sees it: a bad ConfigMap must not end a gateway that runs.

const MIB = 1024 * 1024

/**
 * Seconds, far above the time that any of these files takes (worst measured: 2 s), and far below the time that the parser takes without the
 * guard.
 */
const SECONDS = 20

t.test('hostile files end in a problem, quickly', t => {
  const files: Record<string, string> = {
    '50,000 brackets': '['.repeat(50_000),
    '1 MiB of brackets': '['.repeat(MIB),
    '1 MiB of braces': '{'.repeat(MIB),
    'brackets as keys': '[[: '.repeat(MIB / 4),
    'brackets that only seem closed': '[ "]" '.repeat(MIB / 6),
    'brackets closed in comments': '[ # ]\n'.repeat(MIB / 6),
    'dashes on one line': '- '.repeat(MIB / 2),
    'question marks': '? '.repeat(MIB / 2),
    'growing indentation': Array.from({ length: 1400 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
    'closed brackets': '[]'.repeat(MIB / 2),
    'nested keys on one line': 'a: '.repeat(MIB / 3),
    'many keys': Array.from({ length: MIB / 9 }, (_, i) => `k${i}:`).join('\n'),
    'many equal keys': 'a:\n'.repeat(MIB / 6),
    anchors: '&a '.repeat(MIB / 3),
    'a million laughs': `${['a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]', ...Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(', ')}]`)].join('\n')}\n`,
    'many problems': `version: 1\nagents:\n${'  - {}\n'.repeat(MIB / 64)}`,
    'many equal items': `version: 1\nserver: {trustedProxies: [${'a,'.repeat(MIB / 64)}]}`,
    'many bad policies': `version: 1\nagents: []\nextensions:\n${Array.from({ length: MIB / 32 }, (_, i) => `  K${i}: {uri: ""}\n`).join('')}`,
    'many equal policies': `version: 1\nagents: [{extensions: [${'a,'.repeat(MIB / 64)}]}]`,
    'many equal rules': `version: 1\nagents: []\nextensions: {p: {request: [${'{id: a},'.repeat(MIB / 64)}]}}`,
    'control characters': '\u0002\u001f[\u0018'.repeat(MIB / 8)
  }
  for (const [name, text] of Object.entries(files)) {
    const start = performance.now()
    const result = parseConfig(text, { file: 'g.yaml', baseDir: '.', env: {} })
    const took = performance.now() - start
    t.equal(result.ok, false, name)
    t.ok(took < SECONDS * 1000, `${name}: ${took.toFixed(0)} ms`)
  }
  t.end()
})

t.test('the guard and the parser count the same', t => {
  const ok = [
    `${'['.repeat(64)}${']'.repeat(64)}`,
    `a: "${'['.repeat(1000)}"`,
    `a: '${'{'.repeat(1000)}'`,
    `# ${'['.repeat(1000)}\na: 1`,
    `a: |\n  ${'['.repeat(1000)}\n  ${' '.repeat(1000)}x\n`,
    `a: it's [${'['.repeat(1000)}`,
    `${'a: [1, {b: 2}]\n'.repeat(1000)}`,
    `${' '.repeat(250)}a: 1`,
    `a: "\n${' '.repeat(1000)}b"`,
    "a: '!x %y'"
  ]
  for (const text of ok) t.equal(guardYaml(text), null, JSON.stringify(text.slice(0, 40)))
  const refused = [
    `${'['.repeat(65)}${']'.repeat(65)}`,
    `a: ${'{b: '.repeat(65)}`,
    `${'["]", '.repeat(65)}`,
    `${'[ # ]\n'.repeat(65)}`,
    `\r\n${'- '.repeat(130)}`,
    'a: !!str 1',
    'a: ! 1',
    '%TAG ! tag:x,2000:\n---\na: 1'
  ]
  for (const text of refused) t.not(guardYaml(text), null, JSON.stringify(text.slice(0, 40)))
  t.end()
})

t.test('alias expansion is bounded in number and depth', t => {
  const laughs = [
    '- &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]',
    ...Array.from({ length: 9 }, (_, i) => `- &a${i + 1} [${Array(10).fill(`*a${i}`).join(', ')}]`)
  ]
  t.same(readYaml(laughs.join('\n'), {}).problems.map(({ message }) => message), ['more than 100000 values once aliases are expanded'])
  const deep = ['- &a0 []', ...Array.from({ length: 200 }, (_, i) => `- &a${i + 1} [*a${i}]`)]
  const messages = new Set(readYaml(deep.join('\n'), {}).problems.map(({ message }) => message))
  t.same([...messages], ['nested deeper than 200 levels'])
  t.end()
})

t.test('a prototype cannot be reached', t => {
  const text =
    'version: 1\nagents: [{name: a, upstream: {url: "http://h"}, extensions: [__proto__]}]\n__proto__: {mode: off}\nconstructor: {}\n'
  const result = parseConfig(text, { file: 'g.yaml', baseDir: '.', env: {} })
  t.match(result.ok ? [] : result.problems.map(formatDiagnostic), [
    /no policy is named "__proto__"/,
    /unknown key "__proto__"/,
    /unknown key "constructor"/
  ])
  t.equal(Object.hasOwn(Object.prototype, 'mode'), false)
  t.end()
})
