import { closeSync, openSync, readSync } from 'node:fs'

/**
 * Reads a file, or as much of a pipe or device, up to a limit that does not rest on what its status says.
 * @returns null where it holds more
 * @throws the error of the file system
 */
export function readBounded (file: string, limit: number): Buffer | null {
  const descriptor = openSync(file, 'r')
  try {
    const buffer = Buffer.allocUnsafe(limit + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < buffer.length; length += read) read = readSync(descriptor, buffer, length, buffer.length - length, null)
    return length > limit ? null : buffer.subarray(0, length)
  } finally {
    closeSync(descriptor)
  }
}
