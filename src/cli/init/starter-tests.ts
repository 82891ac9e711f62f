/**
 * The policy tests that `init` writes beside the configuration. Requests come from the card, from proposals and from the tests of the
 * catalogue; expectations come from a run of the configuration, so that the tests pass until policies or card change.
 */
import { basename } from 'node:path'
import { catalogueFiles } from '#config/catalogue.js'
import { formatDiagnostic } from '#config/diagnostics.js'
import type { Config } from '#config/model/model.js'
import { CHECKS } from '#offline/configuration.js'
import { sampleOf } from '#jsonschema/sample.js'
import { nameOf, violationsOf } from '#offline/policy-test/expectations.js'
import type { TestResult } from '#offline/policy-test/run-tests.js'
import { runTests } from '#offline/policy-test/run-tests.js'
import { loadTests, readTests } from '#offline/policy-test/test-file.js'
import type { PolicyTest } from '#offline/policy-test/test-model.js'
import { isObject } from '#wire/json/object.js'
import { resolvePointer } from '#wire/json/pointer.js'
import type { Plan, PlannedAgent } from './plan.js'
import type { Guess, Place, Proposal } from './proposal.js'
import { rulesOf } from './proposal.js'
import { schemaLine, TESTS_SCHEMA_FILE } from './starter.js'
import { block, comment, listItem } from './yaml-text.js'

/** A test before its expectation is known. */
interface Candidate {
  readonly name: string
  /** Keys of an agent. Undefined: the agent of the configuration. */
  readonly agent?: object
  readonly versions?: readonly string[] | undefined
  readonly bindings?: readonly string[] | undefined
  readonly request: object
  /** Results with which the test says something. Default: any. */
  readonly tells?: (outcome: Outcome) => boolean
}

interface Outcome { readonly decision: 'forward' | 'reject', readonly rule?: string, readonly violations?: readonly string[] }

/** Members of a card that no policy reads, and those that name addresses: a test runs in all versions and bindings. */
const LEFT_OUT = /^(?:url|(?:supported|additional)_?interfaces|preferred_?transport|protocol_?version|signatures|security\w*|provider|\w+_?url)$/i
/** Tests of proposals and of the catalogue: a card may declare 64 extensions. */
const MAX_TESTS = 60

/**
 * Writes the tests of one agent.
 * @param config the configuration that `init` writes
 * @param file name of the test file
 * @param written true when the schema of policy tests is beside the file
 * @returns the text, or the reason why there are no tests
 */
export function starterTests (
  plan: Plan,
  agent: PlannedAgent,
  config: Config,
  file: string,
  written = false
): { readonly text: string } | { readonly problem: string } {
  const card = Object.fromEntries(Object.entries(agent.card.raw).filter(([key]) => !LEFT_OUT.test(key)))
  const ofProposals = agent.proposed.flatMap(({ proposal }) => ofProposal(proposal, agent))
  const candidates = [...required(agent), ...ofProposals.slice(0, MAX_TESTS), ...ofCatalogue(plan, agent)]
  const head = [`agent: ${agent.name}`, ...block({ card }, 0)]
  const textOf = (tests: readonly object[]): string => [...head, 'tests:', ...tests.flatMap(test => listItem(test, 2)), ''].join('\n')
  const loaded = readTests(textOf(candidates.map(candidate => testOf(candidate, { decision: 'forward' }))), file, {})
  if (!loaded.ok) return { problem: loaded.problems.map(formatDiagnostic).join('; ') }
  const run = runTests(loaded.tests, { base: config, checks: CHECKS, only: null })
  if (!run.ok) return { problem: run.problems.map(formatDiagnostic).join('; ') }
  const tests = candidates.flatMap(candidate => expected(candidate, run.results.filter(({ name }) => name === candidate.name)))
  return {
    text: [
      ...(written ? [schemaLine(TESTS_SCHEMA_FILE)] : []),
      comment(`Created by "a2a-gateway init". Run the tests with: a2a-gateway test ${basename(file)}`),
      comment('The expectations are what the gateway decides today. Add requests of your clients; a2a-gateway help policy-tests ' +
        'describes every key.'),
      textOf(tests)
    ].join('\n')
  }
}

function testOf ({ name, agent, versions, bindings, request }: Candidate, expect: object): object {
  return { name, agent, versions, bindings, request, expect }
}

/** The test with its expectation, in the versions and bindings that agree with the first result; none if the result says nothing. */
function expected (candidate: Candidate, results: readonly TestResult[]): object[] {
  const [first] = results.toReversed()
  if (first === undefined) return []
  const outcome = outcomeOf(first)
  if (candidate.tells?.(outcome) === false) return []
  const agree = results.filter(result => JSON.stringify(outcomeOf(result)) === JSON.stringify(outcome))
  const versions = agree.length === results.length ? candidate.versions : [...new Set(agree.map(({ version }) => version))]
  const bindings = agree.length === results.length ? candidate.bindings : [first.binding]
  return [testOf({ ...candidate, versions, bindings }, outcome)]
}

function outcomeOf ({ dryRun }: TestResult): Outcome {
  if (dryRun.rejection !== null) return { decision: 'reject', rule: dryRun.rejection.rule }
  const violations = [...new Set(violationsOf(dryRun).map(nameOf))].toSorted()
  return { decision: 'forward', ...(violations.length === 0 ? {} : { violations }) }
}

const TEXT = { parts: [{ text: 'Hello' }] }

