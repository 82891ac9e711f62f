/** JSON Schemas that the configuration has inline, in files, or in an agent's card. */

export type InlineSchema = Readonly<Record<string, unknown>> | boolean

/**
 * An inline JSON Schema, a schema from a file, or an object with exactly one of these keys:
 * - `fromCard`: JSON Pointer templates into the raw AgentCard. The first template that resolves is used. In a template, `{self}` is the
 *   index of the extension in `capabilities.extensions`, and `{name}` is the value captured by a `name=*` media type parameter or by
 *   `captures`. `{member=name}` is the item of a list whose member has the captured value. `?` makes the rest of the template optional.
 * - `enumFromCard`: one such template, in which `*` matches every item or member. The value must be one of the values that the template
 *   selects.
 */
export type SchemaSource = { readonly fromCard: readonly string[] } | { readonly enumFromCard: string } | SchemaRef | InlineSchema

/**
 * A schema from a file, or an inline schema that refers to files. The configuration has `{file: path}`, `{ref: URI}`, or a schema with a
 * nested `{file: path}` or with a `$ref` into a bundle; this type holds the loaded content.
 */
export interface SchemaRef {
  /** URI in the set, with or without a JSON Pointer as fragment. */
  readonly ref: string
  readonly set: SchemaSet
}

/** Name of an inline schema in messages, where the names of the files that it refers to stand too. */
export const INLINE_NAME = 'inline schema'

/** Schemas that are loaded together and may refer to each other. */
export interface SchemaSet {
  /** Null: the `$schema` of each document decides. */
  readonly draft: '2020-12' | '2019-09' | 'draft-07' | null
  /**
   * Documents by URI. `file` is the name in messages. `authored` is false in a bundle, which may hold schemas of other authors: their
   * unknown keywords are annotations.
   */
  readonly documents: ReadonlyMap<string, { readonly file: string, readonly schema: unknown, readonly authored: boolean }>
}
