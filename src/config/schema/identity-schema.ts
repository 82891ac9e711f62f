/** The key `identity`. */
import type { Schema } from './schema-kit.js'
import { choice, flag, mapping, nullable, section, text } from './schema-kit.js'

const keys: Schema = mapping('The accepted keys.', ['file'], {
  file: {
    ...text(
      'File with the digests of the keys, as `a2a-gateway key` prints them: a list of `{id, sha256, client, expires, groups, scopes, tenant}` in YAML; relative to the configuration file. The gateway reads it again when it changes.',
      'file'
    ),
    examples: ['secrets/keys.yaml']
  }
})

const apiKey = mapping('API keys. Needs one of `header`, `cookie` and `query`.', ['keys'], {
  header: nullable('Header that carries the key.', 'header-name'),
  cookie: nullable('Cookie that carries the key.', 'header-name'),
  query: nullable('Query parameter that carries the key; needs `allowQuery`. URLs end up in the logs of proxies.', 'header-name'),
  allowQuery: flag('Whether `query` is allowed.', false),
  keys
})

const basic = mapping('`Authorization: Basic`, with the `id` or `client` of an API key as the user and the key as the password.', ['keys'], { keys })

export const sourceSchema: Schema = {
  ...section('One source of callers: exactly one kind.', { apiKey, basic }),
  minProperties: 1,
  maxProperties: 1
}

export const identitySchema: Schema = {
  type: ['object', 'null'],
  description:
    'Who may call the agents. With it, every path of every agent needs a caller: operations, routes of extensions, `passthrough` prefixes, and agents without a card. Exceptions: the public card (`card.public`) and CORS preflights. `null`: the gateway authenticates nobody.',
  default: null,
  required: ['sources'],
  properties: {
    sources: {
      type: 'object',
      description: 'Sources of callers, by name; the name is a metric label. A caller needs the credentials of one source. A request with credentials of two sources is rejected.',
      propertyNames: { type: 'string', 'x-format': 'name' },
      additionalProperties: sourceSchema,
      minProperties: 1,
      maxProperties: 100
    },
    audit: choice(
      'How log lines, audit lines and spans name a caller: `digest`, which changes when the gateway restarts, or `subject`, the name itself.',
      ['digest', 'subject'],
      'digest'
    )
  },
  additionalProperties: false
}
