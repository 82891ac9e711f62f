/** What the official agents made of each corpus: the JSON files of this folder, written by the interop suite with A2A_TEST_RECORD=1. */
import { readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { GRPC_SERVICES, grpcMethodOf } from '#a2a/grpc/methods.js'
import type { Version } from '#a2a/versions.js'
import { inTests } from '../../helpers/paths.js'
import { generatedMessages } from './generated.js'
import { REQUEST_ROWS } from './request-rows.js'
import { NOT_PUBLISHED, ROWS } from './rows.js'
import type { Language, Row } from './rows.js'

export type { Language } from './rows.js'
export const LANGUAGES: readonly Language[] = ['python', 'go', 'javascript']

export interface Reading {
  /** `grpc-status` */
  readonly status: number | null
  /** The message as ProtoJSON of the agent's own library; a text where the library has no form for it; absent when it was not read. */
  readonly read?: unknown
}

/** One reading where all languages agree. */
export type Readings = { readonly all: Reading } | Readonly<Record<Language, Reading>>

export interface Expected {
  readonly name: string
  /** Hexadecimal; long messages are in the rows only. */
  readonly bytes: string
  readonly readings: Readings
}

/** A message of a corpus. Generated ones have no promise: they are never misread. */
export interface Message extends Row {
  /** `/lf.a2a.v1.A2AService/SendMessage` */
  readonly path: string
}

const sendPath = (version: Version): string => `/${GRPC_SERVICES[version]}/SendMessage`
const written = (version: Version): Message[] => ROWS[version].map(row => ({ ...row, path: sendPath(version) }))
const generated = (version: Version): Message[] => generatedMessages(version).map((bytes, i) => ({
  name: `${i}`,
  bytes,
  ours: 'either',
  path: sendPath(version),
  // The damage of this message is a field that proto 0.3.0 does not have.
  ...version === '0.3' && i === 209 ? { except: NOT_PUBLISHED } : {}
}))

export const CORPUS_NAMES = ['corpus', 'corpus-0.3', 'generated', 'generated-0.3', 'requests'] as const
export type CorpusName = typeof CORPUS_NAMES[number]

/** The messages of each corpus: SendMessage of 1.0 and 0.3, written and generated, and the requests of all other methods. */
export const CORPORA: Readonly<Record<CorpusName, () => readonly Message[]>> = {
  corpus: () => written('1.0'),
  'corpus-0.3': () => written('0.3'),
  generated: () => generated('1.0'),
  'generated-0.3': () => generated('0.3'),
  requests: () => REQUEST_ROWS
}

const LONG = 2_000
export const hex = (bytes: Buffer): string => bytes.length > LONG ? `${bytes.length} bytes` : bytes.toString('hex')

const fileOf = (name: CorpusName): string => inTests('differential/grpc', `${name}.json`)

export function readExpected (name: CorpusName): Expected[] {
  return JSON.parse(readFileSync(fileOf(name), 'utf8')) as Expected[]
}

/** One row in one line. */
export function writeExpected (name: CorpusName, rows: readonly Expected[]): void {
  writeFileSync(fileOf(name), `[\n${rows.map(row => JSON.stringify(row)).join(',\n')}\n]\n`)
}

export function readingsOf (one: Readonly<Record<Language, Reading>>): Readings {
  const { python, go, javascript } = one
  return isDeepStrictEqual(python, go) && isDeepStrictEqual(go, javascript) ? { all: python } : { python, go, javascript }
}

export function readingOf (readings: Readings, language: Language): Reading {
  return 'all' in readings ? readings.all : readings[language]
}

/** Metadata of a call of this version: the gateway rejects a version that is not the one of the service. */
export const versionOf = (path: string): { 'a2a-version': Version } => ({ 'a2a-version': grpcMethodOf(path)?.version ?? '1.0' })

/** ProtoJSON without what libraries write each in their own way: the order of members, and zeros at the end of a time. */
export function normalised (json: unknown): unknown {
  if (Array.isArray(json)) return json.map(normalised)
  if (typeof json === 'string') return json.replace(TIME, '$1$2Z').replace(/\.Z$/, 'Z')
  if (typeof json !== 'object' || json === null) return json
  return Object.fromEntries(Object.entries(json).sort(([a], [b]) => a < b ? -1 : 1).map(([key, one]) => [key, normalised(one)]))
}

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d*?)0+Z$/
