/** `push`: limits of the URLs for push notifications. */
import { choice, flag, list, orNull, section, string } from './schema-builder.js'
import type { Schema, TypeOf } from './schema-builder.js'

export const pushSchema = orNull(section(
  'Limits of the URLs to which clients let the agent send push notifications. They apply wherever a request contains such a URL. `null`: ' +
    'the gateway does not check them.',
  {
    mode: choice(
      '`enforce` rejects violations, `observe` only records them, `off` checks nothing.', ['enforce', 'observe', 'off'], 'enforce'
    ),
    allow: list(
      'Allowed URLs, as `scheme://host[:port][/path]`. The host is a name, an address, `*.` and a name for all names below it, or `*` ' +
        'for every public host. Without a port: the default port of the scheme; `:*` is any. Without a path: any; `*` in it is any text. ' +
        'The query is free. Empty: every public host, that is, no private, local or reserved address or name. `resolve` also checks the ' +
        'addresses of names. A name can change its address later: to exclude this, list only hosts that you trust.',
      { ...string('url-pattern'), examples: ['https://*.hooks.example.com/a2a/*'] },
      []
    ),
    require: section('Requirements for each push notification configuration.', {
      https: flag('Whether the URL must use https.', true),
      authentication: flag('Whether the configuration must name an authentication scheme or have a token.', false)
    }),
    perTask: {
      type: ['integer', 'null'],
      description: 'Maximum number of push notification configurations of one task, from 1 to 100. The gateway counts them in `state`. A ' +
        'configuration with the id of an earlier one replaces the earlier one. A successful delete frees a place. `null`: any number.',
      default: null,
      minimum: 1,
      maximum: 100,
      examples: [5]
    } as Schema<number | null>,
    onUnknown: choice(
      'What to do with requests while the store does not respond, so that the gateway cannot count for `perTask`: `reject` them with ' +
        'HTTP 503, or `allow` them.',
      ['reject', 'allow'],
      'reject'
    ),
    resolve: flag(
      'Whether the gateway resolves the host name of a URL. It then rejects the URL if the name does not resolve, or if an address is ' +
        'private, local or reserved. The gateway does not resolve names that `allow` contains. The agent resolves the name again later ' +
        'and may get another address.',
      true
    )
  }
))

export type PushConfig = NonNullable<TypeOf<typeof pushSchema>>
