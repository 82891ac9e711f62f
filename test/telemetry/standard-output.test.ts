/** Lines into a descriptor that accepts parts of lines, or nothing: each line arrives whole and in order, or is reported as lost. */
import t from 'tap'
import { DescriptorLines } from '#telemetry/standard-output.js'
import { until } from '../helpers/http.js'

const failure = (code: string): Error => Object.assign(new Error(`${code}: write`), { code })

/** A descriptor whose `accepts` says how many bytes the next write takes, or fails. */
class Descriptor {
  #bytes = Buffer.alloc(0)
  accepts: (bytes: Buffer) => number = bytes => bytes.length
  readonly reports: string[] = []
  readonly lines = new DescriptorLines(1, {
    backlog: 100,
    report: text => { this.reports.push(text) },
    write: (_fd, bytes) => {
      const count = this.accepts(bytes)
      this.#bytes = Buffer.concat([this.#bytes, bytes.subarray(0, count)])
      return count
    }
  })

  get text (): string {
    return this.#bytes.toString()
  }
}

t.test('a write that takes a part of a line goes on with the rest', async t => {
  const descriptor = new Descriptor()
  descriptor.accepts = bytes => Math.min(3, bytes.length)
  t.ok(descriptor.lines.put('a long line\n'))
  t.ok(descriptor.lines.put('zweite Zeile äöü\n'))
  t.equal(descriptor.text, 'a long line\nzweite Zeile äöü\n')
  t.same(descriptor.reports, [])
})

for (const code of ['ENOSPC', 'EFBIG', 'EIO', 'EDQUOT', 'EAGAIN']) {
  t.test(`${code} in the middle of a line`, async t => {
    const descriptor = new Descriptor()
    let room = 5
    descriptor.accepts = bytes => {
      if (room === 0) throw failure(code)
      const count = Math.min(room, bytes.length)
      room -= count
      return count
    }
    t.ok(descriptor.lines.put('first line\n'))
    t.equal(descriptor.text, 'first')
    t.ok(descriptor.lines.put('second line\n'))
    t.notOk(descriptor.lines.put(`${'x'.repeat(100)}\n`), 'a line that finds no room is lost')
    t.ok(descriptor.lines.put('third line\n'), 'a smaller one has room')
    room = Infinity
    await until(() => descriptor.text.endsWith('third line\n'), 'the lines that waited')
    t.equal(descriptor.text, 'first line\nsecond line\nthird line\n')
    t.ok(descriptor.lines.put('fourth line\n'))
    t.match(descriptor.text, /fourth line\n$/)
    t.same(descriptor.reports, code === 'EAGAIN'
      ? []
      : [
          `stdout cannot be written (${code}: write): log lines and audit lines wait or are lost, calls go on`,
          'stdout can be written again; 1 line was lost'
        ])
  })
}

t.test('EPIPE: no line waits, each is lost and tried, and a new reader of a named pipe gets lines', async t => {
  const descriptor = new Descriptor()
  descriptor.accepts = () => { throw failure('EPIPE') }
  for (let i = 0; i < 5; i++) t.notOk(descriptor.lines.put('lost\n'))
  descriptor.accepts = bytes => bytes.length
  t.ok(descriptor.lines.put('arrives\n'))
  t.equal(descriptor.text, 'arrives\n')
  t.same(descriptor.reports, [])
})

t.test('the end of a process writes what waits, and does not wait for a full disk', async t => {
  const slow = new Descriptor()
  let attempts = 0
  slow.accepts = bytes => {
    if (attempts++ < 3) throw failure('EAGAIN')
    return bytes.length
  }
  t.ok(slow.lines.put('last line\n'))
  slow.lines.finish()
  t.equal(slow.text, 'last line\n')
  const full = new Descriptor()
  full.accepts = () => { throw failure('ENOSPC') }
  t.ok(full.lines.put('last line\n'))
  full.lines.finish()
  t.equal(full.text, '')
})
