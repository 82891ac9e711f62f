import t from 'tap'
import type { AgentConfig, CardChecksConfig, Mode, PolicyConfig } from '#config/model/model.js'
import type { CardFinding } from '#policy/card/checks.js'
import { checkCards } from '#policy/card/checks.js'
import { SchemaCache } from '#policy/compile/schema-source.js'
import { agent, card, declaring } from './fixtures.js'

const U = 'urn:x'
const PARAMS = { type: 'object', required: ['roles'], properties: { roles: { type: 'array', items: { enum: ['a', 'b'] } } } }

function check (
  checks: CardChecksConfig,
  cards: readonly object[],
  more: Partial<PolicyConfig> = {},
  agentMore: Partial<AgentConfig> = {}
): CardFinding[] {
  const policies: AgentConfig['policies'] = [{ name: 'x', policy: { uri: U, card: checks, ...more }, layers: ['file'], from: {} }]
  return checkCards(
    agent({ policies, ...agentMore }),
    cards.map(one => card(one)),
    new SchemaCache()
  )
}

t.test('params of the declaration, in each card that declares it; without params they are {}', async t => {
  t.same(check({ params: PARAMS }, [declaring({ uri: U, params: { roles: ['a'] } })]), [])
  t.same(check({ params: PARAMS }, [declaring('urn:other')]), [], 'not declared, not looked at')
  t.match(check({ params: PARAMS }, [declaring(U)]), [
    {
      policy: 'x',
      rule: 'card-params',
      mode: 'enforce',
      rejects: false,
      message: 'policy "x" (urn:x): in the card, capabilities.extensions[0].params.roles is required'
    }
  ])
  t.match(
    check({ params: PARAMS }, [
      declaring({ uri: U, params: { roles: [] } }),
      declaring('urn:other', { uri: U, params: { roles: ['z', 7] } })
    ]),
    [
      {
        message:
          /capabilities\.extensions\[1\]\.params\.roles\[0\] must be one of \["a","b"\]; capabilities\.extensions\[1\]\.params\.roles\[1\]/
      }
    ]
  )
  t.equal(check({ params: PARAMS }, [declaring(U), { ...declaring(U), name: 'b' }]).length, 1, 'the same of both is told once')
  t.match(check({ params: PARAMS }, [{ extensions: [{ uri: U }] }]), [{ message: /in the card, extensions\[0\]\.params\.roles/ }])
})

t.test('an alias and a pattern declare it too', async t => {
  t.equal(check({ params: PARAMS }, [declaring('urn:y')], { aliases: [{ uri: 'urn:y', relation: 'same' }] }).length, 1)
  const policies: AgentConfig['policies'] = [
    { name: 'x', policy: { uriPattern: 'urn:*', card: { params: PARAMS } }, layers: ['file'], from: {} }
  ]
  t.equal(checkCards(agent({ policies }), [card(declaring('urn:1', 'urn:2'))], new SchemaCache()).length, 2)
})

t.test('the whole card: one of the agent\'s cards is enough', async t => {
  const schema = { required: ['schemas'], properties: { schemas: { type: 'object' } } }
  const [good, bad, worse] = [{ ...declaring(U), schemas: {} }, declaring(U), { ...declaring(U), schemas: 7 }]
  t.same(check({ schema }, [bad, good]), [])
  t.same(check({ schema }, [good]), [])
  t.match(check({ schema }, [worse, bad]), [{ rule: 'card-schema', message: 'policy "x" (urn:x): in the card, schemas must be an object' }])
  t.same(check({ schema }, [{ name: 'no schemas, no extension' }]), [])
})

t.test('rejected only with refuse and enforce; no check if the policy is off', async t => {
  const of = (mode: Mode, own: Mode | undefined, onInvalid: 'refuse' | 'warn' | undefined): unknown =>
    check({ params: PARAMS, ...(onInvalid === undefined ? {} : { onInvalid }) }, [declaring(U)], own === undefined ? {} : { mode: own }, {
      mode
    }).map(({ mode, rejects: refuses }) => [mode, refuses])
  t.same(of('enforce', undefined, 'refuse'), [['enforce', true]])
  t.same(of('enforce', undefined, undefined), [['enforce', false]])
  t.same(of('enforce', 'observe', 'refuse'), [['observe', false]])
  t.same(of('observe', 'enforce', 'refuse'), [['enforce', true]])
  t.same([of('off', 'enforce', 'refuse'), of('enforce', 'off', 'refuse')], [[], []])
})
