/** The file of agreed cards: what it says, what is an error, and what stays as it was. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { LockFileError, lockText, readLock, readLockFile } from '#agents/lock/lock-file.js'
import type { LockEntry } from '#agents/lock/lock-file.js'
import { cardDigest } from '#a2a/card/digest.js'
import { plainCard } from '../../helpers/raw.js'

const directory = mkdtempSync(join(tmpdir(), 'agreement-'))
t.teardown(() => { rmSync(directory, { recursive: true }) })
const path = join(directory, 'agents.lock')

function entry (card: Record<string, unknown>, more: Partial<LockEntry> = {}): LockEntry {
  return {
    url: 'http://a.test/.well-known/agent-card.json', digest: cardDigest(card), requires: [], pinnedAt: '2026-11-28T12:00:00Z', pinnedBy: 'ada', card, ...more
  }
}

const CARD = plainCard('http://a.test')

t.test('what is written is read again; names are in order; a file that does not exist has no entries', async t => {
  t.same(readLockFile(path), { agents: {} })
  const agents = { beta: entry(CARD), alpha: entry(CARD, { requires: ['urn:a'], card03: { ...CARD, name: 'old' }, digest03: cardDigest({ ...CARD, name: 'old' }) }) }
  writeFileSync(path, lockText(agents))
  t.same(readLockFile(path).agents, agents)
  t.same(Object.keys(readLockFile(path).agents), ['alpha', 'beta'])
  const { card: _, ...digests } = entry(CARD)
  writeFileSync(path, lockText({ a: digests }))
  t.same(readLockFile(path).agents, { a: digests }, 'digests alone')
})

t.test('unchanged entries stay byte for byte, however a person has formatted them', async t => {
  const { card: _, ...digests } = entry(CARD)
  const odd = JSON.stringify(digests).replace('"requires":[]', '"requires" :  [ ]')
  writeFileSync(path, `{"version":1,"agents":{"odd":${odd},"gone":${JSON.stringify(digests)}}}`)
  const { agents, texts } = readLock(path)
  t.equal(texts.get('odd'), odd)
  const text = lockText({ ...agents, added: entry(CARD) }, texts)
  t.ok(text.includes(`    "odd": ${odd}`), text.slice(-600))
  writeFileSync(path, text)
  const again = readLock(path)
  t.same(Object.keys(again.agents), ['added', 'gone', 'odd'])
  t.equal(lockText(again.agents, again.texts), text, 'and the file is stable')
})

t.test('characters that a reviewer would not see are escapes, and letters are letters', async t => {
  const card = { ...CARD, description: 'Größe 数 \u200B\u202E\u{E0061}\u00A0\uFEFF\u3164 end', skills: [{ id: '\u2066' }] }
  const text = lockText({ a: entry(card) })
  t.match(text, /Größe 数 \\u200b\\u202e\\udb40\\udc61\\u00a0\\ufeff\\u3164 end/)
  t.notMatch(text.replaceAll('\n', ''), /[\p{C}\p{Default_Ignorable_Code_Point}]/u)
  writeFileSync(path, text)
  t.same(readLockFile(path).agents['a']?.card, card, 'and the card is the same')
})

const OK = lockText({ a: entry(CARD) })
/** Files that cannot be used, with the end of their message after the name of the file. */
const BAD: readonly (readonly [what: string, text: string, message: RegExp])[] = [
  ['no JSON', '{\n  "version": 1,\n  nonsense\n}', /:3:3: .* \(restore the file from version control, or delete the file and run a2a-gateway agents lock\)$/],
  ['a merge', OK.replace('  "version"', '<<<<<<< ours\n  "version"'), /:3:1: the file contains an unresolved merge \(take one side, then run a2a-gateway agents diff\)$/],
  ['two entries of one name', OK.replace('"agents": {', '"agents": {"a": {},'), /:\d+:\d+: .*twice|duplicate|more than one/],
  ['a list', '[]', /:1:1: the file is not a JSON object/],
  ['a later version', OK.replace('"version": 1', '"version": 2'), /:3:14: version must be 1 \(a later release/],
  ['an unknown member', OK.replace('"version": 1', '"version": 1, "x": 1'), /:3:22: unknown member "x" \(remove it\)$/],
  ['no agents', '{"version": 1}', /: agents must be an object/],
  ['an entry that is a text', '{"version": 1, "agents": {"a": ""}}', /:1:32: a: an entry must be an object \(run a2a-gateway agents lock --agent a, and review the change\)$/],
  ['a typo', OK.replace('"pinnedBy"', '"pinedBy"'), /: a: unknown member "pinedBy" \(did you mean pinnedBy\?\)$/],
  ['a missing member', OK.replace('"pinnedBy": "ada",', ''), /: a: pinnedBy must be a text/],
  ['no time', OK.replace('2026-11-28T12:00:00Z', 'yesterday'), /:9:19: a: pinnedAt must be a time such as/],
  ['a requirement that is a number', OK.replace('"requires": []', '"requires": [1]'), /: a: requires must be a list of URIs/],
  ['another kind of digest', OK.replace('sha256:', 'md5:'), /:7:17: a: digest must be sha256: and 64 hex digits/],
  ['a card edited by hand', OK.replace('a hand-made agent', 'another agent'), /:7:17: a: card does not have this digest: one of them was edited by hand \(run /],
  ['a digest edited by hand', OK.replace(/sha256:[0-9a-f]{8}/, 'sha256:00000000'), /:7:17: a: card does not have this digest/]
]

t.test('a file that cannot be used: line, column, and what to do', async t => {
  for (const [what, text, message] of BAD) {
    writeFileSync(path, text)
    try {
      readLockFile(path)
      t.fail(`${what} was accepted`)
    } catch (error) {
      t.ok(error instanceof LockFileError, what)
      t.ok((error as Error).message.startsWith(`${path}:`), what)
      t.match((error as Error).message, message, what)
    }
  }
  t.throws(() => readLockFile(directory), { message: `${directory}: cannot be read: it is a directory` })
})
