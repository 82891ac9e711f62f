/** `card.verify`, `card.sign` and `card.views`: signatures of cards, and cards by caller. */
import type { CallerConfig, JwtKeysConfig } from './identity-model.js'

export interface CardVerifyConfig {
  /** Exactly one of `url` and `file` is not null. */
  readonly keys: JwtKeysConfig
  /** True: a card without signatures counts as one that cannot be verified. */
  readonly require: boolean
  readonly onFailure: 'refuse' | 'warn'
  readonly algorithms: readonly string[]
  /** Treatment of the members that a good signature does not cover. */
  readonly uncovered: 'drop' | 'allow'
}

/** Name of the file with agreed cards, beside the configuration file. */
export const LOCK_FILE = 'agents.lock'

/** The word for every skill, and for every extension. */
export const ALL = 'all'

export interface CardViewConfig {
  readonly id: string
  /** Absent: every caller. */
  readonly caller?: CallerConfig
  /** Ids of skills, or `all`. */
  readonly skills: readonly string[]
  /** URIs of extensions, names of policies, or `all`. */
  readonly extensions: readonly string[]
}
