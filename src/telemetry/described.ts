/** Description, for the documentation, of a field of a log line or audit line, or of a span attribute. Markdown. */
export interface Described {
  /** Type of the JSON value. */
  readonly type: string
  /** Condition under which the field is present; omitted if it is always present. */
  readonly when?: string
  readonly meaning: string
}

/** For tables of `Described` that keep the names of their keys. */
export type DescribedTable = Readonly<Record<string, Described>>
