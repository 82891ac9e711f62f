/**
 * Rows of tables that begin with a name, such as a setting, a reason or a metric, have an address of their own, and the search finds them
 * like headings.
 */

/** As GitHub makes it: letters, digits, `_` and `-`. The links of the pages are made for GitHub. */
export function slugOf (text) {
  return text.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')
}

const NAME = /^[\w$@.\-/:[\]{}*]+$/

/** A plugin of markdown-it: gives each row whose first cell begins with a name in `code` an id. */
export function rowIds (md) {
  md.core.ruler.push('row-ids', ({ tokens }) => {
    const ids = new Set(tokens.filter(token => token.type === 'heading_open').map(token => token.attrGet('id')))
    let section = ''
    for (const [i, token] of tokens.entries()) {
      if (token.type === 'heading_open') {
        const [first, ...rest] = tokens[i + 1].children ?? []
        // Headings of sections of the configuration, such as `server`. Keys below them are relative.
        section = first?.type === 'code_inline' && rest.every(one => one.type !== 'text' || one.content.trim() === '') ? `${first.content}.` : ''
      }
      if (token.type !== 'tr_open' || tokens[i + 1]?.type !== 'td_open') continue
      const name = tokens[i + 2]?.children?.[0]
      if (name?.type !== 'code_inline' || !NAME.test(name.content)) continue
      const full = `${section}${name.content}`
      const stem = full.toLowerCase().replace(/[^\w.-]+/g, '-').replace(/^-+|-+$/g, '')
      let id = stem
      for (let n = 1; ids.has(id); n++) id = `${stem}-${n}`
      if (id === '') continue
      ids.add(id)
      token.attrSet('id', id)
      token.attrSet('data-name', full)
    }
  })
}

/**
 * Puts a heading before each such row, for the index of the search only: VitePress divides a page at its headings.
 * @param html of a page
 */
export function rowsAsHeadings (html) {
  return html.replace(/<tr id="([^"]+)" data-name="([^"]+)"[^>]*>/g, '<h6 id="$1">$2 <a class="header-anchor" href="#$1"></a></h6>$&')
}
