import type { Schema } from '#config/schema/schema-builder.js'
import { accessEntrySchema, accessSchema } from '#config/schema/access-schema.js'
import { sentCredentialSchema } from '#config/schema/credentials-schema.js'
import { identitySchema, sourceSchema } from '#config/schema/identity-schema.js'
import { advertisedSchema, configSchema } from '#config/schema/schema.js'
import type { Generator } from './generator.js'
import { TABLE_HEAD, tableRows } from './schema-table.js'

const INTRO = `# Configuration

The gateway reads one YAML file, or none: \`a2a-gateway serve --upstream http://127.0.0.1:9999\` puts it in front of one agent with
all default settings. The smallest file does the same:

\`\`\`yaml
version: 1
agents:
  - name: eightball
    upstream:
      url: http://127.0.0.1:9999
\`\`\`

\`a2a-gateway check --config gateway.yaml\` reports all problems of a file at once:

\`\`\`text
gateway.yaml:4:5: unknown key "lisen" in server (did you mean "listen"?) [A2AGW_ERR_CONFIG_UNKNOWN_KEY]
gateway.yaml:9:18: agents[0].upstream.timeouts.connect must be a duration, not the number 3 (add a unit, such as "3s") [A2AGW_ERR_CONFIG_VALUE]
\`\`\`

Every line is \`file:line:col: message (hint)\`. The gateway does not start with such a file. Editors with a YAML
language server complete and check the file if it begins with
\`# yaml-language-server: $schema=gateway.schema.json\`; \`a2a-gateway schema\` prints that schema, and
\`a2a-gateway schema --tests\` the one of policy test files.

## Where a value comes from

A flag overrides an environment variable, which overrides the file.

| flag | variable | key |
|---|---|---|
| \`--config\` | \`A2A_GATEWAY_CONFIG\` | |
| \`--upstream\` | \`A2A_GATEWAY_UPSTREAM\` | \`agents[0].upstream.url\`, in a file with exactly one agent |
| \`--listen\` | \`A2A_GATEWAY_LISTEN\` | \`server.listen\` |
| \`--admin\` | \`A2A_GATEWAY_ADMIN\` | \`server.admin\` |
| | \`A2A_GATEWAY_LOG_LEVEL\` | \`telemetry.logs.level\` |
| | \`A2A_GATEWAY_WORKERS\` | \`server.workers\` |

## Variables in the file

\`\${VAR}\` in a value is replaced by the environment variable; without one, that is an error. \`\${VAR:-default}\` falls back when the
variable is unset or empty. \`$$\` is a literal \`$\`; a \`$\` before any other character stays.

\`\`\`yaml
version: 1
server:
  listen: :\${PORT:-8080}
limits:
  jsonDepth: \${JSON_DEPTH:-64}
agents:
  - name: eightball
    upstream: {url: "\${AGENT_URL:-http://127.0.0.1:9999}"}
\`\`\`

A value without quotes is parsed after the replacement, so that \`\${JSON_DEPTH:-64}\` is a number; a value in quotes stays a string.
A variable never adds keys or items. Inside \`{ }\` and \`[ ]\` quotes are needed. Keys are not replaced.

## Units and YAML

Durations are a whole number and \`ms\`, \`s\`, \`m\` or \`h\`: \`1500ms\`, \`3s\`, \`0s\`. Sizes are a whole number and \`B\`, \`KiB\`, \`MiB\` or
\`GiB\`: \`4MiB\`. The file is YAML 1.2 in UTF-8, one document, at most 1 MiB. Anchors and aliases work; tags, directives, merge
keys and duplicate keys are rejected.

## Keys

| page | keys |
|---|---|
| this page | the top level, \`state\`, \`telemetry\` |
| [Server and limits](configuration-server.md) | \`server\`, \`limits\`, \`shedding\` |
| [Agents](configuration-agents.md) | \`agents\`, \`accessDefaults\` |
| [Callers](configuration-callers.md) | \`identity\`, \`rates\`, \`budgets\` |
| [Policies](policy.md) | \`extensions\` |

[config/gateway.full.yaml](../../config/gateway.full.yaml) is one file with every key, its default and one line about the key.

A key that takes a **condition on the caller** (\`caller\`, \`callers\`, \`shared\`, \`server.adminAccess.allow\`) has the same keys everywhere:
\`source\`, \`subject\`, \`client\`, \`spiffe\`, \`scopes\`, \`groups\`, \`tenant\`, \`claims\`, \`anonymous\` and \`match\`
([Use the caller in policies](../how-to/use-the-caller.md#conditions-on-the-caller)).

`

