/** The documentation of this version: the pages that the build packs (scripts/manual.ts), read at first use. */
import { parseJson } from '#wire/json/parse-json.js'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

/** Name of the packed file, beside this module. */
export const MANUAL_FILE = 'manual.json.gz'

export interface ManualPage {
  readonly title: string
  /** Markdown. */
  readonly text: string
  readonly html: string
}

/** Places of pages are their URLs below `/docs/`, such as `identity` or `extensions/`; the index is the empty string. */
export interface Manual {
  /** Place of the page, by topic. */
  readonly topics: Readonly<Record<string, string>>
  /** Place of the entry, with its anchor, by reason of a rejection. */
  readonly reasons: Readonly<Record<string, string>>
  readonly pages: Readonly<Record<string, ManualPage>>
}

let manual: Manual | null = null

/** @throws Error if the build has not written the file */
export function readManual (): Manual {
  manual ??= parseJson(gunzipSync(readFileSync(join(import.meta.dirname, MANUAL_FILE)))) as Manual
  return manual
}
