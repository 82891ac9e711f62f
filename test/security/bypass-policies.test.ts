/** Ways around a team's own rules: other spellings, other places, and headers that the agent would read and the rule would not. */
import t from 'tap'
import { plainCard } from '../helpers/raw.js'
import type { Form, Header, Target } from './kit.js'
import { bodyOf, FORMS, forwarded, listOf, messageOf, nameOf, refusalIn, refused, sending, target, textPart } from './kit.js'

const URI = 'urn:ours:v1'
const SIGNED = 'urn:signed:v1'

/** A gateway with one enforced policy for URI, and whatever others. */
async function withPolicy (t: Test, policy: string, others = ''): Promise<Target> {
  return target(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: URI }, { uri: SIGNED }] } }),
    agent: [`extensions: [ours${others === '' ? '' : ', other'}]`],
    root: ['extensions:', `  ours: {uri: "${URI}", mode: enforce, ${policy}}`, ...(others === '' ? [] : [`  other: {${others}}`])]
  })
}
type Test = Parameters<typeof target>[0]

const asking = (form: Form, ...uris: string[]): Header[] =>
  uris.map(uri => [form.version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions', uri])

t.test('a pointer finds a field under every name that an agent accepts', async t => {
  const one = await withPolicy(t, `request: [
    {id: meta, select: {pointer: /message/metadata/k}, count: {max: 0}},
    {id: part, select: {pointer: /message/parts/0/metadata/k}, count: {max: 0}},
    {id: data, select: {pointer: /message/parts/0/data/k}, count: {max: 0}},
    {id: modes, select: {pointer: /configuration/acceptedOutputModes}, count: {max: 0}},
    {id: length, on: [GetTask], select: {pointer: /historyLength}, schema: {maximum: 10}}]`)
  for (const form of FORMS) {
    const name = nameOf(form)
    const text = textPart(form)
    const rest = form.binding === 'HTTP+JSON' && form.version === '0.3'
    const put = async (body: string, path: RegExp, what: string): Promise<void> => {
      refused(t, one, await one.send(sending(form, body)), 'EXTENSION_DATA_INVALID', path, `${name}, ${what}`)
    }
    const hidden = messageOf(form, [text], ',"metadata":{"\\u006b":1}')
    await put(bodyOf(form, hidden), /message\.metadata\.k is not allowed/, 'metadata')
    if (rest) await put(`{"request":${hidden}}`, /request\.metadata\.k is not allowed/, 'request')
    await put(
      bodyOf(form, messageOf(form, [text.replace(/\}$/, ',"metadata":{"k":1}}')])),
      new RegExp(`${listOf(form)}\\[0\\]\\.metadata\\.k is not allowed`),
      'a part'
    )
    const data = rest ? '{"data":{"data":{"k":1}}}' : form.version === '0.3' ? '{"kind":"data","data":{"k":1}}' : '{"data":{"k":1}}'
    await put(bodyOf(form, messageOf(form, [data])), new RegExp(`${listOf(form)}\\[0\\]\\.data\\.(?:data\\.)?k is not allowed`), 'data')
    const configured = (key: string): string => bodyOf(form, messageOf(form, [text]), `,"configuration":{${key}}`)
    await put(configured('"acceptedOutputModes":["a"]'), /configuration\.acceptedOutputModes is not allowed/, 'configuration')
    await put(
      configured('"accepted_output_modes":["a"]'),
      /configuration\.accepted_output_modes is not allowed/,
      'configuration in snake_case'
    )
    refused(
      t,
      one,
      await one.send(sending(form, configured('"AcceptedOutputModes":["a"]'))),
      'INVALID_PARAMS',
      /configuration\.AcceptedOutputModes is read as/,
      'configuration in another case'
    )
    const own = bodyOf(form, messageOf(form, [text], ',"metadata":{"K":1}'))
    forwarded(t, one, await one.send(sending(form, own)), own, `${name}: keys of metadata are compared as they stand`)
    if (form.binding !== 'JSONRPC') continue
    const get = (params: string): string =>
      `{"jsonrpc":"2.0","id":1,"method":"${form.version === '1.0' ? 'GetTask' : 'tasks/get'}","params":${params}}`
    await put(get('{"id":"t","history_length":11}'), /params\.history_length must be at most 10/, 'history_length')
    refused(
      t,
      one,
      await one.send(sending(form, get('{"id":"t","historyLength":1,"history_length":2}'))),
      'INVALID_PARAMS',
      /history_length occurs together with/,
      'both'
    )
    const fine = get('{"id":"t","history_length":9}')
    forwarded(t, one, await one.send(sending(form, fine)), fine, `${name}: within bounds`)
  }
})

t.test('a value that the gateway does not add does not count as sent', async t => {
  const one = await withPolicy(
    t,
    'request: [{id: need, select: {metadata: {key: k}}, count: {min: 1}}], inject: [{metadata: k, value: 1}]',
    `uri: "${SIGNED}", mode: enforce, integrity: verbatim`
  )
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    forwarded(t, one, await one.send(sending(form, body, { headers: asking(form, URI) })), null, `${nameOf(form)}: supplied`)
    refused(
      t,
      one,
      await one.send(sending(form, body, { headers: asking(form, URI, SIGNED) })),
      'EXTENSION_DATA_INVALID',
      /metadata\.k is required/,
      `${nameOf(form)}: a request that goes on as it came`
    )
  }
})

