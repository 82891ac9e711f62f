/**
 * Substitutes `${VAR}` and `${VAR:-default}` in scalars. `$$` is a literal `$`. Any other `$` is literal too, so patterns such as `^a$`
 * need no escaping. As in a shell, `:-` applies when the variable is unset or empty.
 */

export type Environment = Readonly<Record<string, string | undefined>>

/** A variable of the environment, and the value that replaced a reference to the variable. */
export interface UsedVariable { readonly name: string, readonly value: string }

/** The text with every reference replaced, or the problem of one reference. */
export type Substitution = { readonly text: string } | { readonly message: string, readonly hint: string }

const REFERENCE = /\$(?:\$|\{([^}]*)(\}?))/g
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

const LITERAL = 'write $$ for a literal $'

/** @param used receives the variables whose values are in the result */
export function substitute (text: string, env: Environment, used: UsedVariable[] = []): Substitution {
  let failure: Substitution | null = null
  const result = text.replaceAll(REFERENCE, (whole: string, inner: string | undefined, close: string | undefined) => {
    if (inner === undefined) return '$'
    const match = close === '}' ? NAME.exec(inner) : null
    if (match === null) {
      failure ??= { message: close === '}' ? `"${whole}" does not name an environment variable` : '"${" is never closed', hint: LITERAL }
      return ''
    }
    const name = match[1] ?? ''
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value !== undefined && (value !== '' || match[2] === undefined)) {
      used.push({ name, value })
      return value
    }
    if (match[2] !== undefined) return match[2]
    failure ??= { message: `environment variable ${name} is not set`, hint: `set it, or write \${${name}:-default}` }
    return ''
  })
  return failure ?? { text: result }
}

/**
 * Reads a plain scalar as YAML's core schema does (YAML 1.2.2 §10.3.2): null, boolean, number or string. The result is never a collection:
 * a variable cannot add structure to the file.
 */
export function retype (text: string): string | number | boolean | null {
  if (/^(?:~|null|Null|NULL)?$/.test(text)) return null
  if (/^(?:true|True|TRUE)$/.test(text)) return true
  if (/^(?:false|False|FALSE)$/.test(text)) return false
  if (/^[-+]?[0-9]+$/.test(text)) return Number(text)
  if (/^0o[0-7]+$|^0x[0-9a-fA-F]+$/.test(text)) return Number(text)
  if (/^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/.test(text)) return Number(text)
  if (/^[-+]?(?:\.inf|\.Inf|\.INF)$/.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  if (/^(?:\.nan|\.NaN|\.NAN)$/.test(text)) return NaN
  return text
}
