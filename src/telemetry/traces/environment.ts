/** The variables that the SDK's provider reads: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. */
import type { Sampler } from '@opentelemetry/sdk-trace-base'
import { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler, TraceIdRatioBasedSampler } from '#vendor/opentelemetry.js'
import type { Log } from '../log.js'
import type { SpanOrigin } from './gateway-span.js'

const ATTRIBUTES = 128
const DEFAULT_SAMPLER = 'parentbased_always_on'

const SAMPLERS: Readonly<Record<string, (ratio: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: ratio => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: ratio => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) })
}

/** Creates the sampler of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG, and warns when it is unknown. */
export function samplerOf (env: NodeJS.ProcessEnv, log: Log): Sampler {
  const name = env.OTEL_TRACES_SAMPLER?.trim() || DEFAULT_SAMPLER
  const isKnown = Object.hasOwn(SAMPLERS, name)
  if (!isKnown) {
    log.warn(
      { sampler: name }, `OTEL_TRACES_SAMPLER is not one of ${Object.keys(SAMPLERS).join(', ')}; ${DEFAULT_SAMPLER} is used.`
    )
  }
  const ratio = numberOf(env, 'OTEL_TRACES_SAMPLER_ARG') ?? 1
  return (SAMPLERS[isKnown ? name : DEFAULT_SAMPLER] as (ratio: number) => Sampler)(ratio < 0 || ratio > 1 ? 1 : ratio)
}

/** The limits of a span's attributes. A limit for the length that is not positive is none. */
export function limitsOf (env: NodeJS.ProcessEnv): Pick<SpanOrigin, 'attributeCount' | 'attributeLength'> {
  const limit = (name: string): number | undefined => numberOf(env, `OTEL_SPAN_${name}`) ?? numberOf(env, `OTEL_${name}`)
  const length = limit('ATTRIBUTE_VALUE_LENGTH_LIMIT') ?? Infinity
  return { attributeCount: limit('ATTRIBUTE_COUNT_LIMIT') ?? ATTRIBUTES, attributeLength: length > 0 ? length : Infinity }
}

/** @returns undefined for a value that is no number */
function numberOf (env: NodeJS.ProcessEnv, name: string): number | undefined {
  const text = env[name]?.trim() ?? ''
  const number = Number(text)
  return text === '' || Number.isNaN(number) ? undefined : number
}
