/** The configuration. Loading any file ends with a configuration, or with problems that each have a place in the file and a message. */
/* eslint no-template-curly-in-string: off -- ${VAR} is the configuration's own syntax */
import { deepStrictEqual as same, ok } from 'node:assert'
import { CHECKS } from '#offline/configuration.js'
import type { Diagnostic, LoadResult } from '#config/load.js'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import { configSchema } from '#config/schema/schema.js'
import type { Reader, Target } from '../engine/target.js'

const WORDS = [
  ...new Set(
    JSON.stringify(configSchema, (key, value: unknown) => (key === 'description' ? undefined : value)).match(/[A-Za-z][\w-]*/g) ?? []
  )
]
const AGENT = 'version: 1\nagents:\n  - name: a\n    upstream: {url: "http://h"}\n'

export const config: Target & Reader = {
  name: 'config',
  maxBytes: 2048,
  seeds: [
    AGENT,
    `${AGENT}    extensions: [p, x402]\nextensions:\n  p:\n    uri: urn:p\n    request:\n      - id: r\n        select: {part: {dataKey: a}}\n        schema: {type: object}\n`,
    `${AGENT}server: {listen: ":8080", trustedProxies: [10.0.0.0/8]}\nlimits: {body: 1MiB, requestTimeout: 3s}\n`,
    `${AGENT}    path: /a\n  - {name: b, path: /b, upstream: {url: "\${A:-http://x}", timeouts: {connect: 1s}}}\n`,
    'version: 1\nagents: &a [{name: *b}]\nx: &b\n  <<: *a\n',
    '{"version": 1, "agents": []}',
    '',
    '---\n- a\n...\n--- b',
    'version: 2',
    `${AGENT}extensions: {p: {uri: "urn:p", owns: {metadata: [$uri]}, inactive: {request: strip}, response: [{id: r, select: {event: last}, count: {min: 1}, verdict: warn}]}}\n`,
    `${AGENT}extensions:\n  q:\n    uriPattern: "urn:*"\n    inject: [{into: message, key: k, value: 1}]\n    correlate: [{id: c, remember: {on: response, select: {metadata: {key: k}}}, check: {on: request, select: {metadata: {key: k}}, relation: equal}}]\n    state: {from: {metadata: {key: s}}, transitions: {"": [a]}}\n`
  ],
  dictionary: [
    ...WORDS,
    ': ',
    '- ',
    '\n',
    '\n  ',
    '\n    ',
    '[',
    ']',
    '{',
    '}',
    ',',
    '"',
    "'",
    '&a ',
    '*a',
    '<<: *a',
    '|\n',
    '>-\n',
    '#',
    '? ',
    '! ',
    '!!str ',
    '%YAML',
    '---\n',
    '...\n',
    '${A}',
    '${B:-1}',
    '$$',
    '~',
    'null',
    'true',
    '3s',
    '4MiB',
    '1e9',
    '-1',
    '/a',
    'http://h',
    'urn:x',
    '__proto__',
    'constructor',
    '\t',
    '\ufeff',
    '\u2028',
    '\0',
    '\r'
  ],
  read: bytes => load(new TextDecoder('utf-8').decode(bytes)),
  check (bytes) {
    const text = new TextDecoder('utf-8').decode(bytes)
    const result = load(text)
    const lines = text.split('\n')
    for (const problem of result.ok ? result.warnings : result.problems) placed(problem, lines)
    if (!result.ok) {
      ok(result.problems.length > 0, 'a refusal has reasons')
      return
    }
    same(load(`${text}\n# a comment\n`), result, 'a comment changes nothing')
  }
}

function load (text: string): LoadResult {
  return parseConfig(text, { file: 'g.yaml', baseDir: '/nowhere', env: { A: 'http://env' }, checks: CHECKS })
}

function placed (problem: Diagnostic, lines: readonly string[]): void {
  const { file, line, col, message } = problem
  ok(file === 'g.yaml' && message.trim() !== '')
  ok(/^[^\p{Cc}\u2028\u2029]+$/u.test(formatDiagnostic(problem)), 'one line')
  ok(!/undefined|NaN|\[object/.test(message), message)
  if (line === 0) {
    ok(/^(?:the file is empty|the file is larger than 1 MiB|\d+ more problems not shown)$/.test(message), `no place: ${message}`)
    return
  }
  // The end of the file is a valid place too.
  ok(
    line >= 1 && line <= lines.length && col >= 1 && col <= (lines[line - 1] as string).length + 2,
    `${line}:${col} is not in the file: ${message}`
  )
}
