/** snake_case twins and case variants: ProtoJSON parsers, pydantic and Go's encoding/json accept them as the field itself. */
import t from 'tap'
import {
  BAD,
  bodyOf,
  dataPart,
  dataPathOf,
  FORMS,
  forwarded,
  GOOD,
  listOf,
  messageOf,
  nameOf,
  refusalIn,
  refused,
  rootOf,
  sending,
  TAG,
  target,
  textPart
} from './kit.js'

const V1 = FORMS.filter(({ version }) => version === '1.0')

t.test('both spellings of a field are rejected', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    for (const [member, twin] of [
      ['message_id', 'messageId'],
      ['task_id', 'taskId'],
      ['context_id', 'contextId'],
      ['reference_task_ids', 'referenceTaskIds']
    ]) {
      const extra =
        twin === 'referenceTaskIds'
          ? `,"${twin}":[],"${member}":["t"]`
          : twin === 'messageId'
            ? `,"${member}":"n"`
            : `,"${twin}":"","${member}":"t"`
      const answer = await one.send(sending(form, bodyOf(form, messageOf(form, [textPart(form)], extra))))
      refused(
        t,
        one,
        answer,
        'INVALID_PARAMS',
        new RegExp(`${rootOf(form)}\\.${member} occurs together with "${twin}"`),
        `${nameOf(form)}, ${member}`
      )
      t.same(refusalIn(answer).fields, [`${rootOf(form)}.${member}`])
    }
    const both = dataPart(form, GOOD)
      .replace(/\}$/, ',"media_type":"text/plain","mediaType":"application/json"}')
      .replace(/,"mediaType":"[^"]*"(?=,"media_type")/, '')
    const answer = await one.send(sending(form, bodyOf(form, messageOf(form, [both]))))
    refused(t, one, answer, 'INVALID_PARAMS', /\[0\]\.media_type occurs together with "mediaType"/, `${nameOf(form)}, media_type`)
  }
})

t.test('snake_case alone is the field: the schema it names is enforced, the task it names counts', async (t) => {
  const one = await target(t)
  for (const form of V1) {
    const part = (data: string) => `{"data":${data},"media_type":"${TAG}"}`
    const bad = await one.send(sending(form, bodyOf(form, messageOf(form, [part(BAD)]))))
    refused(t, one, bad, 'EXTENSION_DATA_INVALID', /parts\[0\]\.data\.b must be a string/, nameOf(form))
    const good = bodyOf(form, messageOf(form, [part(GOOD)]))
    forwarded(t, one, await one.send(sending(form, good)), good, nameOf(form))
  }
  for (const form of FORMS) {
    const running = await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, GOOD)], ',"task_id":"t"'))))
    // The JavaScript SDKs of 0.3 do not read it there, Python's does.
    if (form.version === '0.3' && form.binding === 'JSONRPC') { refused(t, one, running, 'INVALID_PARAMS', /task_id is read as "taskId" by some agents only/, `${nameOf(form)}, task_id`) } else refused(t, one, running, 'STRUCTURED_INPUT_TASK_RUNNING', /this message names a task/, `${nameOf(form)}, task_id`)
  }
})

t.test('0.3: snake_case in the metadata of a part is read, both spellings are rejected', async (t) => {
  const one = await target(t)
  const form = { binding: 'JSONRPC', version: '0.3' } as const
  const part = (metadata: string) => `{"kind":"data","data":${BAD},"metadata":{${metadata}}}`
  refused(
    t,
    one,
    await one.send(sending(form, bodyOf(form, messageOf(form, [part(`"mime_type":"${TAG}"`)])))),
    'EXTENSION_DATA_INVALID',
    /parts\[0\]\.data\.b/,
    'mime_type'
  )
  refused(
    t,
    one,
    await one.send(sending(form, bodyOf(form, messageOf(form, [part(`"mime_type":"${TAG}","mimeType":"text/plain"`)])))),
    'INVALID_PARAMS',
    /metadata\.mime_type occurs together with "mimeType"/,
    'both'
  )
})

