/** Reads an AI Catalog and the catalogs within it, from a URL or a file. */
import { open } from 'node:fs/promises'
import { AGENT_CARD_TYPE, CATALOG_TYPE, readCatalog } from '#a2a/catalog/catalog.js'
import { dataDigestProblem, digestProblem } from '#a2a/catalog/artifact-digest.js'
import type { CatalogEntry } from '#a2a/catalog/catalog.js'
import { verifyCatalog } from '#identity/catalog-signature.js'
import type { VerificationKey } from '#identity/jwk-set.js'
import type { AddressGuard } from '#upstream/address-guard.js'
import type { Connections } from '#upstream/bounded-request.js'
import { errorCode } from '#upstream/bounded-request.js'
import { fetchDocument } from '../keys/keys-fetch.js'
import { parseStrict } from '#wire/json/json.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { parseUrl } from '#wire/url.js'

/** Bytes of one document. 10,000 entries of 400 bytes fit. */
const MAX_BYTES = 4 * 1_024 * 1_024
/** Catalogs within each other (AI Catalog 0.9, § Nested Catalog Entries), and documents of one source. */
const MAX_DEPTH = 4
const MAX_DOCUMENTS = 50
/** Entries of all documents of one source. */
const MAX_ENTRIES = 50_000

/** An agent of a catalog. */
export interface AgentEntry extends CatalogEntry {
  /** Base of relative URLs; null for a file. */
  readonly base: URL | null
  /** The key that has signed the document; null for none. */
  readonly signedBy: string | null
}

export interface EntryFault { readonly identifier: string, readonly problem: string }

export interface CatalogContent {
  readonly agents: readonly AgentEntry[]
  readonly faults: readonly EntryFault[]
  /** True when a key of the source has signed the outermost document. */
  readonly signed: boolean
  /** Why the outermost document is not signed; null when it is, or without keys. */
  readonly signature: string | null
  /** Validator of the outermost document; null without one, and when other documents were read too. */
  readonly etag: string | null
}

export interface CatalogReading {
  readonly place: { readonly url: string | null, readonly file: string | null }
  /** Connections to the URL of the configuration. */
  readonly own: Connections
  /** Connections to addresses that a catalog names. */
  readonly guarded: Connections
  readonly guard: AddressGuard
  /** Null: nothing is verified. */
  readonly keys: readonly VerificationKey[] | null
  /** Validator of the last reading; null for none. */
  readonly etag: string | null
}

interface Document {
  readonly value: unknown
  readonly base: URL | null
  readonly depth: number
  /** The key that has signed a document around an inlined one. */
  readonly signedBy: string | null
}

/** @returns `unchanged` when the server says so; `problem`: one sentence, without text of the catalog */
export async function readCatalogs (reading: CatalogReading): Promise<CatalogContent | 'unchanged' | { readonly problem: string }> {
  const { place: { url, file }, own, etag } = reading
  const from = url === null ? file ?? '' : url
  const root = url === null ? await readFile(from) : await fetchCatalog(new URL(url), own, etag)
  if ('problem' in root) return root
  if ('unchanged' in root) return 'unchanged'
  const walk = new Walk(reading, url === null ? null : new URL(url))
  const first = await walk.read({ value: root.value, base: url === null ? null : new URL(url), depth: 1, signedBy: null })
  if ('problem' in first) return { problem: `${from} ${first.problem}` }
  return {
    agents: walk.agents,
    faults: walk.faults,
    signed: first.signedBy !== null,
    signature: first.signature,
    etag: walk.documents === 1 ? root.etag : null
  }
}

interface Signed {
  readonly signedBy: string | null
  /** Why the document is not signed; null when it is, or without keys. */
  readonly signature: string | null
}

class Walk {
  readonly agents: AgentEntry[] = []
  readonly faults: EntryFault[] = []
  documents = 0
  readonly #reading: CatalogReading
  readonly #visited: Set<string>
  #entries = 0

  constructor (reading: CatalogReading, root: URL | null) {
    this.#reading = reading
    this.#visited = new Set(root === null ? [] : [root.href])
  }

