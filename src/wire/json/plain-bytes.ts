/** Finds the bytes that a JSON string of ASCII must not contain as they are: backslashes and control characters. */
import { BACKSLASH } from './bytes.js'
import { areOddAsciiWords, isOddWord, nextWord, wordsOf } from './words.js'

const WORD = 4
/** Words that are searched at once. */
const BLOCK = 8
/** Bytes that a search runs ahead of the strings. Readers that go back search them again. */
const AHEAD = 4_096
const SPACE = 0x20

/** Searches a text from its beginning to its end. */
export class PlainBytes {
  private readonly bytes: Buffer
  /** Offset before which no byte, since the last search, is odd. */
  private to = -1
  /** True when the byte at `to` is odd. */
  private oddThere = false

  constructor (bytes: Buffer) {
    this.bytes = bytes
  }

  /** True when no byte of the range is odd. Ranges follow each other. */
  isPlain (from: number, to: number): boolean {
    return to <= this.to || this.search(from, to)
  }

  /** Forgets what was found, because the next range is before the last one. */
  goBack (): void {
    this.to = -1
    this.oddThere = false
  }

  private search (from: number, to: number): boolean {
    const { bytes } = this
    if (this.to < from) {
      this.to = from
      this.oddThere = false
    }
    while (this.to < to && !this.oddThere) {
      const end = Math.min(this.to + AHEAD, bytes.length)
      this.to = nextOdd(bytes, this.to, end)
      this.oddThere = this.to < end
    }
    return this.to >= to
  }
}

/** Returns the offset of the next control character or backslash; `end` when there is none before. */
function nextOdd (bytes: Buffer, from: number, end: number): number {
  let i = from
  const first = nextWord(bytes, from, end)
  while (i < first && !isOdd(bytes[i] as number)) i++
  if (i < first) return i
  const words = wordsOf(bytes, first, (end - first) >> 2)
  let at = 0
  while (at + BLOCK <= words.length && !areOddAsciiWords(words, at)) at += BLOCK
  while (at < words.length && !isOddWord(words[at] as number)) at++
  i += at * WORD
  while (i < end && !isOdd(bytes[i] as number)) i++
  return i
}

function isOdd (byte: number): boolean {
  return byte < SPACE || byte === BACKSLASH
}