t.test('case variants are rejected in every place', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const list = listOf(form)
    const shout = list.toUpperCase()
    const cases: [name: string, body: string, place: RegExp][] = [
      [
        'a list beside the list',
        bodyOf(form, messageOf(form, [textPart(form)], `,"${shout}":[${dataPart(form, BAD)}]`)),
        new RegExp(`\\.${shout} is read as "${list}" by some agents`)
      ],
      [
        'the list alone',
        bodyOf(form, messageOf(form, [dataPart(form, BAD)]).replace(`"${list}"`, `"${shout}"`)),
        new RegExp(`\\.${shout} is read as`)
      ],
      [
        'Message',
        bodyOf(form, messageOf(form, [textPart(form)]), `,"Message":${messageOf(form, [dataPart(form, BAD)])}`),
        /Message is read as "message" by some agents/
      ],
      ['Data in a part', bodyOf(form, messageOf(form, [dataPart(form, GOOD).replace(/\}$/, `,"Data":${BAD}}`)])), /\[0\]\.Data is read as/],
      [
        'MediaType',
        bodyOf(form, messageOf(form, [textPart(form).replace(/\}$/, ',"MediaType":"text/plain"}')])),
        /\[0\]\.MediaType is read as/
      ],
      ['TaskID', bodyOf(form, messageOf(form, [dataPart(form, GOOD)], ',"TaskID":"t"')), /\.TaskID is read as "taskId"/],
      [
        'media_Type',
        bodyOf(form, messageOf(form, [textPart(form).replace(/\}$/, ',"media_Type":"x/y"}')])),
        /\[0\]\.media_Type is read as "mediaType"/
      ],
      ['taskid', bodyOf(form, messageOf(form, [dataPart(form, GOOD)], ',"taskid":"t"')), /\.taskid is read as "taskId"/],
      ['escaped', bodyOf(form, messageOf(form, [dataPart(form, GOOD)], ',"\\u0054askId":"t"')), /\.TaskId is read as "taskId"/]
    ]
    for (const [name, body, place] of cases) {
      refused(t, one, await one.send(sending(form, body)), 'INVALID_PARAMS', place, `${nameOf(form)}, ${name}`)
    }
  }
})

t.test('JSON-RPC: case variants in the envelope are rejected', async (t) => {
  const one = await target(t)
  for (const form of FORMS.filter(({ binding }) => binding === 'JSONRPC')) {
    const good = bodyOf(form, messageOf(form, [textPart(form)]))
    const hostile = `{"message":${messageOf(form, [dataPart(form, BAD)])}}`
    for (const [body, name] of [
      [good.replace(/\}$/, `,"Params":${hostile}}`), 'Params'],
      [good.replace(/\}$/, `,"PARAMS":${hostile}}`), 'PARAMS'],
      [good.replace(/\}$/, ',"Method":"tasks/cancel"}'), 'Method'],
      [good.replace('"params"', '"Params"'), 'Params'],
      [good.replace(/\}$/, ',"ID":2}'), 'ID'],
      [good.replace(/\}$/, ',"JsonRpc":"1.0"}'), 'JsonRpc']
    ] as const) {
      refused(
        t,
        one,
        await one.send(sending(form, body)),
        'INVALID_REQUEST',
        new RegExp(`${name} is read as "${name.toLowerCase()}" by some agents`),
        `${nameOf(form)}, ${name}`
      )
    }
  }
})

// Go's encoding/json folds by Unicode's simple case folding: U+017F is "s", U+212A is "k" (seen with Go: `partſ` fills `parts`).
t.test('letters that fold to ASCII are case variants too', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    for (const name of [
      'tas\u212aId',
      'ta\u017fkId',
      'me\u017f\u017fageId',
      ...(listOf(form) === 'parts' ? ['part\u017f'] : []),
      'exten\u017fions'
    ]) {
      const value = name.startsWith('part') ? `[${dataPart(form, BAD)}]` : '"t"'
      const answer = await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, GOOD)], `,"${name}":${value}`))))
      refused(t, one, answer, 'INVALID_PARAMS', /is read as ".*" by some agents/, `${nameOf(form)}, ${name}`)
    }
  }
  const rpc = FORMS[0] as typeof FORMS[number]
  const body = bodyOf(rpc, messageOf(rpc, [textPart(rpc)])).replace(
    /\}$/,
    `,"param\u017f":{"message":${messageOf(rpc, [dataPart(rpc, BAD)])}}}`
  )
  refused(t, one, await one.send(sending(rpc, body)), 'INVALID_REQUEST', /is read as "params" by some agents/, 'params')
})

t.test('names that only look alike, and the client\'s own data, are accepted', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const extra = ',"metadata":{"Parts":1,"parts":2,"media_type":3,"mediaType":4,"MessageId":5},"x-parts":1,"partsList":[]'
    const body = bodyOf(
      form,
      messageOf(form, [dataPart(form, GOOD), '{"data":{"Data":1,"data":{"a":2},"task_id":3,"taskId":4,"TASKID":5}}'], extra)
    )
    forwarded(t, one, await one.send(sending(form, body)), body, nameOf(form))
  }
})

t.test('the path in the rejection has the client\'s own spelling', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    const answer = await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, BAD)]))))
    t.same(refusalIn(answer).fields, [`${dataPathOf(form)}.b`], nameOf(form))
  }
})
