/** What becomes of the body of an answer, once its head has said what it is. */
export interface ResponseBody {
  /** @returns false to stop the agent until the exchange's forwarding is resumed */
  data (chunk: Buffer): boolean
  /** The agent's answer is whole. */
  end (): void
  /**
   * The agent's connection broke.
   * @param tell ends the exchange accordingly; called once, at once or when what came before it has gone out
   */
  failed (tell: () => void): void
}
