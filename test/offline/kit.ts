/** Runs `a2a-gateway test` on files that a test writes. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import type { TestArguments } from '#cli/test.js'
import { runTest } from '#cli/test.js'

export interface Ran { readonly code: number, readonly out: string, readonly err: string }

/** @param files by name; those that end in `.test.yaml` are run. The directory's name is left out of what is printed. */
export function runFiles (t: Test, files: Readonly<Record<string, string>>, more: Partial<TestArguments> = {}): Ran {
  const directory = t.testdir()
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
  let out = ''
  let err = ''
  const config = 'gateway.yaml' in files ? join(directory, 'gateway.yaml') : null
  const code = runTest({
    files: Object.keys(files).filter(name => name.endsWith('.test.yaml')).map(name => join(directory, name)),
    config,
    only: null,
    format: 'pretty',
    terminal: false,
    env: {},
    ...more
  }, { out: text => { out += text }, err: text => { err += `${text}\n` } })
  return { code, out: out.replaceAll(`${directory}/`, ''), err: err.replaceAll(`${directory}/`, '') }
}

/** A card that declares one extension, and a policy for it: an order has a quantity. */
export const HEAD = `card:
  capabilities:
    extensions: [{uri: 'https://e.test/orders'}, {uri: 'https://e.test/other'}]
agent: {extensions: [orders, other]}
extensions:
  orders:
    uri: https://e.test/orders
    owns: {dataKeys: [order]}
    activation: {required: always}
    request:
      - id: order
        select: {part: {dataKey: order}}
        schema: {type: object, required: [quantity], properties: {quantity: {type: integer}}}
      - id: polite
        select: {metadata: {key: polite}}
        count: {min: 1}
        verdict: warn
  other:
    uri: https://e.test/other
    activation: {default: inject}
`

/** One test in the file of `HEAD`: its request and what is expected, each as YAML in flow style. */
export function one (request: string, expect: string, more = ''): string {
  return `${HEAD}tests:\n  - name: it\n    versions: ['1.0']\n${more}    request: ${request}\n    expect: ${expect}\n`
}
