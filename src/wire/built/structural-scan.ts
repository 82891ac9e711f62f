/**
 * Returns the WebAssembly module of the structural scan in base64. The build compiles `json/structural-scan.as` and replaces this module
 * (scripts/web-assembly.ts).
 */
export function structuralScan (): string | null {
  return null
}
