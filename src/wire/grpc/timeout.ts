/** Milliseconds of each unit of `grpc-timeout`. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }
const TIMEOUT = /^(\d{1,8})([HMSmun])$/
/** The longest time of a timer of Node, 24.8 days, in milliseconds. A longer one would fire at once. */
const MAX_TIMER_MS = 2_147_483_647

/**
 * Reads `grpc-timeout` (gRPC doc/PROTOCOL-HTTP2.md): one to eight digits and a unit.
 * @returns milliseconds, also fractions, at most what a timer can hold; null for a malformed value
 */
export function readGrpcTimeout (text: string): number | null {
  const match = TIMEOUT.exec(text)
  return match === null ? null : Math.min(MAX_TIMER_MS, Number(match[1]) * (UNITS[match[2] ?? ''] ?? 0))
}
