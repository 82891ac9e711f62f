/** The key `server.adminAccess`. */
import { callerWithoutMatch } from './caller-schema.js'
import type { Schema } from './schema-kit.js'
import { duration } from './schema-kit.js'

export const adminAccess: Schema = {
  type: ['object', 'null'],
  description:
    'Who may use `/agents` and the console: callers that `sources` verify and that `allow` names. Browsers sign in under `/console/` and get a session cookie. Probes and `/metrics` stay open; use `server.metrics` and a network policy for these. `null`: everybody who reaches the admin listener.',
  default: null,
  required: ['sources'],
  properties: {
    sources: {
      type: 'array',
      description: 'Names of sources in `identity.sources` whose callers may use the admin listener.',
      items: { type: 'string', 'x-format': 'name' },
      minItems: 1,
      maxItems: 100,
      uniqueItems: true
    },
    allow: {
      type: 'array',
      description: 'Conditions on the caller; one of them must hold. Empty: every caller of `sources`.',
      default: [],
      items: callerWithoutMatch('A condition on the caller. All keys must hold.'),
      maxItems: 1000
    },
    session: duration(
      'Longest session of a browser. A session ends earlier when its credential expires or is revoked, and when the gateway restarts.',
      '8h', '1m', '168h'
    )
  },
  additionalProperties: false
}
