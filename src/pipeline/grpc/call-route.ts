/** The address of a gRPC call: its service and method name version and operation, whatever path the agent's HTTP interfaces have. */
import type { MappedInterface } from '../../a2a/card/map.js'
import type { GrpcMethod } from '../../a2a/grpc/methods.js'
import { GRPC_SERVICES } from '../../a2a/grpc/methods.js'
import type { CallProblem } from '../../a2a/message/call.js'
import type { Version } from '../../a2a/versions.js'
import { VERSION_HEADER, VERSIONS } from '../../a2a/versions.js'
import { versionUnknown } from '../rejections.js'
import type { RequestHead } from '../request-head.js'
import type { Asked, OperationRoute } from '../request.js'
import { askedVersion } from '../request.js'
import type { AgentState } from '../agent-snapshot.js'

/** Returns the route of a call. Null when the agent's card has no gRPC interface. */
export function grpcRouteOf ({ operation, path, version }: GrpcMethod, interfaces: readonly MappedInterface[]): OperationRoute | null {
  const versions = VERSIONS.filter(one => interfaces.some(found => found.binding === 'GRPC' && found.version === one))
  if (versions.length === 0) return null
  return {
    kind: 'operation',
    binding: 'GRPC',
    version,
    operation,
    extensionRoute: null,
    tenant: null,
    upstreamPath: path,
    supported: versions.includes(version),
    versions
  }
}

/** The version of a call is that of its service. Metadata that names the same major version may name a later minor one. */
export function grpcAsked (head: RequestHead, version: Version): Asked {
  const asked = askedVersion(head, '')
  return asked.problem === null && asked.stated && asked.version === version
    ? asked
    : { version, stated: false, minor: null, problem: null }
}

/** Problem of the version of a call: metadata that contradict the service, or a service that the agent's card does not offer. */
export function grpcVersionProblem (
  head: RequestHead,
  { version, supported, versions }: OperationRoute,
  { unknownMinor }: Pick<AgentState, 'unknownMinor'>
): CallProblem | null {
  const stated = head.headers[VERSION_HEADER]
  if (typeof stated === 'string' && stated.trim() !== '') {
    const asked = askedVersion(head, '')
    if (asked.problem !== null || asked.version !== version) return contradiction(version)
    if (asked.minor !== null && unknownMinor === 'reject') return versionUnknown(versions)
  }
  return supported
    ? null
    : {
        reason: 'VERSION_NOT_SUPPORTED',
        rule: 'version',
        path: '',
        message: `The agent does not support A2A ${version} over gRPC. It supports ${versions.join(' and ')}: call ${versions.map(one => GRPC_SERVICES[one]).join(' or ')}.`,
        metadata: { supportedVersions: versions.join(',') }
      }
}

function contradiction (version: Version): CallProblem {
  return {
    reason: 'VERSION_NOT_SUPPORTED',
    rule: 'version',
    path: `header ${VERSION_HEADER}`,
    message: `The service ${GRPC_SERVICES[version]} belongs to A2A ${version}, and the metadata ${VERSION_HEADER} name another version. Send "${VERSION_HEADER}: ${version}", or leave it out.`,
    metadata: { supportedVersions: version }
  }
}
