/** Words of the page for results of the gateway. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import type { CardSignature } from '#a2a/card/loaded-cards.js'
import { SIGNATURE_OUTCOMES } from '#a2a/card/loaded-cards.js'
import { packageRoot } from '#config/paths.js'

const { href } = pathToFileURL(join(packageRoot(), 'src/console/page/words.js'))

t.test('bindings', async t => {
  const { bindingName } = await import(href) as { bindingName: (binding: string) => string }
  t.same(['JSONRPC', 'HTTP+JSON', 'GRPC'].map(bindingName), ['JSON-RPC', 'HTTP+JSON', 'gRPC'])
})

t.test('each result of card.verify', async t => {
  const { signatureWords } = await import(href) as { signatureWords: (signature: CardSignature) => string }
  t.equal(signatureWords({ outcome: 'partial', form: 'sdk', key: 'vendor-1' }), 'verified in part, form sdk, key vendor-1')
  for (const outcome of SIGNATURE_OUTCOMES) t.notMatch(signatureWords({ outcome, form: null, key: null }), /undefined|null/)
})

t.test('one and many', async t => {
  const { counted } = await import(href) as { counted: (value: number, noun: string, plural?: string) => string }
  t.same([0, 1, 2_000].map(value => counted(value, 'call')), ['0 calls', '1 call', '2,000 calls'])
  t.equal(counted(2, 'method or route', 'methods or routes'), '2 methods or routes')
})
