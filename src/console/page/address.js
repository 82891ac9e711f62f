/** The part of the address after `#`: the path of a page, and the page's filters as a query. */

/** The address of the page that is drawn. */
let drawn = null

/** @returns the path, and the filters; null when the address cannot be decoded */
export function readAddress () {
  const [path, query = ''] = location.hash.slice(1).split('?')
  try {
    return { path: decodeURI(path === '' ? '/' : path), params: new URLSearchParams(query) }
  } catch {
    return null
  }
}

/** @returns false when the page of this address is drawn already */
export function isNew () {
  if (drawn === location.hash) return false
  drawn = location.hash
  return true
}

/**
 * Writes the filters of the page into its address, so that the address leads to the same view. Going back leaves the page.
 * @param {Record<string, string>} filters empty values are omitted
 */
export function setFilters (filters) {
  const [path] = location.hash.split('?')
  history.replaceState(null, '', addressOf(path === '' ? '#/' : path, filters))
  drawn = location.hash
}

/** Returns the address of a page with filters. */
export function addressOf (path, filters) {
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== '')).toString()
  return query === '' ? path : `${path}?${query}`
}
