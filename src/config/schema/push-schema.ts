/** `push`: limits of the URLs for push notifications. */
import { choice, flag, list, section } from './schema-kit.js'
import type { Schema } from './schema-kit.js'

export const pushSchema: Schema = {
  ...section(
    'Limits of the URLs to which clients let the agent send push notifications, wherever a request carries one. `null`: the gateway does not check them.',
    {
      mode: choice('`enforce` rejects violations, `observe` only records them, `off` checks nothing.', ['enforce', 'observe', 'off'], 'enforce'),
      allow: list(
        'Allowed URLs, as `scheme://host[:port][/path]`. The host is a name, an address, `*.` and a name for all names below it, or `*` for every public host. Without a port: the default port of the scheme; `:*` is any. Without a path: any; `*` in it is any text. The query is free. Empty: every public host, that is, no private, local or reserved address or name; `resolve` says what names may be. Only a list of hosts that you trust excludes a name whose address changes later.',
        { type: 'string', 'x-format': 'url-pattern', examples: ['https://*.hooks.example.com/a2a/*'] },
        []
      ),
      require: section('What each configuration must have.', {
        https: flag('Whether the URL must use https.', true),
        authentication: flag('Whether the configuration must name an authentication scheme or have a token.', false)
      }),
      perTask: {
        type: ['integer', 'null'],
        description: 'Maximum number of push notification configurations of one task, from 1 to 100. The gateway counts them in `state`. A configuration with the id of an earlier one replaces it, and a successful delete frees one. `null`: any number.',
        default: null,
        minimum: 1,
        maximum: 100,
        examples: [5]
      },
      onUnknown: choice(
        'Requests that `perTask` cannot count, because the store does not respond: `reject` with HTTP 503, or `allow`.',
        ['reject', 'allow'],
        'reject'
      ),
      resolve: flag(
        'Whether the gateway resolves the host name of a URL and rejects the URL if an address is private, local or reserved, or if the name does not resolve. Names that `allow` contains are not resolved. The agent resolves the name again later and may get another address.',
        true
      )
    }
  ),
  type: ['object', 'null'],
  default: null
}
