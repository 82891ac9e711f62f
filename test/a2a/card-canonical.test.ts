/** Canonical forms of cards, against RFC 8785 and the official JavaScript SDK. */
import { AgentCard, canonicalizeAgentCard } from '@a2a-js/sdk'
import fc from 'fast-check'
import t from 'tap'
import { canonicalCards, canonicalize, coveredBySdkForm, jsonForm, parsedSdkForm, sdkForm, specForm, uncoveredKeys } from '#a2a/card/signing/canonical.js'
import type { JsonObject } from '#wire/json/object.js'
import { parseStrict } from '#wire/json/json.js'
import { check } from '../helpers/seed.js'

/** Messages of the errors. */
const NONE = { message: /the card/ }

t.test('RFC 8785', async t => {
  // Appendix B: IEEE 754 doubles and their text.
  const numbers: readonly (readonly [string, string | null])[] = [
    ['0000000000000000', '0'], ['8000000000000000', '0'], ['0000000000000001', '5e-324'], ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'], ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'], ['c340000000000000', '-9007199254740992'], ['4430000000000000', '295147905179352830000'],
    ['7fffffffffffffff', null], ['7ff0000000000000', null], ['44b52d02c7e14af5', '9.999999999999997e+22'], ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'], ['444b1ae4d6e2ef4e', '999999999999999700000'], ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'], ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'], ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'], ['41b3de4355555554', '333333333.33333325'], ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'], ['41b3de4355555557', '333333333.33333343'], ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2']
  ]
  const wrong = numbers.filter(([hex, text]) => {
    const value = Buffer.from(hex, 'hex').readDoubleBE()
    try {
      return canonicalize(value) !== text
    } catch {
      return text !== null
    }
  })
  t.same(wrong, [])
  // §3.2.2 and §3.2.3
  const text = '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}'
  t.equal(
    canonicalize(JSON.parse(text)),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
  )
  const keys = ['\u20ac', '\r', '\ufb33', '1', '\u{1f600}', '\u0080', '\u00f6']
  t.match(canonicalize(Object.fromEntries(keys.map(key => [key, 0]))), /^\{"\\r":0,"1":0,"\u0080":0,"ö":0,"€":0,"\u{1f600}":0,"\ufb33":0\}$/u)
})

t.test('values without a canonical form', async t => {
  const nested = (depth: number): unknown => depth === 0 ? 1 : [nested(depth - 1)]
  t.throws(() => canonicalize('\ud800'), NONE)
  t.throws(() => canonicalize({ '\udfff': 1 }), NONE)
  t.throws(() => canonicalize({ a: undefined }), NONE)
  t.throws(() => canonicalize(nested(65)), NONE)
  t.equal(canonicalize(nested(64)).length, 129)
  t.equal(parseStrict(Buffer.from('{"name":"a","name":"b"}'), { depth: 64, members: 10 }).ok, false, 'no card with duplicate members is ever parsed')
})

const CARD: JsonObject = {
  name: 'Example Agent',
  description: '',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'http://a.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
  capabilities: {
    streaming: false,
    extensions: [{ uri: 'https://a.example/ext/v1', required: false, description: '', params: { keep: 0, drop: '', list: [], deep: { nothing: {} } } }]
  },
  securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } }, tls: { mtlsSecurityScheme: {} } },
  defaultInputModes: [],
  defaultOutputModes: ['text/plain'],
  skills: [],
  schemas: { order: { type: 'object' } },
  signatures: [{ protected: 'a', signature: 'b' }]
}

