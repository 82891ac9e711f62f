/** Messages of Agent Cards that A2A 0.3 and 1.0 define alike (proto 0.3.0 and 1.0.1). */
import { bool, list, map, message, MessageTable, oneOf, struct, text } from '#wire/protobuf/table.js'
import type { FieldSpec } from '#wire/protobuf/table.js'

const STRING_LIST = new MessageTable('StringList', { list: list(text(1)) })

/** The map of a security requirement: names of schemes with their scopes. */
export const SCHEMES = { schemes: map(message(1, STRING_LIST)) }

export const PROVIDER = new MessageTable('AgentProvider', { url: text(1), organization: text(2) })

export const EXTENSION = new MessageTable('AgentExtension', {
  uri: text(1),
  description: text(2),
  required: bool(3),
  params: struct(4)
})

export const SIGNATURE = new MessageTable('AgentCardSignature', { protected: text(1), signature: text(2), header: struct(3) })

const API_KEY = new MessageTable('APIKeySecurityScheme', { description: text(1), location: text(2), name: text(3) })
const HTTP_AUTH = new MessageTable('HTTPAuthSecurityScheme', { description: text(1), scheme: text(2), bearerFormat: text(3) })
const OPEN_ID_CONNECT = new MessageTable('OpenIdConnectSecurityScheme', { description: text(1), openIdConnectUrl: text(2) })
const MUTUAL_TLS = new MessageTable('MutualTlsSecurityScheme', { description: text(1) })

export const AUTHORIZATION_CODE = {
  authorizationUrl: text(1),
  tokenUrl: text(2),
  refreshUrl: text(3),
  scopes: map(text(4))
}

const flow = (field: FieldSpec): FieldSpec => oneOf('flow', field)

/** The flows that both versions define. @param authorizationCode 1.0 adds a member to this flow */
export function flowsWith (authorizationCode: MessageTable): Record<string, FieldSpec> {
  const clientCredentials = new MessageTable('ClientCredentialsOAuthFlow', { tokenUrl: text(1), refreshUrl: text(2), scopes: map(text(3)) })
  const implicit = new MessageTable('ImplicitOAuthFlow', { authorizationUrl: text(1), refreshUrl: text(2), scopes: map(text(3)) })
  const password = new MessageTable('PasswordOAuthFlow', { tokenUrl: text(1), refreshUrl: text(2), scopes: map(text(3)) })
  return {
    authorizationCode: flow(message(1, authorizationCode)),
    clientCredentials: flow(message(2, clientCredentials)),
    implicit: flow(message(3, implicit)),
    password: flow(message(4, password))
  }
}

const scheme = (field: FieldSpec): FieldSpec => oneOf('scheme', field)

export function securitySchemeWith (flows: MessageTable): MessageTable {
  const oauth2 = new MessageTable('OAuth2SecurityScheme', { description: text(1), flows: message(2, flows), oauth2MetadataUrl: text(3) })
  return new MessageTable('SecurityScheme', {
    apiKeySecurityScheme: scheme(message(1, API_KEY)),
    httpAuthSecurityScheme: scheme(message(2, HTTP_AUTH)),
    oauth2SecurityScheme: scheme(message(3, oauth2)),
    openIdConnectSecurityScheme: scheme(message(4, OPEN_ID_CONNECT)),
    mtlsSecurityScheme: scheme(message(5, MUTUAL_TLS))
  })
}

/** The response of operations that return nothing. */
export const EMPTY_MESSAGE = new MessageTable('Empty', {})

export const ROLES = ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT']

/** @param canceled the spelling of the version */
export function statesWith (canceled: string): readonly string[] {
  return [
    'TASK_STATE_UNSPECIFIED',
    'TASK_STATE_SUBMITTED',
    'TASK_STATE_WORKING',
    'TASK_STATE_COMPLETED',
    'TASK_STATE_FAILED',
    canceled,
    'TASK_STATE_INPUT_REQUIRED',
    'TASK_STATE_REJECTED',
    'TASK_STATE_AUTH_REQUIRED'
  ]
}
