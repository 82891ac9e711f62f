import type { Reader, Target } from '../engine/target.js'

/**
 * The targets by name. Each target is in a module of its own, which is imported on demand, because coverage must start before the import.
 */
export const TARGETS: Readonly<Record<string, () => Promise<Target & Reader>>> = {
  json: async () => (await import('./json.js')).json,
  scan: async () => (await import('./scan.js')).scan,
  data: async () => (await import('./data.js')).data,
  'json-edit': async () => (await import('./json-edit.js')).jsonEdit,
  protobuf: async () => (await import('./protobuf.js')).protobuf,
  sse: async () => (await import('./sse.js')).sse,
  'header-list': async () => (await import('./header-list.js')).headerList,
  target: async () => (await import('./target.js')).target,
  'media-type': async () => (await import('./media-type.js')).mediaType,
  message: async () => (await import('./message.js')).message,
  response: async () => (await import('./response.js')).response,
  policy: async () => (await import('./policy.js')).policy,
  config: async () => (await import('./config.js')).config,
  card: async () => (await import('./card.js')).card
}
