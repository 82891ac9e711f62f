/** The watcher reports changed contents, however files are replaced, and nothing else. */
import { EventEmitter } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import type { WatchOptions } from '#config/watch.js'
import { FileWatch } from '#config/watch.js'
import { until, untilSame } from '../helpers/http.js'

/** Long enough for an event that must not come. */
const QUIET = 400
/** So late that only events can have told. */
const NEVER = 3_600_000

function directoryFor (t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'watch-'))
  t.teardown(() => { rmSync(directory, { recursive: true, force: true }) })
  return directory
}

interface Watching { readonly watch: FileWatch, readonly heard: string[] }

/** `heard` gets the content of the first file at every change. */
function watching (t: Test, files: readonly string[], options: WatchOptions = {}): Watching {
  const heard: string[] = []
  const watch = new FileWatch(files, () => {
    try {
      heard.push(readFileSync(files[0] as string, 'utf8'))
    } catch {
      heard.push('gone')
    }
  }, { poll: NEVER, ...options })
  t.teardown(() => { watch.close() })
  return { watch, heard }
}

/** The kubelet's atomic writer: a new dated directory, `..data_tmp -> it`, renamed over `..data`, the old directory removed. */
function swap (mount: string, files: Record<string, string>, generation: number): void {
  const dated = `..2026_11_21_${generation}`
  mkdirSync(join(mount, dated))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(mount, dated, name), text)
  symlinkSync(dated, join(mount, '..data_tmp'))
  renameSync(join(mount, '..data_tmp'), join(mount, '..data'))
  if (generation === 1) for (const name of Object.keys(files)) symlinkSync(join('..data', name), join(mount, name))
  else rmSync(join(mount, `..2026_11_21_${generation - 1}`), { recursive: true })
}

t.test('a mounted ConfigMap, swapped again and again', async t => {
  const mount = directoryFor(t)
  swap(mount, { 'gateway.yaml': 'one' }, 1)
  const { heard } = watching(t, [join(mount, 'gateway.yaml')])
  for (const [i, text] of ['two', 'three', 'four'].entries()) {
    swap(mount, { 'gateway.yaml': text }, i + 2)
    await untilSame(t, () => heard.at(-1), text)
  }
  t.same(heard, ['two', 'three', 'four'])
  swap(mount, { 'gateway.yaml': 'four' }, 5)
  await sleep(QUIET)
  t.equal(heard.length, 3, 'a swap to the same content is no change')
  swap(mount, { 'gateway.yaml': 'five' }, 6)
  await untilSame(t, () => heard.at(-1), 'five')
})

t.test('a link from elsewhere into the mount', async t => {
  const [home, mount] = [directoryFor(t), directoryFor(t)]
  swap(mount, { 'gateway.yaml': 'one' }, 1)
  symlinkSync(join(mount, 'gateway.yaml'), join(home, 'gateway.yaml'))
  const { heard } = watching(t, [join(home, 'gateway.yaml')])
  swap(mount, { 'gateway.yaml': 'two' }, 2)
  await untilSame(t, () => heard.at(-1), 'two')
  swap(mount, { 'gateway.yaml': 'three' }, 3)
  await untilSame(t, () => heard.at(-1), 'three')
  rmSync(join(home, 'gateway.yaml'))
  writeFileSync(join(home, 'gateway.yaml'), 'no link any more')
  await untilSame(t, () => heard.at(-1), 'no link any more')
})

t.test('a linked directory that is turned to another release, the old one kept', async t => {
  const home = directoryFor(t)
  for (const release of ['1', '2', '3']) {
    mkdirSync(join(home, release, 'conf'), { recursive: true })
    writeFileSync(join(home, release, 'conf', 'gateway.yaml'), release)
  }
  symlinkSync('1', join(home, 'current'))
  const { heard } = watching(t, [join(home, 'current', 'conf', 'gateway.yaml')])
  for (const release of ['2', '3']) {
    symlinkSync(release, join(home, 'next'))
    renameSync(join(home, 'next'), join(home, 'current'))
    await untilSame(t, () => heard.at(-1), release)
  }
})

t.test('edited in place, again and again', async t => {
  const file = join(directoryFor(t), 'gateway.yaml')
  writeFileSync(file, 'a')
  const { heard } = watching(t, [file])
  for (const text of ['b', 'c', 'd']) {
    writeFileSync(file, text)
    await untilSame(t, () => heard.at(-1), text)
  }
})

t.test('another file renamed over it, again and again, as editors save', async t => {
  const directory = directoryFor(t)
  const file = join(directory, 'gateway.yaml')
  writeFileSync(file, 'one')
  const { heard } = watching(t, [file])
  for (const text of ['two', 'three']) {
    writeFileSync(join(directory, '.gateway.yaml.swp'), text)
    renameSync(join(directory, '.gateway.yaml.swp'), file)
    await untilSame(t, () => heard.at(-1), text)
  }
  t.same(heard, ['two', 'three'])
})

