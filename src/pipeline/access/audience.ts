/** Compares the caller of a dry run with the audiences of the agent. A running gateway does so when it authenticates the caller. */
import type { Rejection } from '#a2a/errors.js'
import type { AgentConfig } from '#config/model/model.js'
import { isFor } from '#identity/audience.js'
import type { Carrier } from '#identity/authentication.js'
import type { Principal } from '#identity/principal.js'
import { failed } from '#identity/rejections.js'

const BEARER: Carrier = { in: 'header', name: 'authorization', scheme: 'bearer' }

/** @returns null for a caller whose claims have no `aud`: it may be a caller without a token */
export function forOthers ({ access: { audience } }: AgentConfig, caller: Principal | null): Rejection | null {
  const aud = caller?.claims['aud']
  return audience === null || aud === undefined || isFor(aud, audience) ? null : failed('audience', BEARER)
}
