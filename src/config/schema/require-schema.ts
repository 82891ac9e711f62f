/** `access.require`: the credentials that callers need. */
import type { Schema } from './schema-builder.js'

export const requireSchema: Schema = {
  type: ['string', 'array', 'null'],
  description:
    'Credentials that callers need: a list of alternatives, each a list of names in `identity.sources`. A request must satisfy one alternative: **all** sources of the alternative verify the request. The alternative `[anonymous]` accepts requests without credentials. `card`: the alternatives of the agent\'s card, with the sources that cover its schemes. `null`, the default: any one source.',
  'x-format': 'require',
  items: {
    type: 'array',
    description: 'One alternative: names of sources.',
    items: { type: 'string', 'x-format': 'name' },
    minItems: 1,
    maxItems: 10,
    uniqueItems: true
  },
  minItems: 1,
  maxItems: 100,
  examples: ['[[corp], [partners]]']
}
