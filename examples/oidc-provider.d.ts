/** The part of oidc-provider that the example and the tests use; the package has no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export default class Provider {
    constructor (issuer: string, configuration: object)
    callback (): RequestListener
    on (event: string, listener: (...args: unknown[]) => void): this
  }
}