function required ({ card, known: policies, proposed }: PlannedAgent): Candidate[] {
  const uris = requiredUris(card.extensions)
  const nameFor = (uri: string): string =>
    proposed.find(({ extension }) => extension.uri === uri)?.proposal.name ??
    policies.find(({ declared }) => declared.some(cardExtension => cardExtension.uri === uri))?.name ?? uri
  return [
    {
      name: uris.length === 0 ? 'a message without extensions' : 'a message that requests the required extensions',
      request: { ...(uris.length === 0 ? {} : { extensions: uris }), message: TEXT }
    },
    ...uris.map(uri => ({
      name: `a message that does not request ${nameFor(uri)} (${uri})`.slice(0, 200),
      request: { ...(uris.length === 1 ? {} : { extensions: uris.filter(other => other !== uri) }), message: TEXT }
    }))
  ]
}

function requiredUris (extensions: readonly { readonly uri: string, readonly required: boolean }[]): string[] {
  return extensions.filter(extension => extension.required).map(({ uri }) => uri)
}

/** Data as each rule wants it, and data that breaks the rule, which the rule records. */
function ofProposal (proposal: Proposal, { card }: PlannedAgent): Candidate[] {
  const { uri, name, request, methods } = proposal
  const extensions = [...new Set([...requiredUris(card.extensions), uri])]
  const index = card.extensions.find(extension => extension.uri === uri)?.index ?? -1
  return [
    ...rulesOf(request).flatMap(({ id, guess }) => {
      const schema = schemaOf(guess, card.raw, index)
      const message = (value: unknown): object => ({ extensions, message: messageWith(guess.place, value, uri) })
      const wrong = wrongFor(schema)
      return [
        { name: `${name}: data for ${id}`, request: message(sampleOf(schema)), tells: isClean },
        ...(wrong === undefined
          ? []
          : [{
              name: `${name}: wrong data for ${id}`,
              request: message(wrong),
              tells: ({ violations = [] }: Outcome) => violations.includes(`${name}/${id}`)
            }])
      ]
    }),
    ...methods.map(method => ({
      name: `${name}: ${method.name}`, request: { extensions, method: method.name, params: objectOf(sampleOf(method.params ?? {})) }
    }))
  ]
}

function isClean ({ decision, violations }: Outcome): boolean {
  return decision === 'forward' && violations === undefined
}

function schemaOf ({ schema }: Guess, card: unknown, index: number): unknown {
  const [pointer] = Array.isArray(schema?.fromCard) ? schema.fromCard as string[] : []
  return pointer === undefined ? schema : resolvePointer(card, pointer.replaceAll('{self}', String(index)))
}

/** The parameters of a method as the test file takes them. */
function objectOf (value: unknown): object {
  return isObject(value) ? value : {}
}

/** A value of a type that the schema does not name. */
function wrongFor (schema: unknown): unknown {
  const type = isObject(schema) ? schema.type : undefined
  const types = Array.isArray(type) ? type : [type]
  return type === undefined
    ? undefined
    : ([['string', 'wrong'], ['object', {}], ['boolean', true], ['array', []]] as const).find(([name]) => !types.includes(name))?.[1]
}

function messageWith (place: Place, value: unknown, uri: string): object {
  if ('metadata' in place) return { ...TEXT, metadata: { [place.metadata.replace(/^\$uri/, () => uri).replace(/\*/g, 'example')]: value } }
  if ('dataKey' in place) return { parts: [{ data: { [place.dataKey.replace(/\*/g, 'example')]: value } }] }
  if ('mediaType' in place) return { parts: [{ data: value, mediaType: place.mediaType }] }
  return { parts: [{ data: { ...(isObject(value) ? value : {}), [place.data.path.slice(1)]: place.data.equals } }] }
}

/** One request that each policy of the catalogue accepts and one that it rejects, from the tests beside the policy. */
function ofCatalogue (plan: Plan, { card, known: policies, proposed }: PlannedAgent): Candidate[] {
  const files = new Map(catalogueFiles())
  const agent = {
    extensions: [...policies.map(({ name }) => ({ [name]: { mode: 'enforce' } })), ...proposed.map(({ proposal }) => proposal.name)]
  }
  const mandatory = requiredUris(card.extensions)
  const candidates = policies.filter(({ declared }) => declared.length > 0).flatMap(({ name, declared }): Candidate[] => {
    const loaded = loadTests((files.get(name) ?? name).replace(/\.yaml$/, '.test.yaml'), {})
    const usable = loaded.ok ? loaded.tests.value.tests.filter(isSelfContained) : []
    const own = plan.catalogue[name]?.uri
    const candidate = ({ name: title, request, versions, bindings }: PolicyTest, tells: (outcome: Outcome) => boolean): Candidate => {
      const named = (request.extensions ?? []).map(uri => uri === own ? declared[0]?.uri ?? uri : uri)
      const extensions = [...new Set([...mandatory, ...named])]
      return {
        name: `${name}: ${title}`,
        agent,
        versions,
        bindings,
        request: { ...request, ...(extensions.length === 0 ? {} : { extensions }) },
        tells
      }
    }
    const accepted = usable.find(({ request, expect }) => expect.decision === 'forward' && request.extensions !== undefined)
    const rejected = usable.find(({ expect }) => expect.decision === 'reject' &&
      expect.rule?.startsWith(`${name}/`) === true &&
      expect.rule !== `${name}/required`)
    return [
      ...(accepted === undefined ? [] : [candidate(accepted, ({ decision }) => decision === 'forward')]),
      ...(rejected === undefined ? [] : [candidate(rejected, ({ rule }) => rule?.startsWith(`${name}/`) === true)])
    ]
  })
  return candidates.slice(0, MAX_TESTS)
}

function isSelfContained ({ before, memory, card, agent, caller, request }: PolicyTest): boolean {
  return [before, memory, card, agent, caller, request.http, request.at].every(key => key === undefined)
}
