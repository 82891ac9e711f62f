/**
 * Messages, tasks and events by the names of A2A 1.0, with every member optional that has a default. `wire-message.ts` and
 * `wire-response.ts` write them for a version and a binding.
 */
import type { Binding, Version } from '../versions.js'

export type JsonMap = Readonly<Record<string, unknown>>

export interface Variant { readonly version: Version, readonly binding: Binding }

export interface MessageSpec {
  readonly messageId?: string
  /** Default user; agent in a response. */
  readonly role?: 'user' | 'agent'
  readonly parts: readonly PartSpec[]
  readonly metadata?: JsonMap
  readonly taskId?: string
  readonly contextId?: string
  readonly extensions?: readonly string[]
  readonly referenceTaskIds?: readonly string[]
}

export interface PartSpec {
  readonly text?: string
  readonly raw?: string
  readonly url?: string
  readonly data?: unknown
  readonly mediaType?: string
  readonly filename?: string
  readonly metadata?: JsonMap
}

/** Has exactly one of its members. */
export interface EventSpec {
  readonly task?: TaskSpec
  readonly message?: MessageSpec
  readonly statusUpdate?: StatusUpdateSpec
  readonly artifactUpdate?: ArtifactUpdateSpec
  readonly result?: unknown
  readonly error?: ErrorSpec
}

export interface TaskSpec {
  readonly id?: string
  readonly contextId?: string
  readonly status?: StatusSpec
  readonly artifacts?: readonly ArtifactSpec[]
  readonly history?: readonly MessageSpec[]
  readonly metadata?: JsonMap
}

/** Name of `state` in either version. */
export interface StatusSpec { readonly state?: string, readonly message?: MessageSpec, readonly timestamp?: string }

export interface ArtifactSpec {
  readonly artifactId?: string
  readonly name?: string
  readonly description?: string
  readonly parts: readonly PartSpec[]
  readonly metadata?: JsonMap
  readonly extensions?: readonly string[]
}

interface UpdateSpec { readonly taskId?: string, readonly contextId?: string, readonly metadata?: JsonMap }
export interface StatusUpdateSpec extends UpdateSpec { readonly status?: StatusSpec }
export interface ArtifactUpdateSpec extends UpdateSpec {
  readonly artifact: ArtifactSpec
  readonly append?: boolean
  readonly lastChunk?: boolean
}

export interface ErrorSpec { readonly code: number, readonly message?: string, readonly data?: unknown }
