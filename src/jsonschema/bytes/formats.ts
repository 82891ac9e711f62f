/** Formats of strings that an automaton accepts. The automata are stricter than ajv-formats; Ajv decides about the rest. */

const DAY =
  '(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)'
const DATE = `[0-9]{4}-${DAY}`
const TIME = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])'
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?'
const BYTE = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'

/** Patterns whose strings surely have the format. February 29 and most URIs are left to Ajv. */
export const SURE: Readonly<Record<string, string>> = {
  date: `^${DATE}$`,
  'date-time': `^${DATE}[Tt]${TIME}$`,
  time: `^${TIME}$`,
  email: `^[\\w+-]+(?:\\.[\\w+-]+)*@(?:${LABEL}\\.)+${LABEL}$`,
  ipv4: `^(?:${BYTE}\\.){3}${BYTE}$`,
  uri: '^https?:\\/\\/[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)*(?::[0-9]{1,5})?(?:\\/[\\w.~\\/-]*)?(?:\\?[\\w.~=&\\/-]*)?(?:#[\\w.~=&\\/-]*)?$',
  uuid: '^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$'
}

/** Formats of ajv-formats that concern numbers: the keyword accepts every string. */
export const NUMERIC_FORMATS: ReadonlySet<string> = new Set(['double', 'float', 'int32', 'int64'])
