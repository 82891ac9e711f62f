/** The `.proto` files of A2A, read by protobufjs, and as descriptors for protobuf-es, which is the oracle of the gateway's reader. */
import { create, createFileRegistry } from '@bufbuild/protobuf'
import type { FileRegistry } from '@bufbuild/protobuf'
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  file_google_protobuf_empty as empty,
  file_google_protobuf_struct as struct,
  file_google_protobuf_timestamp as timestamp,
  FileDescriptorProtoSchema
} from '@bufbuild/protobuf/wkt'
import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs'
import type { Version } from '#a2a/versions.js'
import { inTests } from './paths.js'

/** Versions of the files in test/fixtures/proto. */
export const PROTO_FILES = ['0.3.0', '1.0.0', '1.0.1', 'head'] as const

/** A message of a `.proto` file. */
export interface ProtoMessage { readonly name: string, readonly fields: readonly ProtoField[] }

export interface ProtoField {
  readonly number: number
  readonly name: string
  readonly json: string
  /** As in the file: `string`, `int32`, `Part`, `google.protobuf.Struct`. */
  readonly type: string
  readonly repeated: boolean
  readonly map: boolean
  readonly optional: boolean
  readonly oneof: string | null
}

export interface ProtoFile {
  readonly package: string
  readonly messages: ReadonlyMap<string, ProtoMessage>
  /** Names of the values of an enum by number. */
  readonly enums: ReadonlyMap<string, readonly string[]>
  readonly methods: readonly { readonly name: string, readonly request: string, readonly response: string, readonly streaming: boolean }[]
}

/** Fields that the Python SDK adds to proto 0.3.0 (a2a-sdk 1.3.0, compat/v0_3/a2a_v0_3.proto). */
const PYTHON_0_3 = `
  message Part { google.protobuf.Struct metadata = 4; }
  message FilePart { string name = 4; }
  message AgentCard { string icon_url = 18; }`

export function readProto (file: typeof PROTO_FILES[number]): ProtoFile {
  const { package: name = '', root } = protobuf.parse(readFileSync(inTests('fixtures', 'proto', `a2a-${file}.proto`), 'utf8'), { keepCase: true })
  const messages = new Map<string, ProtoMessage>()
  const enums = new Map<string, readonly string[]>()
  let methods: ProtoFile['methods'] = []
  const added = file === '0.3.0' ? protobuf.parse(`syntax = "proto3"; ${PYTHON_0_3}`, { keepCase: true }).root : new protobuf.Root()
  for (const one of (root.lookup(name) as protobuf.Namespace).nestedArray) {
    if (one instanceof protobuf.Enum) {
      const names: string[] = []
      for (const [text, number] of Object.entries(one.values)) names[number] = text
      enums.set(one.name, names)
    } else if (one instanceof protobuf.Service) {
      methods = one.methodsArray.map(method => ({
        name: method.name,
        request: method.requestType,
        response: method.responseType,
        streaming: method.responseStream === true
      }))
    } else if (one instanceof protobuf.Type) {
      const more = added.get(one.name)
      const fields = [...one.fieldsArray, ...(more instanceof protobuf.Type ? more.fieldsArray : [])]
      messages.set(one.name, { name: one.name, fields: fields.map(fieldOf) })
    }
  }
  return { package: name, messages, enums, methods }
}

function fieldOf (field: protobuf.Field): ProtoField {
  const options: Record<string, unknown> = field.options ?? {}
  const optional = options.proto3_optional === true
  return {
    number: field.id,
    name: field.name,
    json: typeof options.json_name === 'string' ? options.json_name : field.name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    type: field.type,
    repeated: field.repeated,
    map: field.map,
    optional,
    oneof: optional ? null : field.partOf?.name ?? null
  }
}

const FILE_OF: Readonly<Record<Version, typeof PROTO_FILES[number]>> = { 0.3: '0.3.0', '1.0': 'head' }
const SCALARS: Readonly<Record<string, Type>> = { string: Type.STRING, bytes: Type.BYTES, bool: Type.BOOL, int32: Type.INT32 }

/** Descriptors of a version for protobuf-es. */
export function registryOf (version: Version): FileRegistry {
  const file = readProto(FILE_OF[version])
  const typeOf = (type: string): { type: Type, typeName: string } => {
    const scalar = SCALARS[type]
    if (scalar !== undefined) return { type: scalar, typeName: '' }
    if (type.startsWith('google.')) return { type: Type.MESSAGE, typeName: `.${type}` }
    return { type: file.enums.has(type) ? Type.ENUM : Type.MESSAGE, typeName: `.${file.package}.${type}` }
  }
  const descriptor = create(FileDescriptorProtoSchema, {
    name: 'a2a.proto',
    package: file.package,
    syntax: 'proto3',
    dependency: [empty, struct, timestamp].map(one => one.proto.name),
    enumType: [...file.enums].map(([name, values]) => ({ name, value: values.map((text, number) => ({ name: text, number })) })),
    messageType: [...file.messages.values()].map(({ name, fields }) => {
      const oneofs = [...new Set(fields.flatMap(field => field.oneof ?? []))]
      const optional = fields.filter(field => field.optional)
      const entry = (field: ProtoField): string => `${field.json[0]?.toUpperCase()}${field.json.slice(1)}Entry`
      return {
        name,
        oneofDecl: [...oneofs, ...optional.map(field => `_${field.name}`)].map(name => ({ name })),
        nestedType: fields.filter(field => field.map).map(field => ({
          name: entry(field),
          options: { mapEntry: true },
          field: [
            { name: 'key', jsonName: 'key', number: 1, label: Label.OPTIONAL, type: Type.STRING },
            { name: 'value', jsonName: 'value', number: 2, label: Label.OPTIONAL, ...typeOf(field.type) }
          ]
        })),
        field: fields.map(field => ({
          name: field.name,
          jsonName: field.json,
          number: field.number,
          label: field.repeated || field.map ? Label.REPEATED : Label.OPTIONAL,
          ...(field.map ? { type: Type.MESSAGE, typeName: `.${file.package}.${name}.${entry(field)}` } : typeOf(field.type)),
          ...(field.oneof === null ? {} : { oneofIndex: oneofs.indexOf(field.oneof) }),
          ...(field.optional ? { proto3Optional: true, oneofIndex: oneofs.length + optional.indexOf(field) } : {})
        }))
      }
    })
  })
  return createFileRegistry(descriptor, name => [empty, struct, timestamp].find(one => one.proto.name === name))
}
