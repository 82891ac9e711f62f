/** Error when there is nothing to explain. Its message is one sentence for the user: what is missing and how to give it. */
export class CannotExplain extends Error {
  override readonly name = 'CannotExplain'
}
