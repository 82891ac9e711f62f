/** The key `card` of an agent that sets none of its keys, for tests that compile or load cards without a configuration file. */
import type { CardConfig } from '#config/model/model.js'

export const CARD_CONFIG: CardConfig = {
  url: null,
  file: null,
  refresh: 60_000,
  maxStale: 3_600_000,
  headers: {},
  extended: null,
  public: null,
  onUnavailable: 'reject',
  changes: 'apply',
  lock: null,
  texts: 'report',
  signature: 'strip',
  security: null,
  securityForm: null,
  interfaces: [],
  advertise: [],
  schemas: {},
  verify: null,
  sign: null,
  views: [],
  publicSkills: []
}
