/**
 * Decodes a string token of JSON, with its quotes. The engine does: at the root of a text it expects no member name, so the fault that
 * exact-reader.ts describes does not apply.
 * @throws SyntaxError when the token is not a JSON string
 */
export function decodeString (token: string): string {
  return JSON.parse(token) as string
}
