/** Digests of artifacts in an AI Catalog (AI Catalog 0.9, § Verifying Artifact Integrity). */
import { createHash } from 'node:crypto'
import { canonicalize, NoCanonicalForm } from '../card/signing/canonical.js'

const ALGORITHMS = ['sha256', 'sha384', 'sha512']

/**
 * Compares an artifact with the `digest` of its entry.
 * @param digest null: the entry has none
 * @param bytes of the artifact, as its server sent them
 * @returns null when they agree; otherwise one sentence without text of the catalog
 */
export function digestProblem (digest: string | null, bytes: Buffer): string | null {
  if (digest === null) return null
  const [algorithm = '', value = ''] = digest.split(':', 2)
  if (!ALGORITHMS.includes(algorithm)) return `has a digest that the gateway cannot verify; it verifies ${ALGORITHMS.join(', ')}`
  return createHash(algorithm).update(bytes).digest('hex') === value.toLowerCase() ? null : 'has another digest than its entry says'
}

/** Does the same for an artifact in the catalog itself: its digest is that of its canonical form (RFC 8785). */
export function dataDigestProblem (digest: string | null, data: unknown): string | null {
  if (digest === null) return null
  try {
    return digestProblem(digest, Buffer.from(canonicalize(data)))
  } catch (error) {
    if (error instanceof NoCanonicalForm) return 'has a digest, but no canonical form'
    throw error
  }
}
