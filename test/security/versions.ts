/** Compares released versions; anything after a hyphen counts as older than the release. */
export function atLeast (version: string, floor: string): boolean {
  const [numbers = '', tag] = version.split(/-(.*)/s)
  const have = numbers.split('.').map(Number)
  const want = floor.split('.').map(Number)
  for (let i = 0; i < 3; i++) {
    const difference = (have[i] ?? 0) - (want[i] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return tag === undefined
}
