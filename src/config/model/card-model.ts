/** `card.verify`, `card.sign` and `card.views`: signatures of cards, and cards by caller. */
import type { CallerConfig } from './identity-model.js'

export type { CardVerifyConfig } from '../schema/card-schema.js'

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
