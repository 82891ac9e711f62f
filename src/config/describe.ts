const REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'no such file'],
  ['ENOTDIR', 'no such file'],
  ['EACCES', 'permission denied'],
  ['EISDIR', 'it is a directory'],
  ['ENAMETOOLONG', 'the name is too long']
])

/** Describes the reason of a file system error in words. */
export function fileErrorText (error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  return REASONS.get(code) ?? code
}
