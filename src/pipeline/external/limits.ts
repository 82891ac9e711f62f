/** Bytes of one question. Messages may be 20 MiB long, and a policy server must not get them all. */
export const MAX_QUESTION = 1_048_576
