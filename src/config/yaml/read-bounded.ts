import { closeSync, openSync, readSync } from 'node:fs'

/**
 * Reads a file, pipe or device up to a limit. The limit does not depend on the size that the file's status reports.
 * @returns null when the file holds more
 * @throws the error of the file system
 */
export function readBounded (file: string, limit: number): Buffer | null {
  const descriptor = openSync(file, 'r')
  try {
    const buffer = Buffer.allocUnsafe(limit + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = readSync(descriptor, buffer, length, buffer.length - length, null)
    }
    return length > limit ? null : buffer.subarray(0, length)
  } finally {
    closeSync(descriptor)
  }
}
