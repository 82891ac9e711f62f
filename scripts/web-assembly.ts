/** Compiles the AssemblyScript of `src` to WebAssembly. The code is part of a build, not of the repository. */
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { packageRoot } from '#config/paths.js'
import { overwrite } from './overwrite.js'

/**
 * @param file below `src`; it may import others of its folder
 * @returns the WebAssembly module
 */
export async function webAssemblyOf (file: string): Promise<Uint8Array> {
  // The compiler takes half a second to load, which only a build should wait for.
  const { default: asc } = await import('assemblyscript/asc')
  const folder = join(packageRoot(), 'src', dirname(file))
  const entry = `${basename(file, '.as')}.ts`
  // The compiler knows only `.ts`. Its own library is not below the folder.
  const read = (name: string): string | null => {
    const source = join(folder, name.replace(/\.ts$/, '.as'))
    return existsSync(source) ? readFileSync(source, 'utf8') : null
  }
  const output = new Map<string, string | Uint8Array>()
  const { error, stderr } = await asc.main(
    // The runtime without allocation: the code uses only the memory that it gets.
    [entry, '--outFile', 'code.wasm', '-O3', '--noAssert', '--runtime', 'stub', '--importMemory', '--enable', 'simd'],
    {
      readFile: read,
      writeFile: (name, contents) => { output.set(name, contents) },
      listFiles: () => []
    }
  )
  const binary = output.get('code.wasm')
  if (error !== null || !(binary instanceof Uint8Array)) throw new Error(`${file}: ${stderr.toString()}`)
  return binary
}

export async function writeWebAssembly (): Promise<void> {
  await write('structuralScan', 'wire/json/structural-scan.as', 'wire/built/structural-scan.js')
  await write('checker', 'jsonschema/bytes/checker.as', 'jsonschema/built/checker.js')
}

async function write (name: string, source: string, module: string): Promise<void> {
  const code = Buffer.from(await webAssemblyOf(source)).toString('base64')
  overwrite(`src/${module}`, `export const ${name} = () => '${code}'`, {})
}
