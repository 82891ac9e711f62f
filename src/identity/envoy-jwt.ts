/**
 * Callers by tokens that the filter `jwt_authn` of Envoy has verified. Envoy sends the payload in the metadata of its message to the
 * gateway, where no client can write. Signature and key are Envoy's matter. Everything else is verified here too, because a route of Envoy
 * may accept tokens of several issuers and for several audiences.
 */
import type { EnvoyJwtConfig } from '#config/model/model.js'
import { readObject } from '#wire/envoy/metadata.js'
import { isFor } from './audience.js'
import type { Carrier, Circumstances, Source, CredentialResult } from './authentication.js'
import { principalOf, readPayload } from './jwt.js'

const MALFORMED: CredentialResult = { problem: 'malformed', foreign: false }
/** A token for other agents. */
const OF_OTHERS: CredentialResult = { problem: 'audience', foreign: false }

/** Longest payload, in bytes of protobuf, which takes more of them than the longest token of a `jwt` source. */
const MAX_PAYLOAD_BYTES = 32_768
/** As in a token that the gateway verifies. */
const BOUNDS = { depth: 16, members: 1_000 } as const

export class EnvoyJwtSource implements Source {
  readonly name: string
  readonly carrier: Carrier
  readonly issuer: string
  private readonly config: EnvoyJwtConfig

  constructor (name: string, config: EnvoyJwtConfig) {
    this.name = name
    this.config = config
    this.issuer = config.issuer
    const { header, metadata } = config
    this.carrier = header === null
      ? { in: 'metadata', name: 'authorization', scheme: 'bearer', metadata }
      : { in: 'metadata', name: header, scheme: null, metadata }
  }

  /** @param credential bytes of the payload, each a character */
  verify (credential: string, { now, thumbprint: certificate, audiences }: Circumstances): CredentialResult {
    const claims = credential.length > MAX_PAYLOAD_BYTES ? null : readObject(Buffer.from(credential, 'latin1'), BOUNDS)
    if (claims === null) return MALFORMED
    const read = readPayload(claims, this.config, now)
    if ('problem' in read) return { problem: read.problem, foreign: read.problem === 'issuer' }
    if (audiences !== null && !isFor(claims['aud'], audiences)) return OF_OTHERS
    if (read.boundTo !== null && read.boundTo !== certificate) return MALFORMED
    const principal = principalOf(this.name, claims, this.config, 'envoyJwt')
    return principal === null ? MALFORMED : { principal }
  }
}
