/** reply-from up to 12.4 forwarded `%2E%2E`. Here the target guard rejects it on both route targets, before any routing. */
import t from 'tap'
import { rejectedTargets } from './advisory-kit.js'

t.test('such targets are rejected on both listeners', async t => {
  const paths = [
    '/files/%2E%2E/rpc',
    '/files/%2e%2e/rpc',
    '/files/.%2e/rpc',
    '/files/%2e./rpc',
    '/files/%2e/x',
    '/files/x/%2E%2E%2Frpc',
    '/files/%252e%252e/rpc',
    '/files/%252E%252E/rpc',
    '/files/../rpc',
    '/files/./x',
    '/files/..',
    '/files/x/..'
  ]
  await rejectedTargets(t, paths, /percent-encoded|dot segment/)
})
