/**
 * Options of MiniSearch, for the page and for the check. A name such as `limits.body` or `EXTENSION_DATA_INVALID` is a word of its own,
 * beside its parts: the row of the name comes first, and a part finds it too. VitePress writes the functions into the page as text, so they
 * use nothing from outside.
 */
export const SEARCH = {
  options: {
    tokenize: text =>
      text.split(/[\s"'`<>(),;|]+/).flatMap(word => {
        const whole = word.replace(/[.:]+$/, '')
        const parts = whole.split(/[\p{Z}\p{P}]+/u).filter(part => part !== '')
        return whole === '' || (parts.length === 1 && parts[0] === whole) ? parts : [whole, ...parts]
      })
  },
  searchOptions: {
    fuzzy: 0.2,
    prefix: true,
    boost: { title: 6, text: 2, titles: 1 },
    // Of several rows with one name, the setting comes first.
    boostDocument: id => /\/configuration[\w-]*\.html/.test(id) ? 1.2 : 1
  }
}
