/** SPIFFE IDs (SPIFFE-ID §2), such as `spiffe://prod.example.com/ns/jobs/sa/batch`. */

/** Lower case only: SPIFFE compares IDs byte by byte once they are in this form. A leaf certificate has a path (X509-SVID §2). */
const SPIFFE_ID = /^spiffe:\/\/([a-z0-9._-]{1,255})((?:\/[A-Za-z0-9._-]+)+)$/
const MAX_SPIFFE_ID_BYTES = 2_048

/** True for a URI with the scheme of SPIFFE, valid or not. */
export function isSpiffe (uri: string): boolean {
  return /^spiffe:/i.test(uri)
}

/** @returns null when the URI is not a SPIFFE ID of a workload */
export function trustDomainOf (uri: string): string | null {
  if (uri.length > MAX_SPIFFE_ID_BYTES) return null
  const [, domain = '', path = ''] = SPIFFE_ID.exec(uri) ?? []
  return domain === '' || path.split('/').some(segment => segment === '.' || segment === '..') ? null : domain
}