t.test('the form of the specification', async t => {
  const example = { name: 'Example Agent', description: '', capabilities: { streaming: false, pushNotifications: false, extensions: [] }, skills: [] }
  t.equal(specForm(example), '{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}')
  const form = JSON.parse(specForm(CARD)) as Record<string, unknown>
  t.same(form['schemas'], CARD['schemas'], 'members that A2A does not define stay')
  t.notOk('signatures' in form)
  t.same(form['supportedInterfaces'], [{ url: 'http://a.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }])
  t.match(form, { capabilities: { extensions: [{ uri: 'https://a.example/ext/v1', params: { drop: '', list: [] } }] } }, 'params is data')
})

t.test('the form of the SDKs', async t => {
  t.equal(sdkForm(CARD), canonicalizeAgentCard(CARD as unknown as AgentCard))
  t.equal(parsedSdkForm(CARD), canonicalizeAgentCard(AgentCard.fromJSON(CARD)), 'a card that the SDK has parsed loses its security schemes')
  t.notMatch(sdkForm(CARD), /schemas|signatures|drop|tls/)
  t.same(uncoveredKeys(CARD), ['schemas'])
  t.match(coveredBySdkForm(CARD), { description: '', skills: [], defaultInputModes: [] }, 'REQUIRED members have their default values')
  t.notOk('schemas' in coveredBySdkForm(CARD))
  t.equal(sdkForm(coveredBySdkForm(CARD)), sdkForm(CARD))
  const snake = { name: 'a', supported_interfaces: [{ url: 'u', protocol_binding: 'JSONRPC' }], icon_url: 'i' }
  t.equal(sdkForm(snake), canonicalizeAgentCard(AgentCard.fromJSON(snake)))
  for (const odd of [{ name: 1 }, { name: 'a', skills: {} }, { capabilities: { streaming: 'no' } }, { skills: [null] }, { iconUrl: 'a', icon_url: 'b' },
    { securitySchemes: { a: { mtlsSecurityScheme: {}, httpAuthSecurityScheme: {} } } }, { capabilities: { extensions: [{ uri: 'u', params: [] }] } }]) {
    t.throws(() => sdkForm(odd), NONE, JSON.stringify(odd))
  }
  t.same(canonicalCards({ name: 1 }).map(one => one.form), ['json'])
  t.same(canonicalCards({ name: 'a' }).map(one => one.form), ['json'], 'equal forms count once')
  t.equal(jsonForm({ name: 'a', signatures: [] }), '{"name":"a"}')
})

t.test('random cards: the form of the JavaScript SDK', async t => {
  const text = fc.constantFrom('', 'a', 'ä', '\u{1d11e}', '"\\\n')
  const json = fc.letrec<{ value: unknown }>(tie => ({
    value: fc.oneof({ depthSize: 'small' }, text, fc.boolean(), fc.constant(null), fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(text.filter(one => one !== ''), tie('value'), { maxKeys: 3 }))
  })).value
  const optional = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(one, { nil: undefined })
  const texts = fc.array(text, { maxLength: 2 })
  const requirement = fc.record({ schemes: fc.dictionary(fc.constantFrom('a', 'b'), fc.record({ list: texts }), { maxKeys: 2 }) })
  const flows = fc.oneof(
    fc.record({ clientCredentials: fc.record({ tokenUrl: text, refreshUrl: text, scopes: fc.dictionary(fc.constantFrom('s', 't'), text) }) }),
    fc.record({ authorizationCode: fc.record({ authorizationUrl: text, tokenUrl: text, pkceRequired: fc.boolean() }) }),
    fc.record({ deviceCode: fc.record({ deviceAuthorizationUrl: text, tokenUrl: text }) })
  )
  const scheme = fc.oneof(
    fc.record({ apiKeySecurityScheme: fc.record({ location: text, name: text, description: text }) }),
    fc.record({ httpAuthSecurityScheme: fc.record({ scheme: text, bearerFormat: text }) }),
    fc.record({ oauth2SecurityScheme: fc.record({ flows, oauth2MetadataUrl: text }) }),
    fc.record({ openIdConnectSecurityScheme: fc.record({ openIdConnectUrl: text }) }),
    fc.record({ mtlsSecurityScheme: fc.record({ description: text }) })
  )
  const params = fc.dictionary(fc.constantFrom('a', 'ä', 'z'), json, { maxKeys: 3 })
  const extension = fc.record({ uri: text, description: text, required: fc.boolean(), params: optional(params) })
  const card = fc.record({
    name: text,
    description: text,
    version: text,
    iconUrl: optional(text),
    documentationUrl: optional(text),
    provider: optional(fc.record({ url: text, organization: text })),
    supportedInterfaces: fc.array(fc.record({ url: text, protocolBinding: text, protocolVersion: text, tenant: text }), { maxLength: 2 }),
    capabilities: optional(fc.record({
      streaming: optional(fc.boolean()),
      pushNotifications: optional(fc.boolean()),
      extendedAgentCard: optional(fc.boolean()),
      extensions: fc.array(extension, { maxLength: 2 })
    })),
    securitySchemes: fc.dictionary(fc.constantFrom('a', 'b'), scheme, { maxKeys: 2 }),
    securityRequirements: fc.array(requirement, { maxLength: 2 }),
    defaultInputModes: texts,
    defaultOutputModes: texts,
    skills: fc.array(
      fc.record({ id: text, name: text, tags: texts, inputModes: texts, securityRequirements: fc.array(requirement, { maxLength: 1 }) }),
      { maxLength: 2 }
    ),
    schemas: optional(json),
    url: optional(text)
  })
  t.ok(check('a2a/card-canonical/sdk', fc.property(card, made => {
    const raw = JSON.parse(JSON.stringify(made)) as JsonObject
    const theirs = canonicalizeAgentCard(raw as unknown as AgentCard)
    if (parsedSdkForm(raw) !== canonicalizeAgentCard(AgentCard.fromJSON(raw))) throw new Error(`parsed: ${parsedSdkForm(raw)}`)
    if (sdkForm(raw) !== theirs) throw new Error(`${sdkForm(raw)}\n${theirs}`)
    if (sdkForm(coveredBySdkForm(raw)) !== theirs) throw new Error(`covered: ${JSON.stringify(coveredBySdkForm(raw))}`)
  }), { numRuns: 300 }) > 0, 'inputs')
})
