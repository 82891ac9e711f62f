/** Reviews what an agent answers, by the policies of the request it answers. */
import type { AnswerContext, AnswerReview } from './answer.js'

/** @returns null where nothing says anything of this answer: then not a byte of it is read */
export function reviewOf (_context: AnswerContext): AnswerReview | null {
  return null
}