t.test('missing params count as params without members', async t => {
  const one = await withPolicy(
    t,
    'methods: {x.start: {params: {required: [command]}}, x.free: {params: {properties: {command: {type: string}}}}}'
  )
  for (const form of FORMS.filter(({ binding }) => binding === 'JSONRPC')) {
    for (const params of ['', ',"params":null', ',"params":{}']) {
      const body = (method: string): string => `{"jsonrpc":"2.0","id":1,"method":"${method}"${params}}`
      refused(
        t,
        one,
        await one.send(sending(form, body('x.start'), { headers: asking(form, URI) })),
        'EXTENSION_DATA_INVALID',
        /params\.command is required/,
        `${nameOf(form)} ${params}`
      )
      forwarded(
        t,
        one,
        await one.send(sending(form, body('x.free'), { headers: asking(form, URI) })),
        body('x.free'),
        `${nameOf(form)} ${params}`
      )
    }
  }
})

t.test('a media type counts on every kind of part, unless the rule is for data', async t => {
  const one = await withPolicy(
    t,
    `owns: {mediaTypes: [application/x-ours]}, activation: {signals: [header]}, inactive: {request: reject}, request: [
    {id: pdf, select: {part: {mediaType: application/pdf}}, count: {max: 0}},
    {id: data, select: {part: {data: true, mediaType: application/xml}}, count: {max: 0}}]`
  )
  for (const form of FORMS) {
    const file = (type: string): string[] =>
      form.version === '1.0'
        ? [
            `{"raw":"AAAA","mediaType":"${type}"}`,
            `{"url":"http://x.test/","media_type":"${type}"}`,
            `{"text":"t","mediaType":"${type.toUpperCase()}"}`
          ]
        : [
            `{"kind":"file","file":{"bytes":"AAAA","mimeType":"${type}"}}`,
            `{"file":{"fileWithUri":"http://x.test/","mime_type":"${type}"}}`,
            `{"text":"t","metadata":{"mimeType":"${type}"}}`
          ]
    for (const [i, part] of file('application/pdf').entries()) {
      const headers = asking(form, URI)
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [part])), { headers })),
        'EXTENSION_DATA_INVALID',
        /\[0\] is not allowed here/,
        `${nameOf(form)} ${i}`
      )
      refused(
        t,
        one,
        await one.send(sending(form, bodyOf(form, messageOf(form, [file('application/x-ours')[i] as string])))),
        'EXTENSION_SUPPORT_REQUIRED',
        /belongs to the extension/,
        `${nameOf(form)} ${i}, owned`
      )
      const fine = bodyOf(form, messageOf(form, [file('application/xml')[i] as string]))
      forwarded(t, one, await one.send(sending(form, fine, { headers })), fine, `${nameOf(form)} ${i}, for data only`)
    }
  }
})

