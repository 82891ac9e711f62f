/** Headers with secrets: `card.headers`, `card.extended.headers` and `decisionPoints.NAME.headers`. */
import { mapping, optional, record, SECRET_SOURCES } from './schema-builder.js'
import type { Schema, TypeOf } from './schema-builder.js'

const secretHeader = mapping('One header. Needs `file` or `env`.', [], {
  ...SECRET_SOURCES,
  prefix: optional({
    type: 'string', description: 'Text before the secret, such as `Bearer ` with its space. Default: none.', minLength: 1, maxLength: 100
  } as Schema<string>)
})

/** Values of headers by name, in the spelling of the configuration. */
export const secretHeaders = (description: string): Schema<SecretHeaders> =>
  record(description, 'header-name', secretHeader, { maxProperties: 16 }, {})

/** Value of a header: a secret, with an optional text before it. */
export type SecretHeaderConfig = TypeOf<typeof secretHeader>

/** Values of headers by name, in the spelling of the configuration. */
export type SecretHeaders = Readonly<Record<string, SecretHeaderConfig>>
