/** What the documentation says of a field of a log line or audit line, or of a span's attribute. Markdown. */
export interface Described {
  /** Of its JSON value. */
  readonly type: string
  /** When it is there; left out where it always is. */
  readonly when?: string
  readonly meaning: string
}

/** For tables of `Described` that keep the names of their keys. */
export type DescribedTable = Readonly<Record<string, Described>>
