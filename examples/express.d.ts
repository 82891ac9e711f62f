/** The parts of Express 5 that the example agents use. The SDK's own declarations refer to these names too. */
declare module 'express' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  export interface Request extends IncomingMessage {
    readonly method: string
    readonly path: string
  }
  export interface Response extends ServerResponse {
    status (code: number): this
    json (body: unknown): this
  }
  export type NextFunction = (error?: unknown) => void
  export type RequestHandler = (req: Request, res: Response, next: NextFunction) => unknown
  export type ErrorRequestHandler = (error: unknown, req: Request, res: Response, next: NextFunction) => unknown
  export interface Express {
    (req: IncomingMessage, res: ServerResponse): void
    use (...handlers: RequestHandler[]): this
    use (path: string, ...handlers: RequestHandler[]): this
    get (path: string, ...handlers: RequestHandler[]): this
    disable (setting: string): this
  }
  export default function express (): Express
}
