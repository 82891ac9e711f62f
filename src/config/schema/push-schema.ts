/** `push`: limits of the URLs for push notifications. */
import { choice, flag, list, section } from './schema-kit.js'
import type { Schema } from './schema-kit.js'

export const pushSchema: Schema = {
  ...section(
    'Limits of the URLs to which clients let the agent send push notifications, wherever a request carries one. `null`: the gateway does not check them.',
    {
      mode: choice('`enforce` rejects violations, `observe` only records them, `off` checks nothing.', ['enforce', 'observe', 'off'], 'enforce'),
      allow: list(
        'Allowed URLs, as `scheme://host[:port][/path]`. The host is a name, an address, `*.` and a name for all names below it, or `*` for every public host. Without a port: the default port of the scheme; `:*` is any. Without a path: any; `*` in it is any text. The query is free. Empty: every public host, that is, no private, local or reserved address or name; names are not resolved, so only a list excludes names with private addresses.',
        { type: 'string', 'x-format': 'url-pattern', examples: ['https://*.hooks.example.com/a2a/*'] },
        []
      ),
      require: section('What each configuration must have.', {
        https: flag('Whether the URL must use https.', true),
        authentication: flag('Whether the configuration must name an authentication scheme or have a token.', false)
      })
    }
  ),
  type: ['object', 'null'],
  default: null
}
