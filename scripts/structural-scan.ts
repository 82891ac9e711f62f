/** Compiles the structural scan (src/wire/json/structural-scan.as) to WebAssembly. The code is part of a build, not of the repository. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'
import { overwrite } from './overwrite.js'

/** @returns the WebAssembly module */
export async function structuralScan (): Promise<Uint8Array> {
  // The compiler takes half a second to load, which only a build should wait for.
  const { default: asc } = await import('assemblyscript/asc')
  const source = readFileSync(join(packageRoot(), 'src/wire/json/structural-scan.as'), 'utf8')
  const output = new Map<string, string | Uint8Array>()
  const { error, stderr } = await asc.main(
    // The runtime without allocation: the scan uses only the memory that it gets.
    ['scan.ts', '--outFile', 'scan.wasm', '-O3', '--noAssert', '--runtime', 'stub', '--importMemory', '--enable', 'simd'],
    {
      readFile: name => name === 'scan.ts' ? source : null,
      writeFile: (name, contents) => { output.set(name, contents) },
      listFiles: () => []
    }
  )
  const binary = output.get('scan.wasm')
  if (error !== null || !(binary instanceof Uint8Array)) throw new Error(`structural-scan.as: ${stderr.toString()}`)
  return binary
}

export async function writeStructuralScan (): Promise<void> {
  const code = Buffer.from(await structuralScan()).toString('base64')
  overwrite('src/wire/built/structural-scan.js', `export const structuralScan = () => '${code}'`, {})
}
