/** Returns the WebAssembly module of `bytes/checker.as` in base64. The build replaces this module (scripts/web-assembly.ts). */
export function checker (): string | null {
  return null
}
