/** `access`: who may call an agent, and what callers may do. */

export interface AccessConfig {
  /** Alternatives, each a list of sources that all must verify. `card`: those of the agent's card. Null: any one source. */
  readonly require: RequireConfig | null
}

/** The name `anonymous` in the place of a source stands for a request without credentials. */
export type RequireConfig = 'card' | readonly (readonly string[])[]
