/** Selectors of the policy vocabulary, compiled to functions over a request. */
import type { Fields } from '../a2a/fields.js'
import { isObject, memberPath } from '../a2a/fields.js'
import type { MetadataSelectorConfig, SelectorConfig } from '../config/model.js'
import type { Glob } from './glob.js'
import { compileName, matchingKeys } from './glob.js'
import type { SelectContext, Selected, Selector } from './select-kit.js'
import { NAME_LIMIT, NO_CAPTURES } from './select-kit.js'
import { compilePart } from './select-part.js'
import type { Subject } from './subject.js'

export function compileSelector (config: SelectorConfig, context: SelectContext): Selector {
  if (config.metadata !== undefined) return compileMetadata(config.metadata, context)
  if (config.header !== undefined) return compileHeader(config.header)
  if (config.pointer !== undefined) return compilePointer(config.pointer)
  return compilePart(config.part ?? {}, context)
}

function plain (path: string, value: unknown): Selected {
  return { path, typePath: null, value, captures: NO_CAPTURES, ambiguous: null }
}

interface Holder { readonly path: string, readonly metadata: unknown }

function compileMetadata (config: MetadataSelectorConfig, context: SelectContext): Selector {
  const places = config.in ?? ['message']
  const names = compileName(config.key, context.uris)
  const steps = config.path === undefined ? [] : parsePointer(config.path)
  const only = places.length === 1 && places[0] !== 'part' ? names[0]?.literal ?? null : null
  return {
    needsMessage: !places.includes('params'),
    missing: only === null ? null : subject => descendPath(memberPath(holders(subject, places)[0]?.path ?? subject.message?.path ?? '', only, NAME_LIMIT), steps),
    select: subject => {
      const found: Selected[] = []
      for (const holder of holders(subject, places)) selectMetadata(holder, names, steps, config.equals, found)
      return found
    }
  }
}

function selectMetadata (holder: Holder, names: readonly Glob[], steps: readonly string[], equals: unknown, found: Selected[]): void {
  if (!isObject(holder.metadata)) return
  for (const { key, exact } of matchingKeys(holder.metadata, names)) {
    const value = descend(holder.metadata[key], steps)
    if (value === undefined || (equals !== undefined && value !== equals)) continue
    found.push(plain(descendPath(memberPath(holder.path, key, exact ? NAME_LIMIT : undefined), steps), value))
  }
}

function holders ({ call, message }: Subject, places: readonly ('message' | 'params' | 'part')[]): Holder[] {
  const found: Holder[] = []
  for (const place of places) {
    if (place === 'message' && message !== null) found.push(metadataOf(message.fields))
    if (place === 'params' && call.view !== null) found.push(metadataOf(call.view.fields))
    else if (place === 'params') found.push({ path: memberPath(call.request?.path ?? '', 'metadata'), metadata: call.request === null ? undefined : step(call.request.object, 'metadata') })
    if (place === 'part' && message !== null) for (const part of message.parts) found.push(metadataOf(part.fields))
  }
  return found
}

function metadataOf (fields: Fields): Holder {
  return { path: fields.pathOf('metadata'), metadata: fields.get('metadata') }
}

function compileHeader (header: string): Selector {
  const name = header.toLowerCase()
  const path = `header ${header}`
  return { needsMessage: false, missing: () => path, select: subject => subject.header(name).map(value => plain(path, value)) }
}

function compilePointer (pointer: string): Selector {
  const steps = parsePointer(pointer)
  return {
    needsMessage: false,
    missing: subject => descendPath(subject.call.request?.path ?? '', steps),
    select: subject => {
      const { request } = subject.call
      if (request === null) return []
      let value: unknown = request.object
      let path = request.path
      for (const name of steps) {
        const key = spelledBy(subject, value, name)
        path = stepPath(path, value, key)
        value = step(value, key)
        if (value === undefined) return []
      }
      return [plain(path, value)]
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

function descend (value: unknown, steps: readonly string[]): unknown {
  let found = value
  for (const name of steps) found = step(found, name)
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
