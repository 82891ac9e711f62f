/**
 * Merges the layers of a policy: the built-in catalogue or the directory of `extensions.from`, the file's `extensions` over them, and an
 * agent's own overlay over all.
 * Works on values that may still be wrong, so that the checks see the file as the gateway would use it.
 */
import type { Path } from './diagnostics.js'
import type { Layer } from './model/model.js'
import { items, mapping } from './yaml/values.js'
import type { Mapping } from './yaml/values.js'

/** Keys whose members are replaced one by one. For all other keys an overlay replaces the whole value. */
const MERGED: ReadonlySet<string> = new Set(['about', 'activation', 'card', 'inactive', 'methods', 'owns'])

/** The content of one layer. `path` is the layer's place in the file, null in the catalogue and in the directory. */
interface Part { readonly layer: Layer, readonly value: Mapping, readonly path: Path | null }

/** One policy: its parts, lowest layer first, and the merged value. */
export interface LayeredPolicy {
  readonly name: string
  readonly parts: readonly Part[]
  readonly value: Mapping
  /** The layer that gave each key. Members of merged keys have names such as `activation.scope`. */
  readonly from: ReadonlyMap<string, Layer>
}

/** One item of an agent's list: a name, or one name with an overlay. Any other item becomes null. */
export interface ListItem { readonly name: string, readonly overlay: Mapping | null }

export function listItem (item: unknown): ListItem | null {
  if (typeof item === 'string') return { name: item, overlay: null }
  const [name, ...more] = Object.keys(mapping(item))
  return name === undefined || more.length > 0 ? null : { name, overlay: mapping(mapping(item)[name]) }
}

/** Returns the names on an agent's list. */
export function listedNames (list: unknown): string[] {
  return items(list).map((item) => listItem(item)?.name).filter((name) => name !== undefined)
}

/** Returns the names of the policies that a policy requires. */
export function requiredBy (policy: LayeredPolicy | null): string[] {
  return items(mapping(policy?.value.activation).requires).filter((name) => typeof name === 'string')
}

/** The policies of one file. */
export class PolicyLayers {
  /** Names in the file and in the catalogue. */
  readonly names: readonly string[]
  readonly fileNames: readonly string[]
  /** Names in the directory of `extensions.from`. */
  readonly directoryNames: readonly string[]
  /** Names in the catalogue and in the directory. */
  readonly catalogueNames: readonly string[]
  private readonly policies: Mapping
  private readonly catalogue: Mapping
  private readonly directory: Mapping
  private readonly byName = new Map<string, LayeredPolicy | null>()

  /**
   * @param policies the file's `extensions`
   * @param directory policies of `extensions.from`, each of which replaces the built-in one of its name
   */
  constructor (policies: unknown, catalogue: Mapping, directory: Mapping = {}) {
    this.policies = mapping(policies)
    this.catalogue = catalogue
    this.directory = directory
    this.fileNames = Object.keys(this.policies)
    this.directoryNames = Object.keys(directory)
    this.catalogueNames = [...new Set([...Object.keys(catalogue), ...this.directoryNames])]
    this.names = [...new Set([...this.fileNames, ...this.catalogueNames])]
  }

  /**
   * Returns the policy with this name, merged from catalogue and file.
   * @returns null when neither file nor catalogue has the name
   */
  named (name: string): LayeredPolicy | null {
    let policy = this.byName.get(name)
    if (policy === undefined) {
      policy = this.layer(name)
      this.byName.set(name, policy)
    }
    return policy
  }

  /**
   * Returns the policy of an item of an agent's list.
   * @param path place of the item in the file
   */
  listed ({ name, overlay }: ListItem, path: Path): LayeredPolicy | null {
    const base = this.named(name)
    return base === null || overlay === null
      ? base
      : layered(name, [...base.parts, { layer: 'agent', value: overlay, path: [...path, name] }])
  }

  /** Merges the layers of a name. A file entry with its own URI replaces the catalogue's policy completely. */
  private layer (name: string): LayeredPolicy | null {
    const own = Object.hasOwn(this.policies, name) ? mapping(this.policies[name]) : null
    const replaced = own?.uri !== undefined || own?.uriPattern !== undefined
    const parts: Part[] = []
    if (!replaced && Object.hasOwn(this.directory, name)) {
      parts.push({ layer: 'directory', value: mapping(this.directory[name]), path: null })
    } else if (!replaced && Object.hasOwn(this.catalogue, name)) {
      parts.push({ layer: 'catalogue', value: mapping(this.catalogue[name]), path: null })
    }
    if (own !== null) parts.push({ layer: 'file', value: own, path: ['extensions', name] })
    return parts.length === 0 ? null : layered(name, parts)
  }
}

function layered (name: string, parts: readonly Part[]): LayeredPolicy {
  const value: Record<string, unknown> = {}
  const from = new Map<string, Layer>()
  for (const { layer, value: members } of parts) {
    for (const [key, content] of Object.entries(members)) {
      if (!MERGED.has(key)) {
        value[key] = content
        from.set(key, layer)
        continue
      }
      value[key] = { ...mapping(value[key]), ...mapping(content) }
      for (const member of Object.keys(mapping(content))) from.set(`${key}.${member}`, layer)
    }
  }
  return { name, parts, value, from }
}

/**
 * Returns the place of the policy in the file: the topmost layer, unless a lower layer gave the key.
 * @param steps path from the root of the policy
 */
export function partOf (policy: LayeredPolicy, steps: Path): Path | null {
  const [key, member] = steps.map(String)
  const layer = key === undefined ? undefined : policy.from.get(key) ?? policy.from.get(`${key}.${member ?? ''}`)
  const written = policy.parts.filter(({ path }) => path !== null)
  return (written.find((part) => part.layer === layer) ?? written.at(-1))?.path ?? null
}