  /** Reads a document and the documents within it. */
  async read (document: Document): Promise<Signed | { readonly problem: string }> {
    const { value, base, depth } = document
    this.documents++
    const entriesOfCatalog = readCatalog(value)
    if ('problem' in entriesOfCatalog) return entriesOfCatalog
    const { keys } = this.#reading
    const own = keys === null ? null : await verifyCatalog(value as JsonObject, keys, Date.now())
    // A signed catalog covers the catalogs that it contains, but not those that it only names.
    const signedBy = own !== null && 'key' in own ? own.key : document.signedBy
    this.#entries += entriesOfCatalog.entries.length
    if (this.#entries > MAX_ENTRIES) return { problem: `and the catalogs within it have more than ${MAX_ENTRIES} entries` }
    for (const { index, problem } of entriesOfCatalog.faults) this.faults.push({ identifier: `entries[${index}]`, problem })
    for (const entry of entriesOfCatalog.entries) {
      if (entry.type === AGENT_CARD_TYPE) this.agents.push({ ...entry, base, signedBy })
      else if (entry.type === CATALOG_TYPE) await this.#nested(entry, document, signedBy, depth)
    }
    return { signedBy, signature: own !== null && 'problem' in own ? own.problem : null }
  }

  async #nested (entry: CatalogEntry, { base }: Document, signedBy: string | null, depth: number): Promise<void> {
    const addFault = (problem: string): void => { this.faults.push({ identifier: entry.identifier, problem }) }
    if (depth >= MAX_DEPTH) return addFault(`lies more than ${MAX_DEPTH} catalogs deep`)
    if (this.documents >= MAX_DOCUMENTS) return addFault(`is beyond the first ${MAX_DOCUMENTS} catalogs of the source`)
    if (entry.url === null) {
      const problem = dataDigestProblem(entry.digest, entry.data)
      if (problem !== null) return addFault(problem)
      const read = await this.read({ value: entry.data, base, depth: depth + 1, signedBy })
      return 'problem' in read ? addFault(read.problem) : undefined
    }
    const { guard, guarded } = this.#reading
    const url = addressIn(entry.url, base, guard)
    if ('problem' in url) return addFault(url.problem)
    if (this.#visited.has(url.href)) return addFault('has been read already')
    this.#visited.add(url.href)
    const fetched = await fetchCatalog(url, guarded, null, entry.digest)
    if ('problem' in fetched) return addFault(fetched.problem)
    if ('unchanged' in fetched) return addFault('responded with 304')
    const read = await this.read({ value: fetched.value, base: url, depth: depth + 1, signedBy: null })
    return 'problem' in read ? addFault(read.problem) : undefined
  }
}

/** Reads a URL of a catalog or a card, which may be relative. */
export function addressIn (text: string, base: URL | null, guard: AddressGuard): URL | { readonly problem: string } {
  const url = base === null ? parseUrl(text) : parseUrl(text, base.href)
  if (url === null) return { problem: 'has an address that is not a URL' }
  const { protocol, username, password, hash } = url
  if (protocol !== 'https:' && protocol !== 'http:') return { problem: 'has an address that is neither https nor http' }
  if (username !== '' || password !== '') return { problem: 'has an address with a user name or a password' }
  if (hash !== '') return { problem: 'has an address with a fragment' }
  const problem = guard.problemOf(url)
  return problem === null ? url : { problem: `has an address that ${problem}` }
}

type Fetched = { readonly value: unknown, readonly etag: string | null } | { readonly unchanged: true } | { readonly problem: string }

async function fetchCatalog (url: URL, dispatcher: Connections, etag: string | null, digest: string | null = null): Promise<Fetched> {
  const document = await fetchDocument(
    url, dispatcher, etag, undefined, { accept: `${CATALOG_TYPE}, application/json`, maxBytes: MAX_BYTES }
  )
  if ('problem' in document) return { problem: document.problem }
  if ('unchanged' in document) return { unchanged: true }
  const problem = digestProblem(digest, document.bytes)
  return problem === null ? parsed(document.bytes, document.etag, url.origin + url.pathname) : { problem }
}

async function readFile (path: string): Promise<Fetched> {
  try {
    const file = await open(path, 'r')
    try {
      const { size } = await file.stat()
      if (size > MAX_BYTES) return { problem: `${path} has more than ${MAX_BYTES} bytes` }
      return parsed(await file.readFile(), null, path)
    } finally {
      await file.close()
    }
  } catch (error) {
    return { problem: `${path} cannot be read: ${errorCode(error) ?? 'unknown error'}` }
  }
}

function parsed (bytes: Buffer, etag: string | null, from: string): Fetched {
  const read = parseStrict(bytes, { depth: 64, members: 1_000_000 })
  if (!read.ok) return { problem: `${from} does not contain a catalog: ${read.problem.message}` }
  return isObject(read.value) ? { value: read.value, etag } : { problem: `${from} is not a JSON object` }
}
