import t from 'tap'
import { duration, readDuration, readSize, size } from '#config/model/units.js'

t.test('durations are milliseconds', t => {
  for (const [text, value] of [['0s', 0], ['1500ms', 1500], ['3s', 3000], ['10m', 600_000], ['1h', 3_600_000]] as const) {
    t.same(readDuration(text), { value })
    t.equal(duration(text), value)
  }
  for (const text of ['', '3', '3 s', '-3s', '1.5s', '1m30s', '3S', '3d', '1e3s', '3s ', '٣s', '9999999999s']) {
    t.equal('hint' in readDuration(text), true, text)
  }
  t.throws(() => duration('soon'), { name: 'RangeError' })
  t.end()
})

t.test('sizes are bytes, binary units only', t => {
  for (const [text, value] of [['0B', 0], ['512B', 512], ['64KiB', 65_536], ['4MiB', 4_194_304], ['1GiB', 1_073_741_824]] as const) {
    t.same(readSize(text), { value })
    t.equal(size(text), value)
  }
  for (const [text, hint] of [
    ['4MB', 'write "4MiB"'],
    ['4kb', 'write "4KiB"'],
    ['4K', 'write "4KiB"'],
    ['4mib', 'write "4MiB"'],
    ['4 GiB', 'write "4GiB"'],
    ['4', '"4B"']
  ] as const) {
    const reading = readSize(text)
    t.match('hint' in reading ? reading.hint : '', hint)
  }
  t.throws(() => size('big'), { name: 'RangeError' })
  t.end()
})
