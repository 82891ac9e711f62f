/** Why there is nothing to explain: what is missing and how to give it, in one sentence for whoever ran the command. */
export class CannotExplain extends Error {
  override readonly name = 'CannotExplain'
}
