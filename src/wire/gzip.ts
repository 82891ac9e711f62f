/**
 * Decompresses gzip (RFC 1952) with bounds that are known before the first byte is decompressed. The trailer states the size of the
 * content, and a body whose content has another size is malformed. Memory can therefore be reserved exactly.
 *
 * A body must be one member: some readers stop after the first member, others continue.
 */
import { crc32, inflateRaw, inflateRawSync } from 'node:zlib'

export interface GzipMember {
  /** The compressed data, without header and trailer. */
  readonly data: Buffer
  /** Size of the content in bytes, as the trailer states it. */
  readonly size: number
  readonly crc: number
}

const HEADER = 10
const TRAILER = 8
const FHCRC = 2
const FEXTRA = 4
const FNAME = 8
const FCOMMENT = 16
/** FTEXT has no effect. The other bits are reserved. */
const KNOWN_FLAGS = 0x1f

/** Reads the header and the trailer. @returns null when the bytes are not a gzip member */
export function readGzip (bytes: Buffer): GzipMember | null {
  if (bytes.length < HEADER + TRAILER || bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8) return null
  const flags = bytes[3] as number
  if ((flags & ~KNOWN_FLAGS) !== 0) return null
  let at = HEADER
  if ((flags & FEXTRA) !== 0) at += 2 + bytes.readUInt16LE(at)
  for (const flag of [FNAME, FCOMMENT]) {
    if ((flags & flag) === 0) continue
    const end = bytes.indexOf(0, at)
    if (end === -1) return null
    at = end + 1
  }
  if ((flags & FHCRC) !== 0) at += 2
  const end = bytes.length - TRAILER
  return at >= end ? null : { data: bytes.subarray(at, end), size: bytes.readUInt32LE(end + 4), crc: bytes.readUInt32LE(end) }
}

/** Node returns this object for the option `info`. Node's types omit it. */
interface Inflated { readonly buffer: Buffer, readonly engine: { readonly bytesWritten: number } }

/**
 * Decompresses a member in the thread pool. Calls `done` exactly once.
 * @param done gets null when the content is not what the trailer states
 */
export function gunzip (member: GzipMember, done: (content: Buffer | null) => void): void {
  inflateRaw(member.data, optionsFor(member), (error, result) => {
    done(error === null ? checked(member, result as unknown as Inflated) : null)
  })
}

/** As `gunzip`, for small inputs. */
export function gunzipSync (member: GzipMember): Buffer | null {
  try {
    return checked(member, inflateRawSync(member.data, optionsFor(member)) as unknown as Inflated)
  } catch {
    return null
  }
}

function optionsFor ({ size }: GzipMember): { readonly maxOutputLength: number, readonly info: true } {
  return { maxOutputLength: Math.max(1, size), info: true }
}

function checked ({ data, size, crc }: GzipMember, { buffer, engine }: Inflated): Buffer | null {
  return buffer.length === size && engine.bytesWritten === data.length && crc32(buffer) === crc ? buffer : null
}
