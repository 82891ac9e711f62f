import t from 'tap'
import { differences } from './differences.js'

const outcome = (name: string, facts: Record<string, string>) => ({ name, facts })

t.test('facts that differ, and outcomes that one build does not have', async t => {
  const before = [outcome('a', { status: '200', response: 'x' }), outcome('b', { status: '400' })]
  t.same(differences(before, before), [])
  t.same(differences(before, [outcome('a', { status: '200', response: 'y' }), outcome('b', { status: '400' })]), [
    { name: 'a', fact: 'response', values: ['x', 'y'] }
  ])
  t.same(differences(before, before.slice(0, 1)), [{ name: 'b', fact: 'status', values: ['400', undefined] }])
  t.same(differences(before.slice(0, 1), before), [{ name: 'b', fact: 'status', values: [undefined, '400'] }])
})
