import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipString } from './bytes.js'
import { decodeString } from './string-literal.js'

export interface NamePlace {
  /** Offset of the name. */
  readonly offset: number
  /** The name of the member, clipped and in printable ASCII. */
  readonly name: string
  /** Path of the object: `the root object`, `params.message.parts[0]`. */
  readonly place: string
}

/** Maximum number of characters of one name, and of steps of one path, that a message shows. */
const NAME = 40
const STEPS = 12

/**
 * Finds the first object with two members of the same name, in the order of the text. The search is slow and exact. Use it only for valid
 * JSON that is known to have a duplicate.
 */
export function findDuplicate (bytes: Buffer): NamePlace | null {
  return findName(bytes, (name, earlier) => earlier.has(name))
}

/**
 * Finds the first member name, in the order of the text, for which `isWanted` returns true. The search is slow and exact, and for valid
 * JSON only.
 * @param isWanted gets the decoded name, and the names of the same object before it
 */
export function findName (bytes: Buffer, isWanted: (name: string, earlier: ReadonlySet<string>) => boolean): NamePlace | null {
  // One entry for each open container. `names` holds the names seen (null for an array); `steps` holds the name or index read last.
  const names: (Set<string> | null)[] = []
  const steps: (string | number)[] = []
  let nameDue = false
  for (let i = 0; i < bytes.length; i++) {
    switch (bytes[i]) {
      case QUOTE: {
        const end = skipString(bytes, i)
        if (end === -1) return null
        const siblings = names[names.length - 1]
        if (nameDue && siblings != null) {
          const name = decodeString(bytes.toString('utf8', i, end))
          if (isWanted(name, siblings)) return { offset: i, name: printable(name), place: printPath(steps.slice(0, -1)) }
          siblings.add(name)
          steps[steps.length - 1] = name
          nameDue = false
        }
        i = end - 1
        break
      }
      case OPEN_OBJECT:
        names.push(new Set())
        steps.push('')
        nameDue = true
        break
      case OPEN_ARRAY:
        names.push(null)
        steps.push(0)
        nameDue = false
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        names.pop()
        steps.pop()
        nameDue = false
        break
      case COMMA: {
        const step = steps[steps.length - 1]
        if (typeof step === 'number') steps[steps.length - 1] = step + 1
        else nameDue = true
        break
      }
      case COLON:
        nameDue = false
    }
  }
  return null
}

const PLAIN_NAME = /^[A-Za-z_$][A-Za-z0-9_$-]{0,39}$/

/** Writes a path for a message: names are clipped and in printable ASCII, and long paths are cut. */
export function printPath (steps: readonly (string | number)[]): string {
  if (steps.length === 0) return 'the root object'
  let path = ''
  for (const step of steps.slice(0, STEPS)) {
    if (typeof step === 'number') path += `[${step}]`
    else if (!PLAIN_NAME.test(step)) path += `["${printable(step)}"]`
    else path += path === '' ? step : `.${step}`
  }
  return steps.length > STEPS ? `${path}...` : path
}

/** Makes a client's name safe for a log line or a header: printable ASCII, all other characters as JSON escapes, clipped. */
function printable (name: string): string {
  let text = ''
  for (let i = 0; i < name.length && i < NAME; i++) {
    const code = name.charCodeAt(i)
    if (code === 0x22 || code === 0x5c) text += `\\${name[i]}`
    else if (code >= 0x20 && code < 0x7f) text += name[i]
    else text += `\\u${code.toString(16).padStart(4, '0')}`
  }
  return name.length > NAME ? `${text}...` : text
}
