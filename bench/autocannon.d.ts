/** The parts of autocannon that the benchmark uses. */
declare module 'autocannon' {
  export interface Options {
    readonly url: string
    readonly method: 'POST'
    readonly headers: Readonly<Record<string, string>>
    readonly body: Buffer
    readonly connections: number
    /** Seconds. */
    readonly duration: number
  }
  export interface Result {
    readonly '2xx': number
    readonly non2xx: number
    readonly errors: number
    readonly timeouts: number
    readonly duration: number
  }
  export default function autocannon (options: Options): Promise<Result>
}
