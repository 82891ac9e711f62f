/** Handles the body of a response, once the head of the response is known. */
export interface ResponseBody {
  /** @returns false to pause the agent until the exchange's forwarding is resumed */
  data (chunk: Buffer): boolean
  /** Called when the agent's response is complete. */
  end (): void
  /**
   * Called when the agent's connection breaks.
   * @param tell ends the exchange accordingly; called once, either at once or when all earlier data has been sent
   */
  failed (tell: () => void): void
}
