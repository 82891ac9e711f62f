/** Compiles the AssemblyScript of `src` to WebAssembly. The code is part of a build, not of the repository. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'
import { overwrite } from './overwrite.js'

/**
 * @param file below `src`
 * @returns the WebAssembly module
 */
export async function webAssemblyOf (file: string): Promise<Uint8Array> {
  // The compiler takes half a second to load, which only a build should wait for.
  const { default: asc } = await import('assemblyscript/asc')
  const source = readFileSync(join(packageRoot(), 'src', file), 'utf8')
  const output = new Map<string, string | Uint8Array>()
  const { error, stderr } = await asc.main(
    // The runtime without allocation: the code uses only the memory that it gets.
    ['scan.ts', '--outFile', 'scan.wasm', '-O3', '--noAssert', '--runtime', 'stub', '--importMemory', '--enable', 'simd'],
    {
      readFile: name => name === 'scan.ts' ? source : null,
      writeFile: (name, contents) => { output.set(name, contents) },
      listFiles: () => []
    }
  )
  const binary = output.get('scan.wasm')
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