t.test('deleted and created again: at once, it is one change; later, two', async t => {
  const file = join(directoryFor(t), 'gateway.yaml')
  writeFileSync(file, 'one')
  const { heard } = watching(t, [file])
  rmSync(file)
  writeFileSync(file, 'two')
  await until(() => heard.length > 0)
  t.same(heard, ['two'])
  rmSync(file)
  await until(() => heard.length > 1)
  writeFileSync(file, 'three')
  await until(() => heard.length > 2)
  t.same(heard, ['two', 'gone', 'three'])
})

t.test('the directory replaced by another, and gone for a while', async t => {
  const parent = directoryFor(t)
  const directory = join(parent, 'conf')
  const file = join(directory, 'gateway.yaml')
  mkdirSync(directory)
  writeFileSync(file, 'one')
  const { heard } = watching(t, [file])
  mkdirSync(join(parent, 'next'))
  writeFileSync(join(parent, 'next', 'gateway.yaml'), 'two')
  renameSync(directory, join(parent, 'old'))
  renameSync(join(parent, 'next'), directory)
  await untilSame(t, () => heard.at(-1), 'two')
  writeFileSync(file, 'three')
  await untilSame(t, () => heard.at(-1), 'three')
  rmSync(directory, { recursive: true })
  await untilSame(t, () => heard.at(-1), 'gone')
  mkdirSync(directory)
  writeFileSync(file, 'four')
  await untilSame(t, () => heard.at(-1), 'four')
  writeFileSync(file, 'five')
  await untilSame(t, () => heard.at(-1), 'five')
})

t.test('no notice if the contents stay the same', async t => {
  const directory = directoryFor(t)
  const [file, key] = [join(directory, 'gateway.yaml'), join(directory, 'key.pem')]
  writeFileSync(file, 'same')
  writeFileSync(key, 'same')
  const { heard } = watching(t, [file, key])
  utimesSync(file, new Date(), new Date())
  writeFileSync(file, 'same')
  writeFileSync(join(directory, 'other.yaml'), 'new')
  writeFileSync(join(directory, 'copy'), 'same')
  renameSync(join(directory, 'copy'), key)
  await sleep(QUIET)
  t.same(heard, [])
  writeFileSync(key, 'another')
  await until(() => heard.length === 1, 'a mounted secret to count like the file itself')
})

t.test('many writes at once are one change; continuous writes do not delay it for ever', async t => {
  const file = join(directoryFor(t), 'gateway.yaml')
  writeFileSync(file, '')
  // The quiet time is longer than any pause between the writes of this test, also on a busy machine.
  const { heard } = watching(t, [file], { debounce: 900 })
  for (let i = 0; i < 5; i++) {
    writeFileSync(file, `burst ${i}`)
    await sleep(5)
  }
  await until(() => heard.length > 0)
  t.same(heard, ['burst 4'])
  for (const end = Date.now() + 5_000; heard.length < 2 && Date.now() < end;) {
    writeFileSync(file, `busy ${Date.now()}`)
    await sleep(20)
  }
  t.ok(heard.length >= 2, 'the file is read although it is written all the time')
})

t.test('files can be added and dropped, and no change is lost meanwhile', async t => {
  const directory = directoryFor(t)
  const [file, key] = [join(directory, 'gateway.yaml'), join(directory, 'secrets', 'key.pem')]
  writeFileSync(file, 'one')
  const { watch, heard } = watching(t, [file])
  watch.follow([file, key])
  await sleep(QUIET)
  t.same(heard, [], 'to follow one more is no change')
  mkdirSync(join(directory, 'secrets'))
  writeFileSync(key, 'k')
  await until(() => heard.length === 1, 'a file that was not there')
  writeFileSync(file, 'two')
  watch.follow([file])
  await until(() => heard.length === 2, 'a change just before')
  writeFileSync(key, 'l')
  await sleep(QUIET)
  t.equal(heard.length, 2)
  writeFileSync(file, 'three')
  watch.acknowledge()
  await sleep(QUIET)
  t.equal(heard.length, 2, 'what was acknowledged is known')
})

t.test('without file events, files are polled every few seconds', async t => {
  const file = join(directoryFor(t), 'gateway.yaml')
  writeFileSync(file, 'one')
  const broken = watching(t, [file], { poll: 50, watch: (() => { throw new Error('EMFILE') }) as never })
  let opened = 0
  const failing = watching(t, [file], {
    poll: 50,
    watch: (() => {
      opened++
      const watcher = new EventEmitter() as FSWatcher
      watcher.close = () => {}
      setImmediate(() => watcher.emit('error', new Error('ENOSPC')))
      return watcher
    }) as never
  })
  for (const text of ['two', 'three']) {
    writeFileSync(file, text)
    await until(() => broken.heard.at(-1) === text && failing.heard.at(-1) === text, text)
  }
  t.ok(opened < 100, 'failing watches are not opened again and again without pause')
})

t.test('after close there are no notices', async t => {
  const file = join(directoryFor(t), 'gateway.yaml')
  writeFileSync(file, 'one')
  const { watch, heard } = watching(t, [file], { poll: 20 })
  writeFileSync(file, 'two')
  watch.close()
  watch.follow([file])
  writeFileSync(file, 'three')
  await sleep(QUIET)
  t.same(heard, [])
})
