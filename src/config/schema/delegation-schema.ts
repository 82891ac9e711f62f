/** `delegation` and `access.delegation`: calls that agents send on behalf of others. */
import { callerWithoutMatch } from './caller-schema.js'
import { array, choice, count, duration, mapping, nullable, optionalDuration, orNull, section, text, withoutDefault } from './schema-builder.js'
import type { Schema, TypeOf } from './schema-builder.js'
import { signingKey } from './signing-key-schema.js'

const name = (description: string): Schema<string | undefined> => ({ type: 'string', description, minLength: 1, maxLength: 1024 })

/** One set of keys of other gateways. */
const chainKeys = mapping('One set of keys. Needs one of `url` and `file`.', [], {
  url: nullable(
    'URL of a JSON Web Key Set, such as `/.well-known/jwks.json` of another gateway: https, or http on this machine.', 'issuer'
  ),
  file: nullable('File with a JSON Web Key Set, relative to the configuration file. The gateway reads it again when it changes.', 'file'),
  maxStale: duration('How long the gateway uses fetched keys while it cannot reach their URL.', '24h', '1m', '720h')
})

export const delegationSchema = orNull(mapping(
  'Gateways of one trust domain pass a signed chain of callers on to each other, in the header `a2a-delegation`. `access.delegation` ' +
    'says what an agent does with the chain. Anybody can read the public keys at `/.well-known/jwks.json`. `null`: no chains.',
  ['gateway', 'trustDomain', 'key'],
  {
    gateway: {
      ...text('Name of this gateway in chains, unique in the trust domain. Replicas share the name.', 'name'), examples: ['edge']
    },
    trustDomain: {
      type: 'string',
      description: 'Name of the trust domain, equal in all of its gateways.',
      examples: ['example.com'],
      minLength: 1,
      maxLength: 253
    } as Schema<string>,
    ...signingKey('secrets/delegation.pem'),
    keys: array('Keys of the other gateways. The gateway accepts its own chains without an entry.', chainKeys, { maxItems: 32 }, []),
    ttl: duration(
      'How long an agent may use a chain that it got with a call. Choose the time that the longest task of an agent takes until its last call.',
      '15m',
      '1s',
      '24h'
    ),
    agents: orNull(
      callerWithoutMatch(
        'Callers that are agents. The gateway rejects their calls without a chain: neither the header `a2a-delegation` nor the claim ' +
          '`act` of their token names who stands behind the call. `null`: a call without a chain is a call of its caller.'
      )
    )
  }
))

/** Without a default: an agent without the key has that of `accessDefaults`. */
export const agentDelegationSchema = withoutDefault(orNull(section(
  'Limits of calls that an agent sends on behalf of somebody else. The chain of callers comes from the header `a2a-delegation`, from the ' +
    'claim `act` of the token (RFC 8693), and from `Via`. `null`: no limits, and the agent gets no chain.',
  {
    maxDepth: count('How many agents may stand between the initiator and this agent. 0: only direct calls.', 5, 0, 16),
    initiator: choice(
      '`authorize`: the access lists must also allow the initiator of the chain to send the request. An agent can then do no more than ' +
        'the caller behind it. `ignore`: only the access of the direct caller counts.',
      ['authorize', 'ignore'],
      'authorize'
    ),
    maxTime: orNull(
      optionalDuration(
        'Time for a call of an initiator with all calls that agents send for it. A chain that has less keeps less. `null`: no limit.',
        '1ms', '24h'
      )
    ),
    mayReach: {
      type: ['array', 'null'],
      description:
        'Agents that the calls of this agent may reach, directly and through other agents: names of agents, or `gateway/agent`; `*` ' +
          'matches any characters. All gateways of the trust domain enforce the list. `null`: all agents.',
      default: null,
      items: { type: 'string', minLength: 1, maxLength: 127 },
      maxItems: 100,
      uniqueItems: true
    } as Schema<readonly string[] | null>,
    as: {
      ...orNull(mapping(
        'The agent, as it authenticates where it calls others. The agent gets a chain that only this caller can use. Needs `subject`, ' +
          '`client` or `spiffe`. `null`: the agent gets no chain.',
        [],
        {
          source: name('Name of the source in `identity.sources` of the gateways that it calls. Default: any.'),
          subject: name('The subject.'),
          client: name('The client.'),
          spiffe: name('The SPIFFE ID of the client certificate.')
        }
      )),
      minProperties: 1
    }
  }
)))

/** The gateways that pass a signed chain of callers on to each other. Times are ms. */
export type DelegationConfig = NonNullable<TypeOf<typeof delegationSchema>>

/** Exactly one of `url` and `file` is not null. */
export type ChainKeysConfig = TypeOf<typeof chainKeys>

/** `access.delegation` of an agent. `maxTime` is in ms. */
export type AgentDelegationConfig = NonNullable<TypeOf<typeof agentDelegationSchema>>

/** A caller by its exact properties. At least one of `subject`, `client` and `spiffe` is given. */
export type PresenterConfig = NonNullable<AgentDelegationConfig['as']>
