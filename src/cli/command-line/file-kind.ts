/** Recognises a file of another kind than the command expects, so that its message can name the right command. */
import { diagnostic } from '#config/diagnostics.js'
import type { Diagnostic } from '#config/diagnostics.js'
import { readYaml } from '#config/yaml/document.js'
import { isCurl } from '#offline/recording/recording.js'
import { isObject } from '#wire/json/object.js'

export type FileKind = 'configuration' | 'tests' | 'recording' | 'card'

const NOUNS: Readonly<Record<FileKind, string>> = {
  configuration: 'a configuration', tests: 'a policy test file', recording: 'a recording of requests', card: 'an agent card'
}

/** Longest text that is parsed, in characters. */
const LARGEST = 200_000

/** @returns null for a file that could be of any kind */
export function kindOfFile (name: string, text: string): FileKind | null {
  if (/\.(?:http|rest|har)$/i.test(name) || isCurl(text)) return 'recording'
  if (text.length > LARGEST) return null
  const { readable, root } = readYaml(text, null)
  const value = readable ? root?.value : null
  if (!isObject(value)) return null
  const has = (...keys: readonly string[]): boolean => keys.some(key => Object.hasOwn(value, key))
  if (has('tests')) return has('agents', 'server') ? null : 'tests'
  if (has('agents') || (has('version') && has('server', 'extensions', 'identity'))) return 'configuration'
  if (has('jsonrpc', 'rpc') || (isObject(value.log) && Object.hasOwn(value.log, 'entries'))) return 'recording'
  return has('capabilities') && has('skills', 'url', 'supportedInterfaces') ? 'card' : null
}

export function wrongKind (file: string, kind: FileKind, expected: keyof typeof CODES): Diagnostic {
  const uses: Readonly<Record<FileKind, string>> = {
    configuration: `check it with "a2a-gateway check ${file}"`,
    tests: `run it with "a2a-gateway test ${file}"`,
    recording: `explain it with "a2a-gateway explain ${file}"`,
    card: expected === 'configuration' ? `create a configuration with "a2a-gateway init --card ${file}"` : `name it with "--card ${file}"`
  }
  return diagnostic(file, 0, 0, { message: `this is ${NOUNS[kind]}, not ${NOUNS[expected]}`, hint: uses[kind], code: CODES[expected] })
}

const CODES = { configuration: 'A2AGW_ERR_CONFIG_UNREADABLE', tests: 'A2AGW_ERR_TEST_FILE', recording: 'A2AGW_ERR_RECORDING' } as const
