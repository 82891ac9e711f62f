/**
 * The push notification configurations of a request, wherever A2A carries one: the request of CreateTaskPushNotificationConfig, and
 * `configuration` of a request with a message. A configuration is read in every place that either version names, because agents of the SDKs
 * accept both (types.ts 0.3.0, proto 0.3.0 and 1.0.1).
 */
import type { Call } from '#a2a/message/call.js'
import { Fields, FieldSet } from '#a2a/fields.js'
import { ANY } from '#a2a/json-types.js'
import { isObject } from '#wire/json/object.js'

/** Members that hold a configuration, or an object with one. */
const HOLDERS = ['pushNotificationConfig', 'pushNotification', 'taskPushNotificationConfig', 'config'] as const
/** `members.ts` defines the types; this set only serves lookups. */
const MEMBERS = ['url', 'token', 'authentication', 'id', 'configId', 'taskId', 'name'] as const
const CONFIG = new FieldSet(Object.fromEntries([...MEMBERS, ...HOLDERS].map(name => [name, ANY])))

/** One configuration. Its members are read by name, whatever their spelling. */
export type PushConfigFields = Fields

/** Deepest nesting that A2A defines: `config.pushNotificationConfig` of the request. */
const DEPTH = 3

/** Null when the request cannot carry a configuration. An empty list for a request that sets one without any URL. */
export function pushConfigsOf (call: Call): readonly PushConfigFields[] | null {
  const configs: Fields[] = []
  if (call.view !== null) {
    const configuration = call.view.fields.get('configuration')
    if (!isObject(configuration)) return null
    collect(Fields.read(configuration, CONFIG, call.view.fields.pathOf('configuration'), []), configs, 1)
    return configs.length === 0 ? null : configs
  }
  if (call.operation !== 'CreateTaskPushNotificationConfig') return null
  if (call.request === null) return configs
  const fields = Fields.read(call.request.object, CONFIG, call.request.path, [])
  if (isSet(fields.get('url'))) configs.push(fields)
  collect(fields, configs, 0)
  return configs
}

function collect (holder: Fields, configs: Fields[], depth: number): void {
  if (depth >= DEPTH) return
  for (const name of HOLDERS) {
    const inner = holder.get(name)
    if (!isObject(inner)) continue
    const fields = Fields.read(inner, CONFIG, holder.pathOf(name), [])
    const before = configs.length
    collect(fields, configs, depth + 1)
    // A configuration without a URL of its own and without another inside is one: its URL is missing.
    if (isSet(fields.get('url')) || configs.length === before) configs.push(fields)
  }
}

function isSet (value: unknown): boolean {
  return value !== undefined && value !== null
}
