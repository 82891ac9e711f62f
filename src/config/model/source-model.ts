import type { JsonObject } from '#wire/json/object.js'

/** One source of agents beside the list in the file. */
export interface AgentSourceConfig {
  readonly name: string
  /** Exactly one of `catalog` and `kubernetes` is not null. `file` is absolute. */
  readonly catalog: { readonly url: string | null, readonly file: string | null } | null
  readonly kubernetes: KubernetesSourceConfig | null
  /** Time between two reads of a catalog, ms. */
  readonly refresh: number
  readonly select: SourceSelection
  /** Keys of each agent of the source, as the file has them. `{name}` in `name` and `path` is the name of the entry. */
  readonly agent: JsonObject
  readonly admit: Admission
  /** Keys that sign the catalog or the cards. Null: those of `card.verify` in `agent`. `file` is absolute. */
  readonly keys: SourceKeysConfig | null
  /** Networks in which the addresses of entries and cards may be although they are private. */
  readonly allowPrivate: readonly string[]
  /** Largest number of agents of the source. */
  readonly limit: number
}

/** `pinned`: agents of the lock file. `signed`: entries of a signed catalog, and entries with a signed card. `all`: every entry. */
export type Admission = 'pinned' | 'signed' | 'all'

/** Conditions on entries; all must hold. */
export interface SourceSelection {
  /** Tags that an entry must have. */
  readonly tags: readonly string[]
  /** Patterns of which one must match the identifier; empty: any. */
  readonly identifiers: readonly string[]
  /** Identifier of the publisher; null: any. */
  readonly publisher: string | null
}

export interface SourceKeysConfig {
  readonly url: string | null
  readonly file: string | null
  /** Time that fetched keys stay in use while their URL cannot be reached, ms. */
  readonly maxStale: number
}

export interface KubernetesSourceConfig {
  /** Namespaces with the Services. */
  readonly namespaces: readonly string[]
  /** Label selector of the Services. */
  readonly selector: string
  /** Name or number of the port. Null: the only port, or the port named `a2a` or `http`. */
  readonly port: string | null
  /** Null: the API server of the cluster that the gateway runs in. */
  readonly api: { readonly url: string, readonly ca: string | null, readonly token: string | null } | null
}
