/** Properties of the caller that determine the form of a rejection. */
import { isStreaming } from '#a2a/operations.js'
import { parseMediaType } from '#wire/media-type.js'

/** Raw JSON-RPC id of a request whose id is not known. */
export const NO_ID = (): string => 'null'

/** True when the caller of a JSON-RPC operation reads only an event stream. */
export function awaitsEventStream (operation: string, accept: string | undefined): boolean {
  return isStreaming(operation) && (accept ?? '').includes('text/event-stream')
}

/** Media type of a request, without parameters. Null when there is none, or when it cannot be parsed. */
export function mediaTypeOf (contentType: string | undefined): string | null {
  if (contentType === undefined || contentType === 'application/json') return contentType ?? null
  return parseMediaType(contentType)?.essence ?? null
}
