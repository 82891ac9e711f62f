/**
 * Requests. Any bytes give a call or a plain reason. The same JSON in other bytes gives the same call. The gateway sees the data of every
 * part.
 */
import { deepStrictEqual as same, equal, ok } from 'node:assert'
import { readCall } from '#a2a/message/call.js'
import type { Call } from '#a2a/message/call.js'
import { normalise } from '#a2a/message/normalise.js'
import type { Operation } from '#a2a/operations.js'
import { taskIdOf, tenantOf } from '#a2a/task-id.js'
import type { Binding, Version } from '#a2a/versions.js'
import { outcomeOf } from '../../runtimes/exact.js'
import { Random } from '../engine/random.js'
import type { Reader, Target } from '../engine/target.js'
import { respell } from '../oracles/respell.js'
import { readSlowly } from '../oracles/slow-json.js'
import { spokenContent, spokenProblems } from '../oracles/spoken.js'

const LIMITS = { depth: 32, members: 2000 }
const KINDS: readonly { readonly version: Version, readonly binding: Binding, readonly restOperation: Operation | null }[] = [
  { version: '1.0', binding: 'JSONRPC', restOperation: null },
  { version: '0.3', binding: 'JSONRPC', restOperation: null },
  { version: '1.0', binding: 'HTTP+JSON', restOperation: 'SendMessage' },
  { version: '0.3', binding: 'HTTP+JSON', restOperation: 'SendMessage' },
  { version: '1.0', binding: 'HTTP+JSON', restOperation: 'Extension' },
  { version: '0.3', binding: 'HTTP+JSON', restOperation: 'CancelTask' }
]

export const WORDS = [
  '"jsonrpc":"2.0"', '"id":1', '"method":"SendMessage"', '"method":"message/send"', '"method":"GetTask"', '"method":"tasks/get"',
  '"params":', '"message":', '"request":', '"parts":', '"content":', '"data":', '"data":{"data":1}', '"text":"t"', '"raw":"cg=="',
  '"url":"http://u"',
  '"file":{"uri":"u","mimeType":"a/b"}', '"kind":"data"', '"kind":"text"', '"metadata":', '"mediaType":"a/b"', '"media_type":"a/b"',
  '"mimeType":"a/b"', '"extensions":["urn:a"]', '"taskId":"t"', '"task_id":"t"', '"contextId":"c"', '"tenant":"x"', '"role":"ROLE_USER"',
  '"role":1', '"messageId":"m"',
  '"Data":1', '"DATA":1', '"meſſage":1', '"referenceTaskIds":[]', '"configuration":{}', 'null', '{', '}', '[', ']', ',', ':', '""',
  '"__proto__":{}', '"constructor":1', '\\u0061', '1e400'
]

export const message: Target & Reader = {
  name: 'message',
  maxBytes: 1200,
  seeds: [
    '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"a":1},"mediaType":"a/b"},{"text":"t"}],"extensions":["urn:a"],"metadata":{"urn:a":1},"taskId":"t"},"metadata":{"k":"v"},"tenant":"x"}}',
    '{"jsonrpc":"2.0","id":"\\u0031","method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"data","data":{"a":1},"metadata":{"mimeType":"a/b"}},{"kind":"file","file":{"bytes":"","mimeType":"a/b"}}]}}}',
    '{"message":{"role":"ROLE_USER","content":[{"data":{"data":{"a":1}}},{"text":"t"}]}}',
    '{"request":{"content":[{"data":{"data":{"a":1}}}]}}',
    '{"message":{"parts":[{"data":1,"text":"t"},{"media_type":"a/b","data":null},{"Data":1}]}}',
    '{"message":{"role":"ROLE_USER","parts":[{"text":"t"},{"kind":"text","text":"t"},{"kind":"data","data":{"a":1}},{"data":{"b":{"c":[1]}},"kind":"data"}]}}',
    '{"jsonrpc":"2.0","id":9007199254740993,"method":"tasks/get","params":{"id":"t","name":"tasks/t"}}',
    '[{"jsonrpc":"2.0"}]',
    '{"jsonrpc":"2.0","method":"acme/x","params":null}',
    'null',
    ''
  ],
  dictionary: WORDS,
  read: bytes => KINDS.map(kind => {
    const call = readCall({ ...kind, bytes, contentType: 'application/json', limits: LIMITS })
    return { problem: call.problem, id: call.id(), call: outcomeOf(() => spoken(call)) }
  }),
  check (bytes) {
    const slow = readSlowly(bytes)
    const good =
      slow.root !== null &&
      slow.utf8 &&
      !slow.mark &&
      slow.duplicates.length === 0 &&
      slow.depth <= LIMITS.depth &&
      slow.members <= LIMITS.members
    const again = good && slow.root !== null ? respell(slow.root, bytes, Random.of(bytes)) : null
    for (const kind of KINDS) {
      const call = readCall({ ...kind, bytes, contentType: 'application/json', limits: LIMITS })
      const { problem } = call
      if (problem !== null) ok(/^[A-Z][^\p{Cc}]*\.$/u.test(problem.message), 'sentences')
      if (!good && bytes.length > 0) equal(problem?.reason, 'PARSE_ERROR', 'what is not JSON has no call')
      same(JSON.parse(call.id()), call.idValue ?? idOf(call), 'the id as it was written')
      if (again !== null) {
        same(spoken(readCall({ ...kind, bytes: again, contentType: 'application/json', limits: LIMITS })), spoken(call), 'the same call')
      }
      seesData(call)
    }
  }
}

/** The id of a call. A rejected envelope has its id only in the response. */
function idOf (call: Call): unknown {
  return JSON.parse(call.id())
}

function spoken (call: Call): unknown {
  const { version, operation, method, idValue, request, extensionBody, view, problem } = call
  return {
    version,
    operation,
    method,
    idValue,
    id: JSON.parse(call.id()),
    request,
    extensionBody,
    problem: problem === null ? null : [problem.reason, problem.rule, problem.message.startsWith('Ambiguous')],
    view:
      view === null
        ? null
        : {
            tenant: view.tenant,
            problems: spokenProblems(view.problems),
            message: spokenContent(view.message),
            ids: [view.message?.taskId, view.message?.contextId]
          },
    normalised: normalise(call),
    taskId: taskIdOf(call, null),
    tenant: tenantOf(call, null)
  }
}

type Json = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const own = (value: unknown, key: string): unknown => isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

/**
 * Checks that all data that any SDK of the version would read, by the exact names in its JSON, is in a part of the view, or that the
 * request is reported as ambiguous.
 */
function seesData ({ request, view, version }: Call): void {
  const parts = own(own(request?.object, 'message'), 'parts')
  if (view === null || !Array.isArray(parts)) return
  for (const [index, part] of parts.entries()) {
    const data = own(part, 'data')
    if (!isObject(data) || (version === '0.3' && own(part, 'kind') !== 'data')) continue
    const seen = view.message?.parts.find(one => one.index === index)
    ok(view.problems.length > 0 || (seen?.isData === true && seen.data === data), 'data that nobody looks at')
  }
}
