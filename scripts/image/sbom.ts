/**
 * Software bill of materials of the image in CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/): the packages of the lock file as npm
 * reports them, Node, and the libraries of Debian.
 */
import { createHash } from 'node:crypto'
import type { DebianPackage } from './runtime.js'

interface Component {
  readonly 'bom-ref': string
  readonly type: string
  readonly name: string
  readonly version: string
  readonly purl: string
}

export interface Bom {
  readonly bomFormat: string
  readonly specVersion: string
  readonly serialNumber?: string
  readonly metadata: { readonly component: Component & Record<string, unknown> }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string, readonly dependsOn: readonly string[] }[]
}

export interface Surroundings {
  /** `name@version` of the packages in the image. */
  readonly production: ReadonlySet<string>
  /** Version of Node, without `v`. */
  readonly node: string
  readonly packages: readonly DebianPackage[]
  /** Such as `debian-12`. */
  readonly distribution: string
  /** Seconds since 1970. */
  readonly epoch: number
}

/**
 * Builds the bill of materials.
 * @param npm output of `npm sbom --package-lock-only --sbom-format cyclonedx`. Do not use `--omit dev`: npm 11 then leaves out every
 *   package that development needs too.
 * @returns the same bytes for the same content: the text contains no time of its own, and the serial number is derived from the rest
 */
export function sbom (npm: Bom, { production, node, packages, distribution, epoch }: Surroundings): string {
  const component = { ...npm.metadata.component, type: 'application', name: 'a2a-extension-gateway' }
  const around: Component[] = [
    { 'bom-ref': `node@${node}`, type: 'platform', name: 'node', version: node, purl: `pkg:generic/node@${node}` },
    ...packages.map(one => {
      const purl = `pkg:deb/debian/${one.name}@${encodeURIComponent(one.version)}?arch=${one.architecture}&distro=${distribution}`
      return { 'bom-ref': purl, type: 'library', name: one.name, version: one.version, purl }
    })
  ]
  const components = npm.components.filter(one => production.has(`${one.name}@${one.version}`))
  const refs = new Set([npm.metadata.component['bom-ref'], ...components.map(one => one['bom-ref'])])
  const dependencies = npm.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(one => refs.has(one)) }))
  const { serialNumber: _random, ...rest } = npm
  const bom = {
    ...rest,
    metadata: { ...npm.metadata, component, timestamp: new Date(epoch * 1_000).toISOString() },
    components: [...components, ...around],
    dependencies
  }
  const digest = createHash('sha256').update(JSON.stringify(bom)).digest('hex')
  // A UUID of version 8, whose bits the implementation chooses (RFC 9562, section 5.8).
  const uuid = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, `a${digest.slice(17, 20)}`, digest.slice(20, 32)].join(
    '-'
  )
  return JSON.stringify({ ...bom, serialNumber: `urn:uuid:${uuid}` }, null, 2) + '\n'
}
