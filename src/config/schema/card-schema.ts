/** Keys of `card` for signatures, views and security schemes. */
import { caller } from './caller-schema.js'
import { array, boundedString, choice, choiceOrNull, duration, flag, list, mapping, nullable, oneOf, orNull, text } from './schema-builder.js'
import type { Schema, TypeOf } from './schema-builder.js'
import { signingKey } from './signing-key-schema.js'

/** Algorithms that cards are signed with. No HMAC: every verifier of such a signature can make one. */
const CARD_ALGORITHMS = ['ES256', 'RS256', 'PS256', 'EdDSA']

const verifySchema = orNull(mapping(
  'How the gateway verifies the signatures of the card before it uses the card. One valid signature is enough. `null`: the gateway does ' +
    'not verify signatures.',
  ['keys'],
  {
    keys: mapping('The keys that may sign the card. Needs one of `url` and `file`. The gateway never follows an address in a ' +
      'signature.', [], {
      url: nullable('URL of a JSON Web Key Set: https, or http on this machine.', 'issuer'),
      file: nullable(
        'File with a JSON Web Key Set, relative to the configuration file. The gateway reads it again when it changes.', 'file'
      ),
      maxStale: duration('How long the gateway uses fetched keys while it cannot reach their URL.', '24h', '1m', '720h')
    }),
    require: flag(
      'Whether the card must be signed. With `false`, an attacker who can change the card can also remove its signatures.', true
    ),
    onFailure: choice(
      '`refuse`: the gateway does not use a card that it cannot verify. It uses the last good card for `maxStale`, then rejects calls ' +
        'with 503. `warn`: the gateway uses the card, and reports the problem in the log and in `/agents`.',
      ['refuse', 'warn'],
      'refuse'
    ),
    algorithms: list('Accepted signature algorithms.', oneOf<string>(CARD_ALGORITHMS), CARD_ALGORITHMS),
    uncovered: choice(
      'Members that no valid signature covers, such as `schemas` of a card that an official SDK has signed. `drop`: the gateway reads ' +
        'the card without them, and does not serve them. `allow`: the gateway treats them as signed.',
      ['drop', 'allow'],
      'drop'
    )
  }
))

const signSchema = orNull(mapping(
  "The gateway's own signatures, for `signature: resign`. Anybody can read the public keys at `/.well-known/jwks.json`. `null`: none.",
  ['key'],
  signingKey('secrets/card.pem')
))

const NAME = boundedString(1024)

const names = (description: string): Schema<readonly string[] | undefined> =>
  array(description, NAME, { maxItems: 1000, uniqueItems: true })

const viewSchema = mapping('One view.', ['id', 'skills', 'extensions'], {
  id: { ...text('Unique name, 1 to 63 of a-z, 0-9 and `-`.', 'name'), examples: ['finance'] },
  caller: caller('The callers that see this view. Default: every authenticated caller.'),
  skills: { ...names('Ids of the skills in the view; `all` is every skill.'), examples: [['all']] },
  extensions: {
    ...names('Extensions in the view, by URI or by the name of their policy; `all` is every extension. Each view contains the required ' +
      'extensions.'),
    examples: [['all']]
  }
})

const viewsSchema = array(
  'The card by caller: the first view whose `caller` matches decides what an authenticated caller sees. A caller that matches no view ' +
    'gets the card that `public` selects. Hiding is not enforcing: `activation.callers` of a policy decides who may activate an extension.',
  viewSchema,
  { maxItems: 100 },
  []
)

/** The card for some callers. */
export type CardViewConfig = TypeOf<typeof viewSchema>

/** Keys of `card` for the security schemes of the served card. */
export const cardSecurity = {
  security: choiceOrNull(
    'Security schemes and requirements of the served card: those of `identity` (`gateway`), or those of the agent (`agent`). `null`: ' +
      '`gateway` with `identity`, unless `signature` is `verbatim`.',
    ['gateway', 'agent']
  ),
  securityForm: choiceOrNull(
    'How the gateway writes scopes in the requirements of a 1.0 card: `list`, as A2A 1.0 says, or `plain`, which the Go SDK 2.3 needs ' +
      'and the Python and JavaScript SDKs read too. `null`: as the card of the agent does, otherwise `plain`.',
    ['list', 'plain']
  )
}

/** Keys of `card` for signatures and views. */
export const cardTrust = {
  verify: verifySchema,
  sign: signSchema,
  views: viewsSchema,
  publicSkills: list('Ids of the skills that `public: minimal` shows.', NAME, [])
}

/** Exactly one of `keys.url` and `keys.file` is not null. */
export type CardVerifyConfig = NonNullable<TypeOf<typeof verifySchema>>
