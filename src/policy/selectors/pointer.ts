/** JSON Pointers into a request, by the field names of A2A 1.0. */
import { isSameField, isSpelling } from '#a2a/fields.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import { isObject } from '#wire/json/object.js'
import type { JsonPath } from '#wire/json/edit.js'
import type { Place, Selected, Selector } from './selection.js'
import { childPath, descendPath, NAME_LIMIT, NOWHERE, plain, stepInto } from './selection.js'
import type { RequestSubject } from './subject.js'
import { parsePointer } from '#wire/json/pointer.js'

export function compilePointer (pointer: string, located: boolean): Selector {
  const steps = parsePointer(pointer)
  return {
    needsMessage: false,
    missing: subject => descendPath(subject.call.request?.path ?? '', steps),
    select: subject => {
      const { request, operation } = subject.call
      if (request === null) return []
      const at: JsonPath = request.path === '' ? [] : [request.path]
      // Methods and routes of an extension have their own field names.
      const isProtocol = operation !== 'Other' && operation !== 'Extension'
      const selected: Selected[] = []
      walk({ subject, steps, located, found: selected }, 0, { path: request.path, value: request.object, at, isProtocol, ambiguous: null })
      return selected
    }
  }
}

/** Steps of a key that is compared with a field's name, in any spelling. */
const KEY = 1

interface FieldPlace extends Place {
  /** True when the members are fields of the protocol, which agents know by several names. False in the client's own data. */
  readonly isProtocol: boolean
  readonly ambiguous: string | null
}

interface Walk {
  readonly subject: RequestSubject
  readonly steps: readonly string[]
  readonly located: boolean
  readonly found: Selected[]
}

/**
 * Descends from one place, through every key that some agent treats as the name.
 * @param depth index of the next step
 */
function walk (all: Walk, depth: number, place: FieldPlace): void {
  const { subject, steps, located, found: matches } = all
  spendBudget(1)
  const name = steps[depth]
  if (name === undefined) {
    matches.push(plain(place.path, place.value, located ? place.at : NOWHERE, place.ambiguous))
    return
  }
  const ways = waysOf(subject, place, name)
  for (const keys of ways) {
    let { path, value, at } = place
    for (const key of keys) {
      path = childPath(path, value, key, NAME_LIMIT)
      at = [...at, Array.isArray(value) ? Number(key) : key]
      value = stepInto(value, key)
    }
    if (value === undefined) continue
    const ambiguity =
      ways.length > 1 || !(keys.length > 1 || Array.isArray(place.value) || isKnownKey(subject, place, name, keys[0] ?? name))
    const ambiguous = place.ambiguous ?? (ambiguity ? `some agents read it as "${name}"; send only "${name}"` : null)
    const isMessage = value === subject.message?.fields.object
    walk(all, depth + 1, {
      path,
      value,
      at,
      isProtocol: isMessage || (place.isProtocol && name !== 'metadata' && name !== 'data'),
      ambiguous
    })
  }
}

function isKnownKey (subject: RequestSubject, place: FieldPlace, name: string, key: string): boolean {
  return !place.isProtocol || isSpelling(key, name) || readAs(subject, place.value, name)?.[0] === key
}

/** Returns the ways to the field. Each way is a list of keys, usually with one key. */
function waysOf (subject: RequestSubject, { value, isProtocol }: FieldPlace, name: string): readonly (readonly string[])[] {
  const read = readAs(subject, value, name)
  if (read !== null) return [read]
  // No field of A2A has an underscore.
  if (!isProtocol || !isObject(value) || name.includes('_')) return [[name]]
  const keys = Object.keys(value)
  spendBudget(keys.length * KEY)
  return keys.filter(key => isSameField(key, name)).map(key => [key])
}

/** Returns the keys through which the message view has read a field, or null when the view does not know the field. */
function readAs ({ call, message }: RequestSubject, object: unknown, name: string): readonly string[] | null {
  const { view } = call
  if (view === null) return null
  let key: string | null | undefined = null
  if (object === view.fields.object) key = name === 'message' ? message?.steps.at(-1) as string | undefined : view.fields.key(name)
  else if (message === null) return null
  else if (object === message.fields.object) key = name === 'parts' && message.list !== null ? message.list.key : message.fields.key(name)
  else {
    spendBudget(message.parts.length / 100)
    const part = message.parts.find(part => part.fields.object === object)
    if (part === undefined) return null
    if (name === 'data' && part.isData) return [part.fields.key('data') ?? 'data', ...part.dataSteps.slice(1)]
    key = part.fields.key(name)
  }
  return key === null || key === undefined ? null : [key]
}
