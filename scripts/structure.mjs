/**
 * Prints the structure of `src` as figures: `npm run structure`. Compare the figures of two commits to see whether a change made the house
 * simpler.
 *
 * A circle is a group of files that import each other, directly or through others, types included. A file with one importer may be a part
 * of that importer.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const ROOT = process.argv[2] ?? '.'
const IMPORT = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+|#[^']+)'/g
const LONG_LINE = 140
/** Fields of the object of a call. */
const EXCHANGE = 'src/call/exchange.ts'

const files = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile())
  .map(entry => join(entry.parentPath ?? entry.path, entry.name).slice(ROOT === '.' ? 0 : ROOT.length + 1))
const texts = new Map(files.map(file => [file, readFileSync(join(ROOT, file), 'utf8')]))
const isCode = file => /\.(?:ts|js|as|css|html)$/.test(file)
const code = files.filter(isCode)
const modules = files.filter(file => file.endsWith('.ts'))

/** The files that a file imports. */
const imports = new Map(modules.map(file => [file, new Set(
  [...texts.get(file).matchAll(IMPORT)]
    .map(([, path]) => (path.startsWith('#') ? join('src', path.slice(1)) : normalize(join(dirname(file), path))).replace(/\.js$/, '.ts'))
    .filter(path => texts.has(path))
)]))

/** Groups of files that reach each other (Tarjan's algorithm), the largest first. */
function circles () {
  const index = new Map()
  const low = new Map()
  const stack = []
  const found = []
  const visit = file => {
    index.set(file, index.size)
    low.set(file, index.get(file))
    stack.push(file)
    for (const next of imports.get(file) ?? []) {
      if (!index.has(next)) visit(next)
      if (stack.includes(next)) low.set(file, Math.min(low.get(file), low.get(next)))
    }
    if (low.get(file) !== index.get(file)) return
    const group = stack.splice(stack.indexOf(file))
    if (group.length > 1) found.push(group)
  }
  for (const file of modules) if (!index.has(file)) visit(file)
  return found.sort((a, b) => b.length - a.length)
}

const importers = new Map()
for (const targets of imports.values()) for (const target of targets) importers.set(target, (importers.get(target) ?? 0) + 1)
const lines = code.flatMap(file => texts.get(file).split('\n'))
const found = circles()

/** Fields of an exchange that more than one file assigns. */
function sharedFields () {
  const fields = [...(texts.get(EXCHANGE) ?? '').matchAll(/^ {2}(?!readonly)(\w+)(?::| =)/gm)].map(([, name]) => name)
  return fields.filter(name => {
    const writes = new RegExp(`\\bexchange\\.${name} (?:\\?\\?)?= `)
    return modules.filter(file => writes.test(texts.get(file))).length > 1
  })
}

const shared = sharedFields()
const rows = [
  ['files', files.length],
  ['lines of code files', lines.length],
  ['folders', new Set(files.map(file => dirname(file))).size],
  ['files with one importer', [...importers.values()].filter(count => count === 1).length],
  ['of these with fewer than 80 lines', [...importers].filter(([file, count]) => count === 1 && texts.get(file).split('\n').length < 80).length],
  ['circles of files', found.length],
  ['files in the largest circle', found[0]?.length ?? 1],
  ['`instanceof Promise`', modules.reduce((sum, file) => sum + (texts.get(file).match(/instanceof Promise\b/g)?.length ?? 0), 0)],
  ['fields of an exchange that several files write', shared.length],
  [`lines above ${LONG_LINE} characters, %`, (100 * lines.filter(line => line.length > LONG_LINE).length / lines.length).toFixed(2)]
]
const width = Math.max(...rows.map(([name]) => name.length))
for (const [name, value] of rows) console.log(`${name.padEnd(width)}  ${String(value).padStart(7)}`)
if (process.argv.includes('--details')) {
  for (const group of found) console.log(`\ncircle of ${group.length}:\n  ${group.sort().join('\n  ')}`)
  console.log(`\nfields that several files write: ${shared.join(', ')}`)
}
