/**
 * Cards in a catalog itself (AI Catalog 0.9, `data` of an entry). Agents read them as `card.file`, so that everything else about cards is
 * as for other agents. The files are in `server.stateDir`, or in a directory of this process.
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BACKGROUND, listenOnce } from '#guard.js'

/** Directory of the files without `server.stateDir`. It goes with the process. */
let own: string | null = null

export class InlineCards {
  readonly #stateDir: string | null
  readonly #source: string

  /** @param source name of the source */
  constructor (stateDir: string | null, source: string) {
    this.#stateDir = stateDir
    this.#source = source
  }

  /**
   * @param name of the entry: a-z, 0-9 and `-`
   * @returns path of the file
   * @throws Error of the file system
   */
  write (name: string, card: Buffer): string {
    const directory = this.#directory()
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const file = join(directory, `${name}.json`)
    // A reader never sees half of a card.
    writeFileSync(`${file}.new`, card, { mode: 0o600 })
    renameSync(`${file}.new`, file)
    return file
  }

  /** Removes the cards of other entries. */
  keep (names: ReadonlySet<string>): void {
    if (this.#stateDir === null && own === null) return
    const directory = this.#directory()
    try {
      for (const file of readdirSync(directory)) {
        if (!names.has(file.replace(/\.json(?:\.new)?$/, ''))) {
          rmSync(
            join(directory, file), { force: true }
          )
        }
      }
    } catch {
      // There are none.
    }
  }

  #directory (): string {
    return join(this.#stateDir === null ? ownDirectory() : join(this.#stateDir, 'sources'), 'cards', this.#source)
  }
}

function ownDirectory (): string {
  if (own !== null) return own
  const directory = own = mkdtempSync(join(tmpdir(), 'a2a-gateway-'))
  listenOnce(BACKGROUND, process, 'exit', () => { rmSync(directory, { recursive: true, force: true }) })
  return directory
}