t.test(
  'a header with "_" or "." instead of "-" is the same header for some agents: it is forbidden too, and does not replace the header',
  async t => {
    const one = await withPolicy(
      t,
      `owns: {headers: [X-Ours]}, activation: {signals: [header]}, inactive: {request: reject}, request: [
    {id: bad, select: {header: X-Bad}, count: {max: 0}}, {id: short, select: {header: X-Short}, schema: {maxLength: 1}}]`
    )
    const needy = await withPolicy(t, 'request: [{id: need, select: {header: X-Need}, count: {min: 1}}]')
    for (const form of FORMS) {
      const body = bodyOf(form, messageOf(form, [textPart(form)]))
      for (const name of ['X-Ours', 'x_ours', 'X_OURS', 'x.ours']) {
        refused(
          t,
          one,
          await one.send(sending(form, body, { headers: [[name, '1']] })),
          'EXTENSION_SUPPORT_REQUIRED',
          /belongs to the extension/,
          `${nameOf(form)}, ${name}`
        )
      }
      const active = asking(form, URI)
      for (const name of ['X-Bad', 'x_bad', 'X.Bad']) {
        refused(
          t,
          one,
          await one.send(sending(form, body, { headers: [...active, [name, '']] })),
          'EXTENSION_DATA_INVALID',
          /is not allowed here/,
          `${nameOf(form)}, ${name}`
        )
      }
      refused(
        t,
        one,
        await one.send(sending(form, body, { headers: [...active, ['X-Short', 'a'], ['x-short', 'ab']] })),
        'EXTENSION_DATA_INVALID',
        /X-Short must have at most 1 character/i,
        `${nameOf(form)}, a second line`
      )
      refused(
        t,
        needy,
        await needy.send(sending(form, body, { headers: [['x_need', '1']] })),
        'EXTENSION_DATA_INVALID',
        /X-Need/,
        `${nameOf(form)}, x_need alone`
      )
      forwarded(t, needy, await needy.send(sending(form, body, { headers: [['x-need', '1']] })), body, `${nameOf(form)}, x-need`)
      t.equal(
        refusalIn(
          await needy.send(
            sending(form, body, {
              headers: [
                ['x-need', '1'],
                ['Connection', 'X-Need']
              ]
            })
          )
        ).reason,
        'EXTENSION_DATA_INVALID',
        `${nameOf(form)}: what Connection takes away is not sent`
      )
      needy.agent.received.length = 0
    }
  }
)

t.test('the role may be a number', async t => {
  const one = await withPolicy(
    t,
    'request: [{id: user, when: {match: {properties: {message: {properties: {role: {const: user}}, required: [role]}}}}, select: {metadata: {key: k}}, count: {max: 0}}]'
  )
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)], ',"metadata":{"k":1}'))
    const numbers = form.binding === 'HTTP+JSON' || form.version === '1.0'
    for (const role of ['"ROLE_USER"', '"user"', ...(numbers ? ['1'] : [])]) {
      refused(
        t,
        one,
        await one.send(sending(form, body.replace(/"role":"[^"]*"/, `"role":${role}`))),
        'EXTENSION_DATA_INVALID',
        /metadata\.k is not allowed/,
        `${nameOf(form)}, ${role}`
      )
    }
    if (numbers) {
      forwarded(t, one, await one.send(sending(form, body.replace(/"role":"[^"]*"/, '"role":2'))), null, `${nameOf(form)}: another`)
    }
  }
})
