/**
 * The checks find cards that violate the catalogue's policies, in each entry that makes demands on a card. The checks find nothing in the
 * cards of the entries' own tests.
 */
import { join } from 'node:path'
import t from 'tap'
import type { AgentConfig, PolicyConfig } from '#config/model/model.js'
import { loadCatalogue } from '#config/load.js'
import { packageRoot } from '#config/paths.js'
import { loadTests } from '#offline/policy-test/test-file.js'
import type { CardFinding } from '#policy/card/checks.js'
import { checkCards } from '#policy/card/checks.js'
import { SchemaCache } from '#policy/compile/schema-source.js'
import { agent, card } from '../policy/fixtures.js'

const CATALOGUE = loadCatalogue()

function findings (name: string, agentCard: object): CardFinding[] {
  const policy = CATALOGUE[name] as PolicyConfig
  const policies: AgentConfig['policies'] = [{ name, policy, layers: ['catalogue'], from: {} }]
  return checkCards(agent({ policies }), [card(agentCard)], new SchemaCache())
}

/** Entry, `params` that its extension is declared with, or other keys of the card, and what is said of them. */
const BROKEN: Readonly<Record<string, readonly { readonly params?: unknown; readonly more?: object; readonly message: RegExp }[]>> = {
  'a2ui-0-10': [
    { params: { supportedCatalogIds: ['a', 7] }, message: /supportedCatalogIds\[1\] must be a string/ },
    { params: { acceptsInlineCatalogs: 'yes' }, message: /acceptsInlineCatalogs must be a boolean/ }
  ],
  'a2ui-0-8': [
    { params: { supportedCatalogIds: ['a', 7] }, message: /supportedCatalogIds\[1\] must be a string/ },
    { params: { acceptsInlineCatalogs: 'yes' }, message: /acceptsInlineCatalogs must be a boolean/ }
  ],
  'a2ui-0-9': [
    { params: { supportedCatalogIds: ['a', 7] }, message: /supportedCatalogIds\[1\] must be a string/ },
    { params: { acceptsInlineCatalogs: 'yes' }, message: /acceptsInlineCatalogs must be a boolean/ }
  ],
  'a2ui-0-9-1': [
    { params: { supportedCatalogIds: ['a', 7] }, message: /supportedCatalogIds\[1\] must be a string/ },
    { params: { acceptsInlineCatalogs: 'yes' }, message: /acceptsInlineCatalogs must be a boolean/ }
  ],
  'a2ui-1-0': [
    { params: { supportedCatalogIds: ['a', 7] }, message: /supportedCatalogIds\[1\] must be a string/ },
    { params: { acceptsInlineCatalogs: 'yes' }, message: /acceptsInlineCatalogs must be a boolean/ }
  ],
  'agentstack-embedding': [
    { message: /embedding_demands is required/ },
    { params: { embedding_demands: { default: { suggested: 'm' } } }, message: /embedding_demands\.default\.suggested must be/ }
  ],
  'agentd-task-annotations': [{ params: { schema: 7 }, message: /schema must be a string/ }],
  'agentstack-error': [{ params: { include_stacktrace: 'yes' }, message: /include_stacktrace must be a boolean/ }],
  'agentstack-form': [
    { message: /form_demands is required/ },
    { params: { form_demands: { initial_form: { fields: [] } } }, message: /form_demands\.initial_form\.fields must/ }
  ],
  'agentstack-llm': [
    { message: /llm_demands is required/ },
    { params: { llm_demands: { default: { suggested: 'm' } } }, message: /llm_demands\.default\.suggested must be/ }
  ],
  adcp: [
    // static/test-vectors/a2a-profile-extension-v3.json: agent-card-capability-params-invalid, agent-card-skill-name-not-id-invalid
    { params: { adcp_version: '3.2', protocols_supported: ['media_buy'] }, message: /params/ },
    { more: { skills: [{ id: 'capability-discovery', name: 'get_adcp_capabilities' }] }, message: /skills/ }
  ],
  ap3: [{ message: /roles is required/ }, { params: { roles: ['sender'], commitments: [], supported_operations: ['PSI'] }, message: /roles\[0\] must be one of/ }],
  'runtime-guarantees': [
    { message: /spiffeId is required/ },
    { params: { spiffeId: 'spiffe://x', did: 'did:web:x', trustJwks: { keys: [] } }, message: /spiffeId/ }
  ],
  'signed-receipts': [{ params: { issuer: 'councilof.ai' }, message: /issuer/ }],
  'schema-contracts': [
    { message: /catalog is required/ },
    // vendor/contract/conformance/invalid of the SDK: relative-contract-id, required-without-representations, none-with-representations
    ...[
      { id: 'relative/1', input: { presence: 'none' }, output: { presence: 'none' } },
      { id: 'urn:x:1', input: { presence: 'required' }, output: { presence: 'none' } },
      { id: 'urn:x:1', input: { presence: 'none', representations: [{ id: 'json', mediaType: 'application/json' }] }, output: { presence: 'none' } }
    ].map(contract => ({ params: { catalog: { inline: { contracts: [contract] } } }, message: /contracts\[0\]/ }))
  ],
  'agentstack-mcp': [
    { message: /mcp_demands is required/ },
    {
      params: { mcp_demands: { default: { allowed_transports: ['sse'] } } },
      message: /mcp_demands\.default\.allowed_transports\[0\] must be one of/
    }
  ],
  'agentstack-memoryhub': [{ params: { memoryhub_demands: [] }, message: /memoryhub_demands must be an object/ }],
  'agentstack-oauth': [
    {
      params: { oauth_demands: { default: { redirect_uri: 'https://x.test' } } },
      message: /oauth_demands\.default\.redirect_uri must be a boolean/
    }
  ],
  'agentstack-platform-api': [{ params: { auto_use: 1 }, message: /auto_use must be a boolean/ }],
  'agentstack-secrets': [{ params: { secret_demands: { key: {} } }, message: /secret_demands\.key\.name is required/ }],
  agp: [
    { params: { agent_role: 'worker', supported_agp_versions: ['1'] }, message: /agent_role must be/ },
    { params: { agent_role: 'gateway', supported_agp_versions: [] }, message: /supported_agp_versions must/ }
  ],
  ap2: [{ message: /roles is required/ }, { params: { roles: ['merchant', 'buyer'] }, message: /roles\[1\] must be one of/ }],
  'atom-offline-delivery': [{ message: /mode is required/ }, { params: { mode: 'always_on' }, message: /mode must be one of/ }],
  'fhir-context': [{ params: { scopes: [{ required: true }] }, message: /scopes\[0\]\.name is required/ }],
  latency: [{ params: { skillLatency: 200 }, message: /skillLatency must be an object/ }],
  'object-schemas': [
    { more: { schemas: undefined }, message: /schemas/ },
    { more: { schemas: { order: 'object' } }, message: /schemas/ }
  ],
  'mainsequence-response-kind': [
    { message: /supportedResponseKinds is required/ },
    { params: { supportedResponseKinds: ['stream'] }, message: /supportedResponseKinds\[0\] must be one of/ }
  ],
  oid4vp: [{ message: /oid4vpVersions is required/ }, { params: { oid4vpVersions: [] }, message: /oid4vpVersions must/ }],
  parafe: [
    {
      params: { agent_id: 'a', broker_url: 'b', minimum_identity_assurance: 'none', scope_requirements: {} },
      message: /minimum_identity_assurance must be one of/
    }
  ],
  'parafe-v2': [
    { message: /agent_id is required/ },
    { params: { agent_id: 'a', broker_url: 'https://b.test', scope_requirements: [] }, message: /scope_requirements must be an object/ }
  ],
  'realtime-agent': [{ params: { directiveTypes: 'all' }, message: /directiveTypes must be an array/ }],
  'sam-agent-type': [{ params: { type: '' }, message: /type must/ }],
  'sam-deployment': [{ message: /id is required/ }],
  'sam-display-name': [{ message: /display_name is required/ }],
  'sam-gateway-role': [{ params: { gateway_id: 'g' }, message: /gateway_type is required/ }],
  'sam-peer-topology': [{ params: { peer_agent_names: { a: 1 } }, message: /peer_agent_names must be an array/ }],
  'sam-schemas': [
    { params: {}, message: /must/ },
    { params: { input_schema: 'x' }, message: /input_schema must be/ }
  ],
  'sam-tools': [{ params: { tools: [{ id: 'a' }] }, message: /tools\[0\]\.name is required/ }],
  'secure-passport': [{ params: { supportedStateKeys: 'all' }, message: /supportedStateKeys must be an array/ }],
  ucp: [{ params: { capabilities: { 'dev.ucp.shopping.checkout': [{}] } }, message: /version is required/ }]
}