interface Section { readonly title: string, readonly schema: Schema }

interface Page {
  readonly file: string
  readonly intro: string
  /** Objects that get a table. The page flattens all other nested objects into the rows of the outer object. */
  readonly sections: readonly Section[]
}

const BACK = '[Configuration](configuration.md) describes the file itself. [config/gateway.full.yaml](../../config/gateway.full.yaml) shows all keys with their defaults.'

const PAGES: readonly Page[] = [
  {
    file: 'docs/reference/configuration.md',
    intro: INTRO,
    sections: [
      { title: 'Top level', schema: configSchema },
      { title: '`state`', schema: at(configSchema, 'state') },
      { title: '`telemetry`', schema: at(configSchema, 'telemetry') }
    ]
  },
  {
    file: 'docs/reference/configuration-server.md',
    intro: `# Configuration: server and limits\n\nKeys of the listeners, the console, limits and load shedding. ${BACK}\n\n`,
    sections: [
      { title: '`server`', schema: at(configSchema, 'server') },
      { title: '`limits`', schema: at(configSchema, 'limits') },
      { title: '`shedding`', schema: at(configSchema, 'shedding') }
    ]
  },
  {
    file: 'docs/reference/configuration-agents.md',
    intro: `# Configuration: agents\n\nKeys of an agent, its upstream, its card and its access lists. ${BACK}\n\n`,
    sections: [
      { title: '`agents[]`', schema: at(configSchema, 'agents') },
      { title: '`agents[].access`, `accessDefaults`', schema: accessSchema },
      { title: '`agents[].access.allow[]`, `agents[].access.deny[]`', schema: accessEntrySchema },
      { title: '`agents[].external[]`', schema: at(configSchema, 'agents', 'external') },
      { title: '`agents[].upstream`', schema: at(configSchema, 'agents', 'upstream') },
      { title: '`agents[].upstream.credentials.send[]`', schema: sentCredentialSchema },
      { title: '`agents[].card`', schema: at(configSchema, 'agents', 'card') },
      { title: '`agents[].card.advertise[]`', schema: advertisedSchema }
    ]
  },
  {
    file: 'docs/reference/configuration-callers.md',
    intro: `# Configuration: callers\n\nKeys of the sources of callers, of chains of callers, of policy servers, of limits per caller, and of budgets. ${BACK}\n\n`,
    sections: [
      { title: '`identity`', schema: identitySchema },
      { title: '`identity.sources.<name>`', schema: sourceSchema },
      { title: '`delegation`', schema: at(configSchema, 'delegation') },
      { title: '`delegation.keys[]`', schema: at(configSchema, 'delegation', 'keys') },
      { title: '`decisionPoints.<name>`', schema: at(configSchema, 'decisionPoints').additionalProperties as Schema },
      { title: '`rates[]`', schema: at(configSchema, 'rates') },
      { title: '`budgets[]`', schema: at(configSchema, 'budgets') }
    ]
  }
]

const LISTED: ReadonlySet<Schema> = new Set(PAGES.flatMap(({ sections }) => sections.map(({ schema }) => schema)))

/** The pages docs/reference/configuration*.md: how the file works, and the keys as the schema describes them. */
export const CONFIGURATION_PAGES: readonly Generator[] = PAGES.map(({ file, intro, sections }) => ({
  file,
  render: () => {
    const parts = sections.map(({ title, schema }) =>
      `### ${title}\n\n${sentence(schema)}${TABLE_HEAD}\n${tableRows(schema, '', LISTED).join('\n')}\n`)
    return `<!-- Generated by scripts/generate.ts from src/config/schema/schema.ts. Edit those. -->\n\n${intro}${parts.join('\n')}`
  }
}))

/** The schema of a key, or of its items when it is a list of mappings. */
function at (schema: Schema, ...keys: readonly string[]): Schema {
  let node = schema
  for (const key of keys) {
    const next = node.properties?.[key]
    if (next === undefined) throw new Error(`the schema has no key ${key}`)
    node = next.items?.properties === undefined ? next : next.items
  }
  return node
}

function sentence (schema: Schema): string {
  return schema.description === undefined ? '' : `${schema.description}\n\n`
}
