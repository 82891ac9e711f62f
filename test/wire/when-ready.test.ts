import t from 'tap'
import { whenAllReady, whenReady, whenSettled } from '#wire/when-ready.js'

const double = (value: number): number => value * 2
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const broken = (): never => { throw new Error('broken') }

t.test('a value that is there is used at once', t => {
  t.equal(whenReady(2, double), 4)
  t.equal(whenAllReady([1, 2], sum), 3)
  const values: number[] = []
  whenSettled(3, value => { values.push(value) }, error => { t.fail(String(error)) })
  t.same(values, [3])
  t.end()
})

t.test('a promise is waited for', async t => {
  t.equal(await whenReady(Promise.resolve(2), double), 4)
  t.equal(await whenAllReady([1, Promise.resolve(2)], sum), 3)
  t.equal(await new Promise(resolve => { whenSettled(Promise.resolve(3), resolve, error => { t.fail(String(error)) }) }), 3)
})

t.test('an error of a promise, and of what follows a promise, arrives', async t => {
  await t.rejects(Promise.resolve(whenReady(Promise.resolve(1), broken)), { message: 'broken' })
  await t.rejects(Promise.resolve(whenAllReady([1, Promise.reject(new Error('lost'))], sum)), { message: 'lost' })
  t.match(await new Promise(resolve => { whenSettled(Promise.resolve(1), broken, resolve) }), { message: 'broken' })
  t.match(await new Promise(resolve => { whenSettled(Promise.reject(new Error('lost')), error => { t.fail(String(error)) }, resolve) }), { message: 'lost' })
})

t.test('an error of what follows a value is thrown', t => {
  t.throws(() => whenReady(1, broken), { message: 'broken' })
  t.throws(() => { whenSettled(1, broken, error => { t.fail(String(error)) }) }, { message: 'broken' })
  t.end()
})
