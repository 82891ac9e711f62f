/**
 * ESLint rule: which folders of `src` a folder may import, types included. An import of another folder is written `#folder/file.js`. An
 * import inside a folder is relative.
 *
 * Option: an object from each folder to the folders that its files may import. `config/model` permits the types of the configuration only.
 */
import { dirname, relative, resolve, sep } from 'node:path'

const SOURCES = resolve(import.meta.dirname, '../../src')

export default {
  meta: { type: 'problem', schema: [{ type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } }] },
  create (context) {
    const [may] = context.options
    const file = relative(SOURCES, context.filename).split(sep)
    if (file[0] === '..') return {}
    const folder = file.length > 1 ? file[0] : null

    function check (source) {
      const specifier = source?.value
      if (typeof specifier !== 'string' || !/^[.#]/.test(specifier)) return
      const path = specifier.startsWith('#') ? specifier.slice(1) : relative(SOURCES, resolve(dirname(context.filename), specifier)).replaceAll(sep, '/')
      const target = path.includes('/') ? path.slice(0, path.indexOf('/')) : null
      // Files directly in `src` are entry points, and helpers without a folder.
      if (folder === null || target === null) return
      if (target === folder) {
        if (specifier.startsWith('#')) context.report({ node: source, message: `An import inside ${folder}/ is relative.` })
      } else if (!specifier.startsWith('#')) {
        context.report({ node: source, message: `Write '#${path}': an import of another folder names the folder.` })
      } else if (!Object.hasOwn(may, folder)) {
        context.report({ node: source, message: `eslint.config.js does not say which folders ${folder}/ may import.` })
      } else if (!may[folder].includes(target) && !may[folder].some(one => one.includes('/') && path.startsWith(`${one}/`))) {
        context.report({ node: source, message: `${folder}/ must not import ${target}/. It may import ${may[folder].join(', ') || 'no other folder'}.` })
      }
    }
    return {
      ImportDeclaration: ({ source }) => check(source),
      ImportExpression: ({ source }) => check(source),
      ExportNamedDeclaration: ({ source }) => check(source),
      ExportAllDeclaration: ({ source }) => check(source),
      TSImportType: ({ source, argument }) => check(source ?? argument?.literal)
    }
  }
}
