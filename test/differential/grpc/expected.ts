/** What the official agents made of the corpus: `corpus.json` and `generated.json`, written by the interop suite with A2A_TEST_RECORD=1. */
import { readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { inTests } from '../../helpers/paths.js'
import { generatedMessages } from './generated.js'
import { ROWS } from './rows.js'
import type { Row } from './rows.js'

export type Language = 'python' | 'go' | 'javascript'
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

export type CorpusName = 'corpus' | 'generated'

/** The messages of each corpus. */
export const CORPORA: Readonly<Record<CorpusName, () => ReadonlyArray<Pick<Row, 'name' | 'bytes'>>>> = {
  corpus: () => ROWS,
  generated: () => generatedMessages().map((bytes, i) => ({ name: `${i}`, bytes }))
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
