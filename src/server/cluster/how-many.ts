/** Computes the number of workers that `server.workers` means on this machine. */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { ServerConfig } from '#config/model/model.js'

/** Maximum of `server.workers` in the configuration schema. */
const MOST = 64

export function workersOf (workers: ServerConfig['workers']): number {
  return workers === 'auto' ? Math.min(MOST, processors()) : workers
}

/**
 * Counts the processors that this process may use: by its affinity and by the limit of its container. A fraction of a processor counts as a
 * whole.
 */
export function processors (read: (file: string) => string | null = readOrNull): number {
  const quota =
    quotaV2(read('/sys/fs/cgroup/cpu.max')) ??
    quotaV1(read('/sys/fs/cgroup/cpu/cpu.cfs_quota_us'), read('/sys/fs/cgroup/cpu/cpu.cfs_period_us'))
  const available = availableParallelism()
  return quota === null ? available : Math.max(1, Math.min(available, Math.ceil(quota)))
}

/** Parses `max 100000` or `150000 100000`: quota and period in microseconds. */
function quotaV2 (text: string | null): number | null {
  const [quota, period] = (text ?? '').trim().split(' ')
  return ratio(Number(quota), Number(period))
}

function quotaV1 (quota: string | null, period: string | null): number | null {
  return quota === null || period === null ? null : ratio(Number(quota), Number(period))
}

function ratio (quota: number, period: number): number | null {
  return quota > 0 && period > 0 && Number.isFinite(quota) ? quota / period : null
}

function readOrNull (file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
