/** The tables of protobuf messages and the gRPC methods, against every `.proto` file of A2A. */
import t from 'tap'
import { GRPC_SERVICES, grpcMethodFor, grpcMethodOf } from '#a2a/grpc/methods.js'
import type { Operation } from '#a2a/operations.js'
import { methodOfOperation, operationOfMethod } from '#a2a/operations.js'
import type { Version } from '#a2a/versions.js'
import { BOOL, BYTES, ENUM, INT32, MESSAGE, STRUCT, TEXT, TIMESTAMP, VALUE } from '#wire/protobuf/table.js'
import type { FieldRow, MessageTable } from '#wire/protobuf/table.js'
import type { ProtoFile } from '../helpers/proto.js'
import { PROTO_FILES, readProto } from '../helpers/proto.js'

const OPERATIONS: readonly Operation[] = [
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'GetExtendedAgentCard'
]

const TYPES: Readonly<Record<string, number>> = {
  string: TEXT,
  bytes: BYTES,
  bool: BOOL,
  int32: INT32,
  'google.protobuf.Struct': STRUCT,
  'google.protobuf.Value': VALUE,
  'google.protobuf.Timestamp': TIMESTAMP
}

/** A row as text, so that a difference shows what differs. */
function shown ({ number, name, type, list, map, omitted, oneof, names, table }: FieldRow): string {
  const of = type === ENUM ? names.join('|') : table?.name ?? Object.keys(TYPES).find(key => TYPES[key] === type)
  return `${number} ${name}: ${list ? 'list of ' : ''}${map ? 'map of ' : ''}${of} ${oneof ?? ''} ${omitted === undefined ? 'present' : `omits ${JSON.stringify(omitted)}`}`
}

function expected (file: ProtoFile, message: string): string[] {
  return [...file.messages.get(message)?.fields ?? []].sort((a, b) => a.number - b.number).map(field => {
    const names = file.enums.get(field.type)
    const type = names !== undefined ? ENUM : TYPES[field.type] ?? MESSAGE
    const present = field.repeated || field.map || field.optional || field.oneof !== null || type >= MESSAGE
    const omitted = present ? undefined : type === ENUM ? names?.[0] : type === BOOL ? false : type === INT32 ? 0 : ''
    const of = names === undefined ? field.type : names.join('|')
    return `${field.number} ${field.json}: ${field.repeated ? 'list of ' : ''}${field.map ? 'map of ' : ''}${of} ${field.oneof ?? ''} ${omitted === undefined ? 'present' : `omits ${JSON.stringify(omitted)}`}`
  })
}

/** All tables that a table reaches. */
function reached (table: MessageTable, found: Map<string, MessageTable>): void {
  if (found.has(table.name)) return
  found.set(table.name, table)
  for (const row of table.names.values()) if (row.table !== null) reached(row.table, found)
}

for (const name of PROTO_FILES) {
  const file = readProto(name)
  const version: Version = name === '0.3.0' ? '0.3' : '1.0'

  t.test(`the tables are those of ${name}`, async t => {
    const tables = new Map<string, MessageTable>()
    for (const operation of OPERATIONS) {
      const method = grpcMethodFor(operation, version)
      if (method === null) continue
      reached(method.request, tables)
      reached(method.response, tables)
    }
    t.strictSame(
      [...tables.values()].filter(table => table.name !== 'Empty').map(table => [table.name, ...[...table.names.values()].map(shown)]).sort(),
      [...file.messages.keys()].map(message => [message, ...expected(file, message)]).sort(),
      'every field of every message, and nothing else'
    )
    for (const table of tables.values()) {
      const bits = [...table.names.values()].filter(row => row.bit !== 0)
      t.ok(bits.every(row => row.bit > 0), `${table.name} has a bit for each field`)
    }
  })

  t.test(`the methods are those of ${name}`, async t => {
    t.equal(GRPC_SERVICES[version].replace(/\.A2AService$/, ''), file.package)
    const found = file.methods.map(({ name, request, response, streaming }) => {
      const method = grpcMethodOf(`/${file.package}.A2AService/${name}`)
      t.ok(method !== null && grpcMethodFor(method.operation, version) === method, `${name} by path and by operation`)
      t.strictSame(
        { version: method?.version, request: method?.request.name, response: method?.response.name, streaming: method?.streaming },
        { version, request, response: response.replace('google.protobuf.', ''), streaming }
      )
      return method?.operation
    })
    t.strictSame(OPERATIONS.filter(operation => !found.includes(operation)), version === '0.3' ? ['ListTasks'] : [])
  })
}

t.test('a path is compared exactly', async t => {
  const path = '/lf.a2a.v1.A2AService/SendMessage'
  t.ok(grpcMethodOf(path))
  const others = [
    `${path}/`,
    `${path}?a=1`,
    `/${path}`,
    path.toLowerCase(),
    path.replace('Send', '%53end'),
    path.slice(1),
    '/a2a.v1.A2AService/ListTasks',
    '/lf.a2a.v1.A2AService/TaskSubscription',
    '/a2a.v1.A2AService/SubscribeToTask',
    ''
  ]
  t.strictSame(others.filter(one => grpcMethodOf(one) !== null), [])
})

t.test('every operation has a JSON-RPC method of the same version', async t => {
  for (const operation of OPERATIONS) {
    t.equal(operationOfMethod(methodOfOperation(operation, '1.0') ?? '', '1.0'), operation)
    t.ok(grpcMethodFor(operation, '1.0'))
  }
})
