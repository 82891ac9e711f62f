/** Selectors of the policy vocabulary, compiled to functions over a request. */
import { isObject, memberPath } from '../a2a/fields.js'
import type { MetadataSelectorConfig, SelectorConfig } from '../config/model.js'
import type { JsonPath } from '../wire/json-edit.js'
import type { Glob } from './glob.js'
import { compileName, matchingKeys } from './glob.js'
import type { Holder } from './metadata.js'
import { holders } from './metadata.js'
import type { SelectContext, Selected, Selector } from './select-kit.js'
import { NAME_LIMIT, NO_CAPTURES, NOWHERE } from './select-kit.js'
import { compilePart } from './select-part.js'
import type { Subject } from './subject.js'

/** @param located whether the selector is to tell where in the request the values lie, for edits */
export function compileSelector (config: SelectorConfig, context: SelectContext, located = false): Selector {
  if (config.metadata !== undefined) return compileMetadata(config.metadata, context, located)
  if (config.header !== undefined) return compileHeader(config.header, located)
  if (config.pointer !== undefined) return compilePointer(config.pointer, located)
  return compilePart(config.part ?? {}, context, located)
}

function plain (path: string, value: unknown, at: JsonPath): Selected {
  return { path, typePath: null, value, captures: NO_CAPTURES, ambiguous: null, at }
}

function compileMetadata (config: MetadataSelectorConfig, context: SelectContext, located: boolean): Selector {
  const places = config.in ?? ['message']
  const names = compileName(config.key, context.uris)
  const steps = config.path === undefined ? [] : parsePointer(config.path)
  const only = places.length === 1 && places[0] !== 'part' ? names[0]?.literal ?? null : null
  return {
    needsMessage: !places.includes('params'),
    missing: only === null ? null : subject => descendPath(memberPath(holders(subject, places)[0]?.path ?? subject.message?.path ?? '', only, NAME_LIMIT), steps),
    select: subject => {
      const found: Selected[] = []
      for (const holder of holders(subject, places)) selectMetadata(holder, names, steps, config.equals, located, found)
      return found
    }
  }
}

function selectMetadata (holder: Holder, names: readonly Glob[], steps: readonly string[], equals: unknown, located: boolean, found: Selected[]): void {
  if (!isObject(holder.metadata)) return
  for (const { key, exact } of matchingKeys(holder.metadata, names)) {
    const at: Steps | null = located ? [] : null
    const value = descend(holder.metadata[key], steps, at)
    if (value === undefined || (equals !== undefined && value !== equals)) continue
    found.push(plain(descendPath(memberPath(holder.path, key, exact ? NAME_LIMIT : undefined), steps), value, at === null ? NOWHERE : [...holder.steps(), key, ...at]))
  }
}

function compileHeader (header: string, located: boolean): Selector {
  const name = header.toLowerCase()
  const path = `header ${header}`
  return {
    needsMessage: false,
    missing: () => path,
    select: subject => subject.lines(name, located).map(line => plain(path, subject.rawHeaders[line + 1] ?? '', [line]))
  }
}

function compilePointer (pointer: string, located: boolean): Selector {
  const steps = parsePointer(pointer)
  return {
    needsMessage: false,
    missing: subject => descendPath(subject.call.request?.path ?? '', steps),
    select: subject => {
      const { request } = subject.call
      if (request === null) return []
      let value: unknown = request.object
      let path = request.path
      const at: Steps | null = !located ? null : request.path === '' ? [] : [request.path]
      for (const name of steps) {
        const key = spelledBy(subject, value, name)
        path = stepPath(path, value, key)
        at?.push(Array.isArray(value) ? Number(key) : key)
        value = step(value, key)
        if (value === undefined) return []
      }
      return [plain(path, value, at ?? NOWHERE)]
    }
  }
}

/** Fields of the request, its message and its parts are found in either of their spellings; all else is compared as it stands. */
function spelledBy ({ call, message }: Subject, object: unknown, name: string): string {
  const { view } = call
  if (view === null) return name
  if (object === view.fields.object) return view.fields.key(name) ?? name
  if (message === null) return name
  if (object === message.fields.object) return message.fields.key(name) ?? name
  return message.parts.find(part => part.fields.object === object)?.fields.key(name) ?? name
}

/** @param pointer RFC 6901, beginning with a slash */
export function parsePointer (pointer: string): string[] {
  return pointer.slice(1).split('/').map(one => one.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Keys, and numbers for indexes. */
type Steps = (string | number)[]

/** @param at gets the steps taken */
function descend (value: unknown, steps: readonly string[], at: Steps | null): unknown {
  let found = value
  for (const name of steps) {
    at?.push(Array.isArray(found) ? Number(name) : name)
    found = step(found, name)
  }
  return found
}

const INDEX = /^(?:0|[1-9]\d{0,8})$/

function step (value: unknown, name: string): unknown {
  if (Array.isArray(value)) return INDEX.test(name) ? (value[Number(name)] as unknown) : undefined
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function descendPath (path: string, steps: readonly string[]): string {
  return steps.reduce((found, name) => INDEX.test(name) ? `${found}[${name}]` : memberPath(found, name, NAME_LIMIT), path)
}

function stepPath (path: string, value: unknown, name: string): string {
  return Array.isArray(value) ? `${path}[${name}]` : memberPath(path, name, NAME_LIMIT)
}
