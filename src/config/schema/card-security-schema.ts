/** `card.security` and `card.securityForm`: the security schemes of the served card. */
import { choiceOrNull } from './schema-builder.js'

export const cardSecurity = {
  security: choiceOrNull(
    'Security schemes and requirements of the served card: those of `identity` (`gateway`), or those of the agent (`agent`). `null`: `gateway` with `identity`, unless `signature` is `verbatim`.',
    ['gateway', 'agent']
  ),
  securityForm: choiceOrNull(
    'How the gateway writes scopes in the requirements of a 1.0 card: `list`, as A2A 1.0 says, or `plain`, which the Go SDK 2.3 needs and the Python and JavaScript SDKs read too. `null`: as the card of the agent does, otherwise `plain`.',
    ['list', 'plain']
  )
}
