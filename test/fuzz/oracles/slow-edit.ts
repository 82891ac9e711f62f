/** Applies edits to a parsed JSON tree, by the rules of `editJson`, and checks if bytes match such a tree. */
import { deepStrictEqual as same, equal, ok } from 'node:assert'
import type { JsonEdit } from '#wire/json/edit.js'
import type { Member, Node } from './slow-json.js'

/** The expected content: an unchanged value, given bytes, or a container with some changed contents. */
export type Expected =
  | { readonly kind: 'as-it-was', readonly node: Node }
  | { readonly kind: 'bytes', readonly bytes: Buffer }
  | { readonly kind: 'object', readonly members: readonly (readonly [name: string, was: Member | null, value: Expected])[] }
  | { readonly kind: 'array', readonly items: readonly Expected[] }

interface Plan { value: Buffer | null, removed: boolean, readonly inner: Map<string | number, Plan> }

const empty = (): Plan => ({ value: null, removed: false, inner: new Map() })

export function applySlowly (root: Node, edits: readonly JsonEdit[]): Expected {
  const plan = empty()
  for (const { path, value } of edits) {
    let at = plan
    for (const step of path) {
      if (!at.inner.has(step)) at.inner.set(step, empty())
      at = at.inner.get(step) as Plan
    }
    if (value === null) at.removed = true
    else at.value = value
  }
  return apply(root, plan)
}

function apply (node: Node, plan: Plan | undefined): Expected {
  if (plan === undefined) return { kind: 'as-it-was', node }
  if (plan.value !== null) return { kind: 'bytes', bytes: plan.value }
  if (node.kind === 'null') return made(plan) ?? { kind: 'as-it-was', node }
  if (node.kind === 'array') {
    const kept = node.items.flatMap((item, i) => {
      const inner = plan.inner.get(i)
      return inner?.removed === true && inner.value === null ? [] : [apply(item, inner)]
    })
    return { kind: 'array', items: kept }
  }
  if (node.kind !== 'object') return { kind: 'as-it-was', node }
  const members: (readonly [string, Member | null, Expected])[] = []
  for (const member of node.members) {
    const inner = plan.inner.get(member.name)
    if (inner?.removed === true) {
      const instead = made(inner)
      if (instead !== null) members.push([member.name, member, instead])
    } else {
      members.push([member.name, member, apply(member.value, inner)])
    }
  }
  for (const [name, inner] of plan.inner) {
    const added = typeof name === 'string' && !node.members.some(member => member.name === name) ? made(inner) : null
    if (added !== null) members.push([String(name), null, added])
  }
  return { kind: 'object', members }
}

function made (plan: Plan): Expected | null {
  if (plan.value !== null) return { kind: 'bytes', bytes: plan.value }
  const members = [...plan.inner].flatMap(([name, inner]) => {
    const value = typeof name === 'string' ? made(inner) : null
    return value === null ? [] : [[String(name), null, value] as const]
  })
  return members.length === 0 ? null : { kind: 'object', members }
}

/** Throws when the bytes do not match. */
export function sameBytes (expected: Expected, node: Node, before: Buffer, after: Buffer): void {
  const raw = after.subarray(node.start, node.end)
  switch (expected.kind) {
    case 'as-it-was':
      same(raw.toString('latin1'), before.toString('latin1', expected.node.start, expected.node.end), 'bytes outside the edits')
      return
    case 'bytes':
      same(raw.toString('latin1'), expected.bytes.toString('latin1'), 'bytes of an edit')
      return
    case 'array':
      ok(node.kind === 'array')
      equal(node.items.length, expected.items.length)
      expected.items.forEach((item, i) => sameBytes(item, node.items[i] as Node, before, after))
      return
    case 'object':
      ok(node.kind === 'object')
      same(node.members.map(member => member.name), expected.members.map(([name]) => name))
      expected.members.forEach(([, was, value], i) => {
        const member = node.members[i] as Member
        if (was !== null) {
          equal(after.toString('latin1', member.nameStart, member.nameEnd), before.toString('latin1', was.nameStart, was.nameEnd))
        }
        sameBytes(value, member.value, before, after)
      })
  }
}