t.test('each entry with rules for cards has a card here that violates them', async t => {
  const checking = Object.entries(CATALOGUE)
    .filter(([, { card: checks }]) => checks?.params !== undefined || checks?.schema !== undefined)
    .map(([name]) => name)
  t.same(Object.keys(BROKEN).toSorted(), checking.toSorted())
})

for (const [name, cards] of Object.entries(BROKEN)) {
  t.test(name, async t => {
    const loaded = loadTests(join(packageRoot(), 'config', 'extensions', `${name}.test.yaml`), {})
    if (!loaded.ok) return t.fail('the tests of the entry cannot be read')
    const sound = loaded.tests.value.card as { readonly capabilities: { readonly extensions: readonly { readonly uri: string }[] } }
    t.same(findings(name, sound), [], 'the card of its tests holds')
    const { uri } = sound.capabilities.extensions.find(
      one => one.uri === CATALOGUE[name]?.uri || CATALOGUE[name]?.uriPattern !== undefined
    ) ?? { uri: '' }
    for (const { params, more, message } of cards) {
      const broken = { ...sound, ...more, capabilities: { extensions: [{ uri, ...(params === undefined ? {} : { params }) }] } }
      t.match(
        findings(name, broken),
        [{ policy: name, mode: CATALOGUE[name]?.mode ?? 'enforce', rejects: false, message }],
        JSON.stringify(params ?? more ?? 'no params')
      )
      t.same(
        findings(name, { ...broken, capabilities: { extensions: [{ uri: 'urn:another' }] } }),
        [],
        'a card that does not declare it is not looked at'
      )
    }
  })
}
