/** Name of the file with agreed cards, beside the configuration file. */
export const LOCK_FILE = 'agents.lock'

/** The word for every skill, and for every extension. */
export const ALL = 'all'
