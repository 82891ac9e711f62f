/** Drives the response machine from a recording: all that the gateway would do with an agent's whole response, for the offline tools. */
import { FORWARD_ANY_PAGE } from './response/driver.js'
import { grpcDryRunResponse } from './response/grpc-recording.js'
import { RecordingDriver } from './response/recording-driver.js'
import { ResponseMachine } from './response.js'
import type { PlainResponse, ResponseDryRun } from './response/recording-driver.js'
import type { DryRun } from './dry-run-operation.js'

/**
 * @param dryRun of the request, which is forwarded; its plan is used up
 * @param before is called before an event is evaluated, with its number from 1; null for a whole response
 */
export function dryRunResponse (
  dryRun: DryRun,
  response: PlainResponse,
  before: (event: number | null) => void = () => {}
): ResponseDryRun {
  if (dryRun.caller.binding === 'GRPC') return grpcDryRunResponse(dryRun, response, before)
  const driver = new RecordingDriver(dryRun, response, before)
  const machine = new ResponseMachine(dryRun.plan ?? FORWARD_ANY_PAGE, driver)
  machine.onHead(response.status, response.headers)
  if (response.body.length > 0) machine.onChunk(response.body)
  machine.onEnd()
  return driver.result()
}
