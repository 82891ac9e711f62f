/** The members of AgentCard in A2A 1.0 (a2a.proto), as far as the canonical forms of signatures need them. */

export interface CardField {
  readonly type: 'text' | 'flag' | 'struct' | CardMessage
  /** A list, or a map with any keys. Default: one value. */
  readonly many?: 'list' | 'map'
  /** `REQUIRED` in a2a.proto: part of the canonical form even with its default value. */
  readonly required?: true
  /** `optional` in a2a.proto: a value that is set is part of the canonical form, whatever the value. */
  readonly optional?: true
}

export interface CardMessage {
  readonly fields: Readonly<Record<string, CardField>>
  /** True when at most one of the fields may be set. */
  readonly oneof?: true
}

const text: CardField = { type: 'text' }
const requiredText: CardField = { type: 'text', required: true }
const optionalText: CardField = { type: 'text', optional: true }
const texts: CardField = { type: 'text', many: 'list' }
const requiredTexts: CardField = { type: 'text', many: 'list', required: true }
const optionalFlag: CardField = { type: 'flag', optional: true }

const securityRequirement: CardMessage = {
  fields: { schemes: { type: { fields: { list: texts } }, many: 'map' } }
}
const securityRequirements: CardField = { type: securityRequirement, many: 'list' }

const scopes: CardField = { type: 'text', many: 'map', required: true }

const oauthFlows: CardMessage = {
  oneof: true,
  fields: {
    authorizationCode: {
      type: { fields: { authorizationUrl: requiredText, tokenUrl: requiredText, refreshUrl: text, scopes, pkceRequired: { type: 'flag' } } }
    },
    clientCredentials: { type: { fields: { tokenUrl: requiredText, refreshUrl: text, scopes } } },
    implicit: { type: { fields: { authorizationUrl: text, refreshUrl: text, scopes: { type: 'text', many: 'map' } } } },
    password: { type: { fields: { tokenUrl: text, refreshUrl: text, scopes: { type: 'text', many: 'map' } } } },
    deviceCode: { type: { fields: { deviceAuthorizationUrl: requiredText, tokenUrl: requiredText, refreshUrl: text, scopes } } }
  }
}

const securityScheme: CardMessage = {
  oneof: true,
  fields: {
    apiKeySecurityScheme: { type: { fields: { description: text, location: requiredText, name: requiredText } } },
    httpAuthSecurityScheme: { type: { fields: { description: text, scheme: requiredText, bearerFormat: text } } },
    oauth2SecurityScheme: {
      type: { fields: { description: text, flows: { type: oauthFlows, required: true }, oauth2MetadataUrl: text } }
    },
    openIdConnectSecurityScheme: { type: { fields: { description: text, openIdConnectUrl: requiredText } } },
    mtlsSecurityScheme: { type: { fields: { description: text } } }
  }
}

/** AgentCard without `signatures`. */
export const AGENT_CARD: CardMessage = {
  fields: {
    name: requiredText,
    description: requiredText,
    supportedInterfaces: {
      type: { fields: { url: requiredText, protocolBinding: requiredText, tenant: text, protocolVersion: requiredText } },
      many: 'list',
      required: true
    },
    provider: { type: { fields: { url: requiredText, organization: requiredText } } },
    version: requiredText,
    documentationUrl: optionalText,
    capabilities: {
      type: {
        fields: {
          streaming: optionalFlag,
          pushNotifications: optionalFlag,
          extensions: {
            type: { fields: { uri: text, description: text, required: { type: 'flag' }, params: { type: 'struct' } } },
            many: 'list'
          },
          extendedAgentCard: optionalFlag
        }
      },
      required: true
    },
    securitySchemes: { type: securityScheme, many: 'map' },
    securityRequirements,
    defaultInputModes: requiredTexts,
    defaultOutputModes: requiredTexts,
    skills: {
      type: {
        fields: {
          id: requiredText,
          name: requiredText,
          description: requiredText,
          tags: requiredTexts,
          examples: texts,
          inputModes: texts,
          outputModes: texts,
          securityRequirements
        }
      },
      many: 'list',
      required: true
    },
    iconUrl: optionalText
  }
}
