/** The part of oidc-provider that the example and the tests use; the package has no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export interface GrantContext {
    readonly oidc: { readonly params: Readonly<Record<string, string | undefined>>, readonly client: { readonly clientId: string } }
    body: unknown
  }

  export default class Provider {
    constructor (issuer: string, configuration: object)
    callback (): RequestListener
    on (event: string, listener: (...args: unknown[]) => void): this
    registerGrantType (name: string, handler: (context: GrantContext) => Promise<void>, parameters: readonly string[]): void
  }

  export const errors: Readonly<Record<'InvalidGrant' | 'InvalidTarget', new (message: string) => Error>>
}
