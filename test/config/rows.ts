/* eslint no-template-curly-in-string: off -- ${VAR} is the configuration's own syntax */
import { packageVersion } from '#config/paths.js'
import { CHECKS } from '#offline/configuration.js'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import { inTests } from '../helpers/paths.js'

// Every sentence that `check` prints of a configuration, as printed: file:line:col: message (hint), with the file that provokes it.
// messages.test.ts runs them; provoked.test.ts fails when a sentence of the sources is in none of them.

export const AGENT = 'version: 1\nagents:\n  - name: a\n    upstream: {url: "http://127.0.0.1:1"}\n'

/** A policy with a rule that selects headers, because no operation of every row carries a message. */
function pausing (keys = '', evidence = '{select: {header: x}, schema: {type: string}}'): string {
  return policyWith(`request: [{id: r, select: {header: x}, count: {max: 0}, ${keys}pause: {state: input-required, text: t, evidence: ${evidence}}}]`)
}

const agentWith = (lines: string) => AGENT + lines.split('\n').map((line) => `    ${line}\n`).join('')
export const policyWith = (lines: string) =>
  `${agentWith('extensions: [p]')}extensions:\n  p:\n    uri: urn:p\n${lines
    .split('\n')
    .map(line => `    ${line}\n`)
    .join('')}`
const ruleWith = (lines: string) =>
  policyWith(
    `request:\n  - id: r\n    select: {part: {}}\n${lines
      .split('\n')
      .map(line => `    ${line}`)
      .join('\n')}`
  )

/** Certificates and keys, right and wrong ones. */
const FIXTURES = inTests('fixtures/tls')

/** The lines of each text. The tests of messages and the search for messages without a row share a process and read the same texts. */
const printed = new Map<string, string[]>()

/** The lines that `check` prints of a file that lies beside this one, `ca.pem` and the like beside the fixtures. */
export function lines (text: string, env?: NodeJS.ProcessEnv, baseDir?: string): string[] {
  if (env !== undefined || baseDir !== undefined) return linesIn(text, env, baseDir)
  const result = printed.get(text) ?? linesIn(text)
  printed.set(text, result)
  return result
}

function linesIn (text: string, env: NodeJS.ProcessEnv = {}, baseDir = text.includes('.pem') ? FIXTURES : inTests('config')): string[] {
  const result = parseConfig(text, { file: 'g.yaml', baseDir, env, checks: CHECKS })
  return (result.ok ? result.warnings : result.problems).map(formatDiagnostic)
}

export type Row = readonly [name: string, text: string, ...expected: string[]]

const YAML: readonly Row[] = [
  ['empty', '', 'g.yaml: the file is empty (it starts with "version: 1")'],
  ['only a comment', '# nothing\n', 'g.yaml: the file is empty (it starts with "version: 1")'],
  ['too large', `version: 1 # ${'x'.repeat(1024 * 1024)}`, 'g.yaml: the file is larger than 1 MiB (is it the configuration?)'],
  [
    'brackets',
    `version: 1\nagents: ${'['.repeat(65)}`,
    'g.yaml:2:73: brackets are nested deeper than 64 levels (is one of them never closed?)'
  ],
  ['dashes', '- '.repeat(200), 'g.yaml:1:257: indented more than 256 columns'],
  ['indentation', `a:\n${' '.repeat(300)}b: 1\n`, 'g.yaml:2:1: indented more than 256 columns'],
  ['tokens', '#\n'.repeat(250_000), 'g.yaml:200001:1: too many YAML tokens (at most 400000)'],
  ['tag', `${AGENT}limits: !big {}\n`, 'g.yaml:5:9: YAML tags are not supported (quote the value to make it a string)'],
  ['directive', `%YAML 1.1\n---\n${AGENT}`, 'g.yaml:1:1: YAML directives are not supported (remove the line)'],
  [
    'aliases of aliases',
    `${AGENT}limits:\n  a: &a [${'x, '.repeat(99)}x]\n  b: &b [${'*a, '.repeat(99)}*a]\n  c: [${'*b, '.repeat(19)}*b]\n`,
    'g.yaml:6:3: unknown key "a" in limits (known keys: headers, body, response, event, card, jsonDepth, jsonMembers, extensions, headersTimeout, requestTimeout, idleTimeout, writeTimeout, memory, connections)',
    'g.yaml:6:40: more than 100000 values once aliases are expanded',
    'g.yaml:7:3: unknown key "b" in limits (known keys: headers, body, response, event, card, jsonDepth, jsonMembers, extensions, headersTimeout, requestTimeout, idleTimeout, writeTimeout, memory, connections)',
    'g.yaml:8:3: unknown key "c" in limits (known keys: headers, body, response, event, card, jsonDepth, jsonMembers, extensions, headersTimeout, requestTimeout, idleTimeout, writeTimeout, memory, connections)'
  ],
  ['documents', `${AGENT}---\n${AGENT}`, 'g.yaml:5:1: the file contains more than one YAML document (keep one, without "---" between)'],
  ['syntax', `${AGENT}server: {listen: ":1"\n`, 'g.yaml:6:1: the "{" is not closed, or a line before its "}" is not indented'],
  [
    'unquoted variable in brackets',
    `${AGENT}server: {publicUrl: $\{U}}\n`,
    'g.yaml:5:21: "${" inside [ ] or { } must be quoted (write "${VAR}" with the quotes)'
  ],
  ['duplicate key', `version: 1\n${AGENT}`, 'g.yaml:2:1: duplicate key "version"'],
  ['key that is no string', `? [a]\n: 1\n${AGENT}`, 'g.yaml:1:3: keys must be strings'],
  ['merge key', `${AGENT}limits:\n  <<: {}\n`, 'g.yaml:6:3: merge keys ("<<") are not supported (use an alias for a whole value)'],
  ['prototype', `${AGENT}__proto__: {}\n`, 'g.yaml:5:1: unknown key "__proto__"'],
  [
    'alias without anchor',
    `${AGENT}limits: *x\n`,
    'g.yaml:5:9: alias *x has no anchor before it',
    'g.yaml:5:9: limits must be a mapping, not null (give it a value, or remove the key for the default)'
  ],
  [
    'alias to itself',
    `${AGENT}limits: &x {body: *x}\n`,
    'g.yaml:5:19: alias *x contains itself',
    'g.yaml:5:19: limits.body must be a size, not null (give it a value, or remove the key for the default)'
  ],
  ['anchor twice', `${AGENT}limits: &x {}\ntelemetry: &x {}\n`, 'g.yaml:6:15: anchor &x is defined twice'],
  [
    'number beyond doubles',
    `${AGENT}limits: {jsonDepth: 9007199254740993}\n`,
    'g.yaml:5:21: a double cannot represent this number exactly; the gateway would read 9007199254740992 (write fewer digits, or quote it as a string)',
    'g.yaml:5:21: limits.jsonDepth must be from 1 to 512, not 9007199254740992'
  ],
  [
    'variable',
    `${AGENT}server:\n  publicUrl: $\{NOT_SET}\n`,
    'g.yaml:6:14: environment variable NOT_SET is not set (set it, or write ${NOT_SET:-default})'
  ],
  [
    'bad name',
    `${AGENT}server:\n  publicUrl: $\{1x}\n`,
    'g.yaml:6:14: "${1x}" does not name an environment variable (write $$ for a literal $)'
  ],
  ['not closed', `${AGENT}server:\n  publicUrl: "$\{X"\n`, 'g.yaml:6:14: "${" is never closed (write $$ for a literal $)']
]

const SCHEMA: readonly Row[] = [
  ['no mapping', 'hello\n', 'g.yaml:1:1: the configuration must be a mapping, not a string'],
  ['version missing', AGENT.replace('version: 1\n', ''), 'g.yaml:1:1: version is required (such as "version: 1")'],
  [
    'version',
    AGENT.replace('version: 1', 'version: 2'),
    `g.yaml:1:10: version must be 1, not 2 (a2a-gateway ${packageVersion()} reads version 1; a file of another version needs the release that it was written for)`
  ],
  ['agents missing', 'version: 1\n', 'g.yaml:1:1: agents is required'],
  ['no agents', 'version: 1\nagents: []\n', 'g.yaml:2:9: agents must have at least 1 entry'],
  [
    'url missing',
    'version: 1\nagents: [{name: a, upstream: {}}]\n',
    'g.yaml:2:30: agents[0].upstream.url is required (such as "url: http://127.0.0.1:9999")'
  ],
  ['unknown key, near', `${AGENT}sever: {}\n`, 'g.yaml:5:1: unknown key "sever" (did you mean "server"?)'],
  [
    'unknown key, spelling',
    agentWith('card: {max_stale: 1h}'),
    'g.yaml:5:12: unknown key "max_stale" in agents[0].card (did you mean "maxStale"?)'
  ],
  [
    'unknown key, far',
    `${AGENT}server: {x: 1}\n`,
    'g.yaml:5:10: unknown key "x" in server (known keys: listen, admin, metrics, adminHosts, adminAccess, publicUrl, hosts, trustedProxies, drainTimeout, stateDir, workers, tls, grpc, mesh, catalog, console)'
  ],
  [
    'key of a later version',
    agentWith('identity: observe'),
    'g.yaml:5:5: unknown key "identity" in agents[0] (known keys: name, path, host, upstream, grpc, card, concurrency, protocol, cors, mode, enforceOn, unlistedExtensions, unknownMethods, untaggedData, access, push, external, responses, jsonSchema, extensions, passthrough)'
  ],
  [
    'null section',
    `${AGENT}server:\n`,
    'g.yaml:5:8: server must be a mapping, not null (give it a value, or remove the key for the default)'
  ],
  ['list for mapping', `${AGENT}server: []\n`, 'g.yaml:5:9: server must be a mapping, not a list'],
  ['mapping for string', agentWith('path: {}'), 'g.yaml:5:11: agents[0].path must be a string, not a mapping'],
  [
    'number for string',
    AGENT.replace('name: a', 'name: 7'),
    'g.yaml:3:11: agents[0].name must be a string, not the number 7 (put it in quotes)'
  ],
  [
    'port for address',
    `${AGENT}server: {listen: 8080}\n`,
    'g.yaml:5:18: server.listen must be a string or null, not the number 8080 (write ":8080" for every interface)'
  ],
  [
    'string for list',
    agentWith('extensions: object-schemas'),
    'g.yaml:5:17: agents[0].extensions must be a list, not a string (write [object-schemas])'
  ],
  [
    'string for boolean',
    `${AGENT}telemetry: {audit: {enabled: yes}}\n`,
    'g.yaml:5:30: telemetry.audit.enabled must be true or false, not a string (write true or false, without quotes)'
  ],
  ['boolean for string', agentWith('host: true'), 'g.yaml:5:11: agents[0].host must be a string or null, not true'],
  ['fraction', `${AGENT}limits: {jsonDepth: 1.5}\n`, 'g.yaml:5:21: limits.jsonDepth must be a whole number, not the number 1.5'],
  [
    'number for duration',
    `${AGENT}limits: {requestTimeout: 3}\n`,
    'g.yaml:5:26: limits.requestTimeout must be a duration, not the number 3 (add a unit, such as "3s")'
  ],
  [
    'number for size',
    `${AGENT}limits: {body: 3}\n`,
    'g.yaml:5:16: limits.body must be a size, not the number 3 (add a unit, such as "3B")'
  ],
  [
    'duration without unit',
    `${AGENT}limits: {requestTimeout: "3"}\n`,
    'g.yaml:5:26: limits.requestTimeout must be a duration, not "3" (add a unit, such as "3s")'
  ],
  [
    'fraction of a second',
    `${AGENT}limits: {requestTimeout: 1.5s}\n`,
    'g.yaml:5:26: limits.requestTimeout must be a duration, not "1.5s" (whole numbers only, such as "1500ms" for 1.5 seconds)'
  ],
  [
    'no duration',
    `${AGENT}limits: {requestTimeout: soon}\n`,
    'g.yaml:5:26: limits.requestTimeout must be a duration, not "soon" (a whole number and one of ms, s, m, h, such as "1500ms")'
  ],
  ['duration bound', `${AGENT}limits: {requestTimeout: 2h}\n`, 'g.yaml:5:26: limits.requestTimeout must be from 1ms to 1h, not 2h'],
  ['size without unit', `${AGENT}limits: {body: "3"}\n`, 'g.yaml:5:16: limits.body must be a size, not "3" (add a unit, such as "3B")'],
  ['decimal size', `${AGENT}limits: {body: 4mb}\n`, 'g.yaml:5:16: limits.body must be a size, not "4mb" (sizes are binary: write "4MiB")'],
  [
    'no size',
    `${AGENT}limits: {body: big}\n`,
    'g.yaml:5:16: limits.body must be a size, not "big" (a whole number and one of B, KiB, MiB, GiB, such as "4MiB")'
  ],
  ['size bound', `${AGENT}limits: {body: 1GiB}\n`, 'g.yaml:5:16: limits.body must be from 1B to 256MiB, not 1GiB'],
  ['number bound', `${AGENT}limits: {jsonDepth: 1000}\n`, 'g.yaml:5:21: limits.jsonDepth must be from 1 to 512, not 1000'],
  [
    'choice',
    agentWith('mode: enforced'),
    'g.yaml:5:11: agents[0].mode must be one of enforce, observe, off, not "enforced" (did you mean "enforce"?)'
  ],
  ['choice, of another type', agentWith('mode: 1'), 'g.yaml:5:11: agents[0].mode must be one of enforce, observe, off, not the number 1'],
  ['choice, far', agentWith('mode: never'), 'g.yaml:5:11: agents[0].mode must be one of enforce, observe, off, not "never"'],
  [
    'twice in a list',
    agentWith('extensions: [object-schemas, object-schemas]'),
    'g.yaml:5:34: agents[0].extensions lists "object-schemas" twice'
  ],
  [
    'too many in a list',
    `${AGENT}server:\n  trustedProxies: [${Array.from({ length: 1001 }, (_, i) => `10.0.${i >> 8}.${i & 255}`).join(', ')}]\n`,
    'g.yaml:6:19: server.trustedProxies must have at most 1000 entries'
  ],
  [
    'too many policies',
    `${agentWith('extensions: []')}extensions: {${Array.from({ length: 1001 }, (_, i) => `k${i}`).join(': {uri: "urn:x"}, ')}: {uri: "urn:x"}}\n`,
    'g.yaml:6:13: extensions must have at most 1000 keys'
  ]
]

const FORMATS: readonly Row[] = [
  [
    'address',
    `${AGENT}server: {listen: localhost}\n`,
    'g.yaml:5:18: server.listen must be host:port (such as "0.0.0.0:8080", ":8080" or "[::1]:8080")'
  ],
  [
    'address, port only',
    `${AGENT}server: {listen: "8080"}\n`,
    'g.yaml:5:18: server.listen must be host:port (write ":8080" for every interface)'
  ],
  [
    'workers',
    `${AGENT}server: {workers: many}\n`,
    'g.yaml:5:19: server.workers must be a whole number or "auto" ("auto" is one per processor)'
  ],
  [
    'workers in quotes',
    `${AGENT}server: {workers: "2"}\n`,
    'g.yaml:5:19: server.workers must be a whole number or "auto" (without quotes)'
  ],
  ['no workers', `${AGENT}server: {workers: 0}\n`, 'g.yaml:5:19: server.workers must be from 1 to 64, not 0'],
  [
    "a console's host with a port",
    `${AGENT}server: {console: {hosts: ["ops.example.com:9901"]}}\n`,
    'g.yaml:5:28: server.console.hosts[0] must be a host name or IP address (without scheme or port; IPv6 in brackets)'
  ],
  [
    'a URL of traces without the place of the id',
    `${AGENT}server: {console: {traceUrl: "https://jaeger.example.com/trace"}}\n`,
    'g.yaml:5:30: server.console.traceUrl must contain "{traceId}" (such as "https://jaeger.example.com/trace/{traceId}")'
  ],
  [
    'a directory of agents where cards are',
    `${AGENT}server: {console: {public: /.well-known/agents}}\n`,
    'g.yaml:5:28: server.console.public must not begin with "/.well-known" (the gateway serves cards and keys there)'
  ],
  [
    'a directory of agents at the path of an agent',
    `${AGENT}server: {console: {public: /}}\n`,
    'g.yaml:5:28: server.console.public, "/", is a path of agents[0] (choose a path that no agent and no passthrough prefix has)'
  ],
  [
    'a directory of agents below a passthrough prefix',
    `${agentWith('passthrough: [/docs]')}server: {console: {public: /docs/agents}}\n`,
    'g.yaml:6:28: server.console.public, "/docs/agents", is a path of agents[0] (choose a path that no agent and no passthrough prefix has)'
  ],
  [
    'url without scheme',
    AGENT.replace('http://', ''),
    'g.yaml:4:21: agents[0].upstream.url must be an absolute http or https URL (did you mean "http://127.0.0.1:1"?)'
  ],
  [
    'other scheme',
    AGENT.replace('http:', 'grpc:'),
    'g.yaml:4:21: agents[0].upstream.url must be an absolute http or https URL (such as "http://127.0.0.1:9999")'
  ],
  [
    'credentials',
    AGENT.replace('127', 'u:p@127'),
    'g.yaml:4:21: agents[0].upstream.url must not carry credentials (they would appear in logs)'
  ],
  ['query', AGENT.replace(':1"', ':1/?a"'), 'g.yaml:4:21: agents[0].upstream.url must not have a query (remove "?" and the text after it)'],
  [
    'fragment',
    AGENT.replace(':1"', ':1/#"'),
    'g.yaml:4:21: agents[0].upstream.url must not have a fragment (remove "#" and the text after it)'
  ],
  ['relative path', agentWith('path: a'), 'g.yaml:5:11: agents[0].path must start with "/" (write "/a")'],
  ['slashes only', agentWith('path: //'), 'g.yaml:5:11: agents[0].path must not have empty segments (write "/")'],
  ['slash at the end', agentWith('path: /a/'), 'g.yaml:5:11: agents[0].path must not end with "/" (write "/a")'],
  ['empty segment', agentWith('path: /a//b'), 'g.yaml:5:11: agents[0].path must not have empty segments (a single "/" between segments)'],
  ['dot segment', agentWith('path: /a/../b'), 'g.yaml:5:11: agents[0].path must not have "." or ".." segments (write the resolved path)'],
  [
    'escaped character',
    agentWith('path: /a%2fb'),
    'g.yaml:5:11: agents[0].path has a character that is not allowed in this path (A-Z a-z 0-9 - . _ ~ and "/")'
  ],
  ['long path', agentWith(`path: /${'a'.repeat(1024)}`), 'g.yaml:5:11: agents[0].path must have at most 1024 characters'],
  [
    'passthrough of everything',
    agentWith('passthrough: [/]'),
    'g.yaml:5:19: agents[0].passthrough[0] must not be "/" (name the prefixes to forward)'
  ],
  ['name', AGENT.replace('name: a', 'name: Agent'), 'g.yaml:3:11: agents[0].name must be 1 to 63 of a-z, 0-9 and "-"'],
  [
    'policy name',
    `${AGENT}extensions: {A b: {uri: "urn:x"}}\n`,
    'g.yaml:5:14: key "A b" in extensions must be 1 to 63 of a-z, 0-9 and "-"'
  ],
  [
    'host with port',
    agentWith('host: a:80'),
    'g.yaml:5:11: agents[0].host must be a host name or IP address (without scheme or port; IPv6 in brackets)'
  ],
  ['host', agentWith('host: a_b'), 'g.yaml:5:11: agents[0].host must be a host name or IP address (such as "agents.example.com")'],
  [
    'pattern of URLs without a scheme',
    agentWith('push: {allow: ["hooks.example.com"]}'),
    'g.yaml:5:20: agents[0].push.allow[0] must be a pattern of URLs (such as "https://*.hooks.example.com/a2a/*": scheme, host, and optionally port and path)'
  ],
  [
    'origin with a path',
    agentWith('cors: {origins: ["https://app.example.com/"]}'),
    'g.yaml:5:22: agents[0].cors.origins[0] must be an origin or "*" (such as "https://app.example.com", without a path and without the default port)'
  ],
  [
    'proxy',
    `${AGENT}server: {trustedProxies: [10.0.0.0/33]}\n`,
    'g.yaml:5:27: server.trustedProxies[0] must be an IP address or CIDR (such as "10.0.0.0/8" or "fd00::/8")'
  ],
  [
    'mapped proxy',
    `${AGENT}server: {trustedProxies: ["0:0:0:0:0:ffff:a00:0/104"]}\n`,
    'g.yaml:5:27: server.trustedProxies[0] must not be an IPv4-mapped IPv6 address (write the IPv4 address or CIDR; mapped ones match too much (CVE-2026-92395))'
  ],
  [
    'uri',
    policyWith('mode: observe').replace('urn:p', '"urn:p,q"'),
    'g.yaml:8:10: extensions.p.uri must be an extension URI (ASCII, without commas, spaces and control characters: clients send it in a comma-separated header)'
  ],
  [
    'pointer',
    ruleWith('schema: {fromCard: [schemas]}'),
    'g.yaml:12:29: extensions.p.request[0].schema.fromCard[0] must be a JSON Pointer into the card (it starts with "/"; "~" is written "~0")'
  ],
  [
    'media type',
    ruleWith('count: {max: 0}').replace('part: {}', 'part: {mediaType: json}'),
    'g.yaml:11:36: extensions.p.request[0].select.part.mediaType must be a media type (such as "application/json" or "application/json;schema=*"; only a parameter may be "*")'
  ],
  [
    'reason',
    ruleWith('count: {max: 0}\nerror: {reason: no}'),
    'g.yaml:13:25: extensions.p.request[0].error.reason must be 1 to 63 of A-Z, 0-9 and "_" (such as "PAYMENT_REQUIRED")'
  ],
  ['file', agentWith('card: {file: ""}'), 'g.yaml:5:18: agents[0].card.file must be the path of a file']
]

const POLICY: readonly Row[] = [
  [
    'uri missing',
    `${agentWith('extensions: [p]')}extensions:\n  p: {}\n`,
    'g.yaml:7:6: extensions.p.uri is required (such as "uri: https://example.com/ext/v1")'
  ],
  ['uri and pattern', policyWith('uriPattern: urn:*'), 'g.yaml:9:5: extensions.p has both uri and uriPattern (keep one)'],
  [
    'pattern',
    policyWith('mode: observe').replace('uri: urn:p', 'uriPattern: "urn:a, urn:b"'),
    'g.yaml:8:17: extensions.p.uriPattern must be a pattern of extension URIs ("*" matches any characters; no commas and spaces)'
  ],
  [
    'aliases of a pattern',
    policyWith('aliases: [{uri: urn:q, relation: same}]').replace('uri: urn:p', 'uriPattern: urn:*'),
    'g.yaml:9:5: extensions.p has both aliases and uriPattern (aliases are other names of one uri)'
  ],
  [
    'alias of itself',
    policyWith('aliases: [{uri: urn:p, relation: same}]'),
    'g.yaml:9:21: extensions.p.aliases[0].uri names "urn:p" twice'
  ],
  [
    'alias without relation',
    policyWith('aliases: [{uri: urn:q}]'),
    'g.yaml:9:15: extensions.p.aliases[0].relation is required (such as "relation: same")'
  ],
  [
    'alias of another policy',
    `${agentWith('extensions: [p, q]')}extensions: {p: {uri: "urn:x"}, q: {uri: "urn:y", aliases: [{uri: "urn:x", relation: same}]}}\n`,
    'g.yaml:5:21: policies "p" and "q" apply to the same extension (keep one)'
  ],
  [
    'empty owns',
    policyWith('owns: {}'),
    'g.yaml:9:11: extensions.p.owns must have at least 1 key (known keys: metadata, dataKeys, data, mediaTypes, headers)'
  ],
  [
    'signal',
    policyWith('activation: {signals: [heder]}'),
    'g.yaml:9:28: extensions.p.activation.signals[0] must be one of header, listed, evidence, always, not "heder" (did you mean "header"?)'
  ],
  [
    'evidence of nothing',
    policyWith('activation: {signals: [header, evidence]}'),
    "g.yaml:9:36: extensions.p: evidence is a signal, but owns is missing (list the extension's own data in owns)"
  ],
  [
    'inactive without owns',
    policyWith('inactive: {request: reject}'),
    "g.yaml:9:25: extensions.p.inactive.request has no effect without owns (list the extension's own data in owns)"
  ],
  [
    'never inactive',
    policyWith('owns: {headers: [x]}\nactivation: {signals: [evidence]}\ninactive: {request: reject}'),
    'g.yaml:11:25: extensions.p.inactive.request has no effect: the signal evidence activates the extension in every request with its data (remove one of them)'
  ],
  [
    'injected duties',
    policyWith('activation: {default: inject}\nrequest: [{id: r, select: {header: x}, count: {min: 1}}]'),
    'g.yaml:9:27: extensions.p: default: inject activates the extension for clients that may not send the data that rule "r" requires (remove default: inject or the lower bound, or supply it with inject)'
  ],
  [
    'onMissing alone',
    policyWith('activation: {onMissing: add}'),
    'g.yaml:9:18: extensions.p.activation.onMissing has no effect without requires'
  ],
  [
    'requires nobody',
    policyWith('activation: {requires: [object-schema]}'),
    'g.yaml:9:29: no policy is named "object-schema" (did you mean "object-schemas"?)'
  ],
  [
    'requires an extension by a pattern',
    policyWith('activation: {requires: [ucp]}'),
    'g.yaml:9:29: policy "p" requires "ucp", which applies to all extensions that match its uriPattern, not to one (name a policy with a uri)'
  ],
  ['requires itself', policyWith('activation: {requires: [p]}'), 'g.yaml:9:29: policy "p" requires itself (remove it)'],
  [
    'a circle',
    `${agentWith('extensions: [p, q, r]')}extensions:\n  p: {uri: "urn:p", activation: {requires: [q]}}\n  q: {uri: "urn:q", activation: {requires: [r]}}\n  r: {uri: "urn:r", activation: {requires: [p, q]}}\n`,
    'g.yaml:7:45: policies "p" and "q" require each other (remove one of the two)',
    'g.yaml:8:45: policies "q" and "r" require each other (remove one of the two)',
    'g.yaml:9:45: policies "r" and "p" require each other (remove one of the two)',
    'g.yaml:9:48: policies "r" and "q" require each other (remove one of the two)'
  ],
  [
    'method of A2A',
    policyWith('methods: {tasks/get: {}}'),
    'g.yaml:9:15: extensions.p.methods: "tasks/get" is an operation of A2A (write rules, with the operation in on)'
  ],
  ['method name', policyWith('methods: {a b: {}}'), 'g.yaml:9:15: key "a b" in extensions.p.methods must be the name of a JSON-RPC method'],
  [
    'method need',
    policyWith('methods: {a: {need: activ}}'),
    'g.yaml:9:25: extensions.p.methods.a.need must be one of active, declared, none, not "activ" (did you mean "active"?)'
  ],
  ['route without verb', policyWith('routes: [{path: /x}]'), 'g.yaml:9:14: extensions.p.routes[0].verb is required (such as "verb: POST")'],
  [
    'route verb',
    policyWith('routes: [{verb: post, path: /x}]'),
    'g.yaml:9:21: extensions.p.routes[0].verb must be one of GET, POST, PUT, PATCH, DELETE, not "post" (did you mean "POST"?)'
  ],
  [
    'route of everything',
    policyWith('routes: [{verb: GET, path: /}]'),
    'g.yaml:9:32: extensions.p.routes[0].path must not be "/" (name at least one segment)'
  ],
  [
    'relative route',
    policyWith('routes: [{verb: GET, path: x}]'),
    'g.yaml:9:32: extensions.p.routes[0].path must start with "/" (write "/x")'
  ],
  [
    'route with a slash at the end',
    policyWith('routes: [{verb: GET, path: /x/}]'),
    'g.yaml:9:32: extensions.p.routes[0].path must not end with "/" (write "/x")'
  ],
  [
    'route with half a parameter',
    policyWith('routes: [{verb: GET, path: "/x/{id"}]'),
    'g.yaml:9:32: extensions.p.routes[0].path has a character that is not allowed in this path (a segment is a plain word, or "{name}" for any one segment)'
  ],
  [
    'route with an empty parameter',
    policyWith('routes: [{verb: GET, path: "/x/{}"}]'),
    'g.yaml:9:32: extensions.p.routes[0].path has a segment that is neither a plain word nor "{name}" (such as "/commands/{command}")'
  ],
  [
    'route with a parameter in a word',
    policyWith('routes: [{verb: GET, path: "/x/a{id}"}]'),
    'g.yaml:9:32: extensions.p.routes[0].path has a segment that is neither a plain word nor "{name}" (such as "/commands/{command}")'
  ],
  [
    'escaped route',
    policyWith('routes: [{verb: GET, path: /x%20}]'),
    'g.yaml:9:32: extensions.p.routes[0].path has a character that is not allowed in this path (a segment is a plain word, or "{name}" for any one segment)'
  ],
  [
    'route at the card',
    policyWith('routes: [{verb: GET, path: /.Well-Known/agent-card.json}]'),
    'g.yaml:9:32: extensions.p.routes[0].path must not be below /.well-known (no extension owns these paths)'
  ],
  [
    'route twice',
    policyWith('routes: [{verb: GET, path: "/x/{a}"}, {verb: POST, path: "/x/{a}"}, {verb: GET, path: "/x/{b}"}]'),
    'g.yaml:9:91: extensions.p.routes[0] and extensions.p.routes[2] are the same route, "GET /x/{}" (keep one)'
  ],
  [
    'body of a GET',
    policyWith('routes: [{verb: GET, path: /x, body: true}]'),
    'g.yaml:9:36: extensions.p.routes[0] has a body, but a GET has none (remove body, or use another verb)'
  ],
  [
    'card check',
    policyWith('card: {onInvalid: refused}'),
    'g.yaml:9:23: extensions.p.card.onInvalid must be one of refuse, warn, not "refused" (did you mean "refuse"?)'
  ],
  ['select missing', policyWith('request: [{id: r, count: {max: 0}}]'), 'g.yaml:9:15: extensions.p.request[0].select is required'],
  [
    'empty select',
    policyWith('request: [{id: r, select: {}, count: {max: 0}}]'),
    'g.yaml:9:31: extensions.p.request[0].select must have at least 1 key (known keys: part, metadata, header, pointer)'
  ],
  [
    'two selectors',
    policyWith('request: [{id: r, select: {part: {}, header: x}, count: {max: 0}}]'),
    'g.yaml:9:31: extensions.p.request[0].select must have at most 1 key'
  ],
  [
    'metadata without key',
    policyWith('request: [{id: r, select: {metadata: {}}, count: {max: 0}}]'),
    'g.yaml:9:42: extensions.p.request[0].select.metadata.key is required (such as "key: $uri")'
  ],
  [
    'misspelled $uri',
    policyWith('request: [{id: r, select: {metadata: {key: $uris}}, count: {max: 0}}]'),
    'g.yaml:9:48: extensions.p.request[0].select.metadata.key must be "$uri", "$uri/" and a suffix, or a name without "$" ("$uri" is the extension\'s URI)'
  ],
  [
    'names with $ that are not $uri',
    policyWith('owns: {metadata: [$url]}\nredact: [$url/x]'),
    'g.yaml:9:23: extensions.p.owns.metadata[0] must be "$uri", "$uri/" and a suffix, or a name without "$" ("$uri" is the extension\'s URI)',
    'g.yaml:10:14: extensions.p.redact[0] must be "$uri", "$uri/" and a suffix, or a name without "$" ("$uri" is the extension\'s URI)'
  ],
  [
    '$uri in data',
    policyWith('request: [{id: r, select: {part: {dataKey: $uri}}, count: {max: 0}}]'),
    'g.yaml:9:48: extensions.p.request[0].select.part.dataKey must be the name of a member of the data; "$uri" is not replaced here (select metadata, or write the name itself)'
  ],
  [
    'misspelt keyword',
    ruleWith('schema: {type: object, requird: [a]}\nrequired: true'),
    'g.yaml:12:32: extensions.p.request[0].schema cannot be used: /requird: "requird" is not a keyword of JSON Schema 2020-12 (did you mean "required"?)'
  ],
  [
    'unknown keyword and format',
    ruleWith('schema: {optional: true, nothing: 1, format: price}\nrequired: true'),
    'g.yaml:12:18: extensions.p.request[0].schema cannot be used: /optional: "optional" is not a keyword of JSON Schema 2020-12 (a property is optional unless required lists its name)',
    'g.yaml:12:34: extensions.p.request[0].schema cannot be used: /nothing: "nothing" is not a keyword of JSON Schema 2020-12 (remove it; an annotation begins with "x-")',
    'g.yaml:12:46: extensions.p.request[0].schema cannot be used: /format: "price" is not a format that the gateway knows (write pattern instead)'
  ],
  [
    'keywords of OpenAPI and of another draft',
    ruleWith('schema: {nullable: true, type: string, example: 1, discriminator: {}, additionalItems: false, $recursiveRef: "#"}\nrequired: true'),
    'g.yaml:12:18: extensions.p.request[0].schema cannot be used: /nullable: "nullable" is not a keyword of JSON Schema 2020-12 (write type: [string, "null"])',
    'g.yaml:12:48: extensions.p.request[0].schema cannot be used: /example: "example" is not a keyword of JSON Schema 2020-12 (write examples, a list)',
    'g.yaml:12:60: extensions.p.request[0].schema cannot be used: /discriminator: "discriminator" is not a keyword of JSON Schema 2020-12 (write oneOf with a const in each branch)',
    'g.yaml:12:79: extensions.p.request[0].schema cannot be used: /additionalItems: "additionalItems" is not a keyword of JSON Schema 2020-12 (with prefixItems, items applies to the other items)',
    'g.yaml:12:103: extensions.p.request[0].schema cannot be used: /$recursiveRef: "$recursiveRef" is not a keyword of JSON Schema 2020-12 (it belongs to 2019-09: set "$schema")'
  ],
  [
    'warning: absence passes',
    ruleWith('schema: {type: object}'),
    'g.yaml:12:9: extensions.p.request[0].schema applies to selected values only: a request without the value satisfies the rule (write required: true to require the value, or required: false if absence is intended)'
  ],
  ['absence is intended', ruleWith('schema: {type: object}\nrequired: false')],
  [
    'required twice',
    ruleWith('schema: true\nrequired: true\ncount: {min: 2}'),
    'g.yaml:13:9: extensions.p.request[0] has both required and count.min (keep one)'
  ],
  [
    'required and forbidden',
    ruleWith('required: true\ncount: {max: 0}'),
    'g.yaml:12:9: extensions.p.request[0] requires a value, but count.max is 0 (keep one)'
  ],
  [
    'age without a limit',
    ruleWith('notOlderThan: {time: /at}'),
    'g.yaml:12:23: extensions.p.request[0].notOlderThan needs age, ttl or expires (such as "age: 5m")'
  ],
  ['age', ruleWith('notOlderThan: {age: 5m}')],
  ['once', ruleWith('unique: {window: 10m, onUnknown: allow}')],
  [
    'once, and removed',
    ruleWith('unique: {window: 10m}\nverdict: strip'),
    'g.yaml:12:9: extensions.p.request[0] has both unique and verdict: strip (use reject or warn)'
  ],
  [
    'required and removed',
    ruleWith('required: true\nverdict: strip'),
    'g.yaml:12:9: extensions.p.request[0].required: verdict strip cannot satisfy a lower bound, because it only removes values (put the lower bound into a separate rule)'
  ],
  [
    'empty name',
    policyWith('request: [{id: r, select: {part: {dataKey: ""}}, count: {max: 0}}]'),
    'g.yaml:9:48: extensions.p.request[0].select.part.dataKey must have from 1 to 512 characters'
  ],
  [
    'header name',
    policyWith('request: [{id: r, select: {header: "a b"}, count: {max: 0}}]'),
    'g.yaml:9:40: extensions.p.request[0].select.header must be the name of a header'
  ],
  [
    'select pointer',
    policyWith('request: [{id: r, select: {pointer: message}, count: {max: 0}}]'),
    'g.yaml:9:41: extensions.p.request[0].select.pointer must be a JSON Pointer (it starts with "/"; "~" is written "~0")'
  ],
  [
    'equals a mapping',
    policyWith('request: [{id: r, select: {metadata: {key: a, equals: {}}}, count: {max: 0}}]'),
    'g.yaml:9:59: extensions.p.request[0].select.metadata.equals must be a string or a number or true or false, not a mapping'
  ],
  [
    'empty condition',
    ruleWith('count: {max: 0}\nwhen: {}'),
    'g.yaml:13:15: extensions.p.request[0].when must have at least 1 key (known keys: taskId, contextId, listed, active, caller, match, taskState)'
  ],
  [
    'a source as condition',
    ruleWith('count: {max: 0}\nwhen: {match: {fromCard: [/a]}}\nunless: {match: {ref: "urn:x"}}'),
    'g.yaml:13:24: extensions.p.request[0].when.match needs an inline schema, not fromCard (write the schema itself)',
    'g.yaml:14:26: extensions.p.request[0].unless.match needs an inline schema, not ref (write the schema itself)'
  ],
  [
    'when and unless',
    ruleWith('count: {max: 0}\nwhen: {taskId: present, listed: true}\nunless: {listed: true, taskId: present}'),
    'g.yaml:14:9: extensions.p.request[0]: unless matches whenever when does (the rule would never apply)'
  ],
  [
    'unless covers when',
    ruleWith('count: {max: 0}\nwhen: {taskId: present, listed: true}\nunless: {listed: true, match: true}'),
    'g.yaml:14:9: extensions.p.request[0]: unless matches whenever when does (the rule would never apply)'
  ],
  [
    'unless everything',
    ruleWith('count: {max: 0}\nunless: {match: {}}'),
    'g.yaml:13:9: extensions.p.request[0]: everything matches unless (the rule would never apply)'
  ],
  [
    'when nothing',
    ruleWith('count: {max: 0}\nwhen: {match: false}'),
    'g.yaml:13:23: extensions.p.request[0]: nothing matches when.match (the rule would never apply)'
  ],
  [
    'when not listed, where listing activates',
    policyWith('activation: {signals: [listed]}\nrequest: [{id: r, select: {part: {}}, when: {listed: false}, count: {max: 0}}]'),
    'g.yaml:10:58: extensions.p.request[0]: rules run only if message.extensions names the extension, which is the only activation signal (the rule would never apply)'
  ],
  [
    'unless listed, where listing activates',
    policyWith('activation: {signals: [listed]}\nrequest: [{id: r, select: {part: {}}, unless: {listed: true}, count: {max: 0}}]'),
    'g.yaml:10:60: extensions.p.request[0]: rules run only if message.extensions names the extension, which is the only activation signal (the rule would never apply)'
  ],
  [
    'task of no message',
    policyWith('request: [{id: r, on: [GetTask, CancelTask], select: {header: x}, when: {taskId: present}, count: {max: 0}}]'),
    'g.yaml:9:86: extensions.p.request[0].when.taskId can never match: no operation in on carries a message (the rule would never apply)'
  ],
  [
    'listed in no message',
    policyWith('request: [{id: r, on: [GetTask], select: {header: x}, when: {listed: true}, count: {max: 0}}]'),
    'g.yaml:9:74: extensions.p.request[0].when.listed can never match: no operation in on carries a message (the rule would never apply)'
  ],
  [
    'unless a task of no message',
    policyWith('request: [{id: r, on: [GetTask], select: {header: x}, unless: {taskId: absent}, count: {max: 0}}]'),
    'g.yaml:9:59: extensions.p.request[0].unless always matches: no operation in on carries a message (the rule would never apply)'
  ],
  [
    'message of another operation',
    policyWith('request: [{id: r, on: [GetTask, all], select: {pointer: /message/parts/0}, count: {max: 0}}]'),
    'g.yaml:9:28: extensions.p.request[0].on[0]: GetTask carries no message (select a header, a pointer or the metadata of params)'
  ],
  [
    'no bound',
    policyWith('request: [{id: r, select: {header: x}, count: {min: 0}}]'),
    'g.yaml:9:57: extensions.p.request[0]: at least 0 is always satisfied (the rule checks nothing)'
  ],
  [
    'two of the first',
    policyWith('request: [{id: r, select: {part: {take: first}}, count: {min: 2}}]'),
    'g.yaml:9:67: extensions.p.request[0].count.min can never be satisfied: take: first selects one value at most (write 1)'
  ],
  [
    'two of one pointer',
    policyWith('request: [{id: r, select: {pointer: /a}, count: {min: 2}}]'),
    'g.yaml:9:59: extensions.p.request[0].count.min can never be satisfied: a pointer selects one value at most (write 1)'
  ],
  [
    'contradiction',
    policyWith(
      'request:\n  - {id: a, on: [GetTask, all], select: {header: x}, when: {taskId: present}, count: {max: 0}}\n  - {id: b, on: [all, GetTask], select: {header: x}, when: {taskId: present}, schema: true, count: {min: 1}}\n  - {id: c, select: {header: x}, count: {min: 1}}'
    ),
    'g.yaml:11:97: extensions.p.request[1] contradicts extensions.p.request[0]: rule "b" requires at least 1, rule "a" allows at most 0 of the same (no request satisfies both; give them different conditions)'
  ],
  [
    'contradiction, the other way round',
    policyWith(
      'request:\n  - {id: a, select: {header: x}, count: {min: 3}}\n  - {id: b, select: {header: y}, count: {max: 2}}\n  - {id: c, select: {header: x}, count: {max: 2}}'
    ),
    'g.yaml:12:38: extensions.p.request[2] contradicts extensions.p.request[0]: rule "a" requires at least 3, rule "c" allows at most 2 of the same (no request satisfies both; give them different conditions)'
  ],
  [
    'unknown operation',
    ruleWith('count: {max: 0}\non: [SendMessages]'),
    'g.yaml:13:14: extensions.p.request[0].on[0] must be one of SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, SubscribeToTask, CreateTaskPushNotificationConfig, GetTaskPushNotificationConfig, ListTaskPushNotificationConfigs, DeleteTaskPushNotificationConfig, GetExtendedAgentCard, all, not "SendMessages" (did you mean "SendMessage"?)'
  ],
  [
    'operation without message',
    ruleWith('count: {max: 0}\non: [SendMessage, GetTask]'),
    'g.yaml:13:27: extensions.p.request[0].on[1]: GetTask carries no message (select a header, a pointer or the metadata of params)'
  ],
  [
    'verdict',
    ruleWith('count: {max: 0}\nverdict: warned'),
    'g.yaml:13:18: extensions.p.request[0].verdict must be one of reject, warn, strip, not "warned"'
  ],
  [
    'no source and more',
    ruleWith('schema: {fromCard: [/a], type: object}'),
    'g.yaml:12:34: unknown key "type" in extensions.p.request[0].schema (known keys: fromCard)'
  ],
  ['empty count', ruleWith('count: {}'), 'g.yaml:12:16: extensions.p.request[0].count must have at least 1 key (known keys: min, max)'],
  ['crossed count', ruleWith('count: {min: 2, max: 1}'), 'g.yaml:12:22: extensions.p.request[0].count.min must not be above max, 1'],
  ['negative count', ruleWith('count: {max: -1}'), 'g.yaml:12:22: extensions.p.request[0].count.max must be from 0 to 100000, not -1'],
  [
    'rule without effect',
    policyWith('request: [{id: r, select: {part: {}}}]'),
    'g.yaml:9:15: extensions.p.request[0] needs count, required, schema or external (a rule without them checks nothing)'
  ],
  ['pause', pausing()],
  ['pause of a rule that warns', pausing('verdict: warn, '), 'g.yaml:9:76: extensions.p.request[0] has both pause and verdict: warn (the rule must reject requests: remove verdict)'],
  ['pause of an operation without a message', pausing('on: [GetTask], '), 'g.yaml:9:76: extensions.p.request[0].pause: no operation in on carries a message (only SendMessage and SendStreamingMessage can wait)'],
  ['evidence of nothing', pausing('', '{schema: {type: string}}'), 'g.yaml:9:111: extensions.p.request[0].pause.evidence has no select (name the values that schema and declined apply to)'],
  ['evidence with a file', pausing('', '{select: {header: x}, schema: {file: a.json}}'), 'g.yaml:9:142: extensions.p.request[0].pause.evidence.schema needs an inline schema, not file (write the schema itself)'],
  [
    'same rule id',
    policyWith('request: [{id: r, select: {part: {}}, schema: true}, {id: r, select: {part: {}}, schema: true}]'),
    'g.yaml:9:63: two rules of this policy have the id "r"'
  ],
  [
    'long message',
    ruleWith(`count: {max: 0}\nerror: {message: ${'x'.repeat(501)}}`),
    'g.yaml:13:26: extensions.p.request[0].error.message must have from 1 to 500 characters'
  ],
  [
    'unknown policy, near',
    agentWith('extensions: [object-schema]'),
    'g.yaml:5:18: no policy is named "object-schema" (did you mean "object-schemas"?)'
  ],
  [
    'policy named like a property',
    agentWith('extensions: [constructor]'),
    'g.yaml:5:18: no policy is named "constructor" (a2a-gateway help catalogue lists those of the catalogue)'
  ],
  [
    'unknown policy, far',
    `${agentWith('extensions: [p, far-away]')}extensions: {p: {uri: "urn:x"}}\n`,
    'g.yaml:5:21: no policy is named "far-away" (this file has p; a2a-gateway help catalogue lists those of the catalogue)'
  ],
  [
    'one extension twice',
    `${agentWith('extensions: [p, q]')}extensions: {p: {uri: "urn:x"}, q: {uri: "urn:x"}}\n`,
    'g.yaml:5:21: policies "p" and "q" apply to the same extension (keep one)'
  ]
]

const OVERLAY = 'extensions:\n  object-schemas:\n'

const LAYERS: readonly Row[] = [
  [
    'schema that the platform adds to a card',
    agentWith('card: {schemas: {good: true, bad: {type: 5}}}'),
    'g.yaml:5:46: agents[0].card.schemas.bad cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values'
  ],
  [
    "schema of an agent's overlay",
    agentWith('extensions: [{object-schemas: {methods: {m: {params: {type: 5}}}}}]'),
    'g.yaml:5:65: agents[0].extensions[0].object-schemas.methods.m.params cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values'
  ],
  [
    'no URI, near the catalogue',
    `${agentWith('extensions: [object-schema]')}extensions: {object-schema: {mode: observe}}\n`,
    'g.yaml:6:29: extensions.object-schema.uri is required (or did you mean the catalogue\'s "object-schemas"?)'
  ],
  [
    'no URI, far from it',
    `${agentWith('extensions: [p]')}extensions: {p: {mode: observe}}\n`,
    'g.yaml:6:17: extensions.p.uri is required (such as "uri: https://example.com/ext/v1")'
  ],
  [
    'fault of the overlay in the file',
    `${agentWith('extensions: [object-schemas]')}${OVERLAY}    activation: {signals: [evidence]}\n`,
    "g.yaml:8:28: extensions.object-schemas: evidence is a signal, but owns is missing (list the extension's own data in owns)"
  ],
  [
    "fault of the agent's overlay",
    agentWith('extensions: [{object-schemas: {activation: {signals: [evidence]}}}]'),
    "g.yaml:5:59: agents[0].extensions[0].object-schemas: evidence is a signal, but owns is missing (list the extension's own data in owns)"
  ],
  [
    'one fault, told once',
    `${agentWith('extensions: [{object-schemas: {mode: off}}]')}${OVERLAY}    activation: {signals: [evidence]}\n`,
    "g.yaml:8:28: extensions.object-schemas: evidence is a signal, but owns is missing (list the extension's own data in owns)"
  ],
  [
    "a lower layer contradicted by the agent's",
    `${agentWith('extensions: [{p: {request: [{id: r, select: {header: x}, count: {min: 1}}]}}]')}extensions:\n  p:\n    uri: urn:p\n    activation: {default: inject}\n`,
    'g.yaml:9:27: extensions.p: default: inject activates the extension for clients that may not send the data that rule "r" requires (remove default: inject or the lower bound, or supply it with inject)'
  ],
  [
    "an overlay over the catalogue's part",
    agentWith('extensions: [{object-schemas: {uriPattern: "urn:*"}}]'),
    'g.yaml:5:36: agents[0].extensions[0].object-schemas has both uri and uriPattern (keep one)'
  ],
  [
    'overlay of nobody',
    agentWith('extensions: [{object-schema: {mode: off}}]'),
    'g.yaml:5:18: no policy is named "object-schema" (did you mean "object-schemas"?)'
  ],
  [
    'unknown key of an overlay',
    agentWith('extensions: [{object-schemas: {mod: off}}]'),
    /^g\.yaml:5:36: unknown key "mod" in agents\[0\]\.extensions\[0\]\.object-schemas \(did you mean "mode"\?\)$/.source
  ],
  [
    'overlay of two',
    agentWith('extensions: [{object-schemas: {}, p: {}}]'),
    'g.yaml:5:18: agents[0].extensions[0] must have at most 1 key'
  ],
  ['overlay of none', agentWith('extensions: [{}]'), 'g.yaml:5:18: agents[0].extensions[0] must have at least 1 key'],
  [
    'overlay that is null',
    agentWith('extensions: [{object-schemas: }]'),
    'g.yaml:5:35: agents[0].extensions[0].object-schemas must be a mapping, not null (give it a value, or remove the key for the default)'
  ],
  [
    'policy that is a number',
    agentWith('extensions: [3]'),
    'g.yaml:5:18: agents[0].extensions[0] must be a string or a mapping, not the number 3'
  ],
  [
    'named twice',
    agentWith('extensions: [object-schemas, {object-schemas: {mode: off}}]'),
    'g.yaml:5:34: agents[0].extensions lists "object-schemas" twice'
  ],
  [
    'overlay that makes twins',
    `${agentWith('extensions: [p, {q: {uri: "urn:p"}}]')}extensions: {p: {uri: "urn:p"}, q: {uri: "urn:q"}}\n`,
    'g.yaml:5:21: policies "p" and "q" apply to the same extension (keep one)'
  ],
  [
    'overlay that requires nobody',
    agentWith('extensions: [{object-schemas: {activation: {requires: [x40]}}}]'),
    /^g\.yaml:5:60: no policy is named "x40" \(.*\)$/.source
  ],
  [
    'overlay that closes a circle',
    `${agentWith('extensions: [p, {q: {activation: {requires: [p]}}}]')}extensions: {p: {uri: "urn:p", activation: {requires: [q]}}, q: {uri: "urn:q"}}\n`,
    'g.yaml:5:50: policies "q" and "p" require each other (remove one of the two)'
  ],
  [
    'warning: unused overlay',
    `${agentWith('extensions: []')}${OVERLAY}    mode: off\n`,
    'g.yaml:7:3: no agent uses policy "object-schemas" (name it in an agent\'s extensions)'
  ]
]

const CHECKED: readonly Row[] = [
  [
    'the listener for metrics where agents are',
    `${AGENT}server: {listen: ":80", metrics: "0.0.0.0:80"}\n`,
    'g.yaml:5:34: server.listen and server.metrics are the same address (the listener for metrics needs its own address)'
  ],
  [
    'the listener for metrics where the admin listener is',
    `${AGENT}server: {admin: ":81", metrics: ":81"}\n`,
    'g.yaml:5:33: server.admin and server.metrics are the same address (the listener for metrics needs its own address)'
  ],
  [
    'same listeners',
    `${AGENT}server: {listen: ":80", admin: "0.0.0.0:80"}\n`,
    'g.yaml:5:32: server.listen and server.admin are the same address (the admin listener needs its own address)'
  ],
  [
    'same name',
    `${AGENT}  - {name: a, path: /b, upstream: {url: "http://h"}}\n`,
    'g.yaml:5:12: agents[0] and agents[1] have the same name, "a"'
  ],
  [
    'same path',
    `${AGENT}  - {name: b, upstream: {url: "http://h"}}\n`,
    'g.yaml:5:5: agents[0] and agents[1] have the same host and path, / (give each its own)'
  ],
  [
    'same host and path',
    `${agentWith('host: H.example\npath: /x')}  - {name: b, host: h.EXAMPLE, path: /x, upstream: {url: "http://h"}}\n`,
    'g.yaml:7:38: agents[0] and agents[1] have the same host and path, /x (give each its own)'
  ],
  [
    'card twice',
    agentWith('card: {url: "http://h/c", file: messages.test.ts}'),
    'g.yaml:5:31: agents[0].card has both url and file (keep one)'
  ],
  [
    'advertised by a card served untouched',
    agentWith('card: {signature: verbatim, advertise: [{uri: "urn:a"}]}'),
    'g.yaml:5:33: agents[0].card.advertise contradicts signature: verbatim, which serves the card unchanged (remove one of them)'
  ],
  [
    'schemas in a card served untouched',
    agentWith('card: {signature: verbatim, schemas: {a: true}}'),
    'g.yaml:5:33: agents[0].card.schemas contradicts signature: verbatim, which serves the card unchanged (remove one of them)'
  ],
  [
    'headers of the card',
    agentWith('card:\n  headers:\n    Host: {env: H}\n    a: {}\n    b: {env: B, file: rows.ts}\n    x: {env: X}\n    y: {file: mesh-rows.ts}\n    X: {env: Y, prefix: "p "}\n    z: {file: missing}\n  public: minimal\n  signature: verbatim'),
    'g.yaml:7:9: agents[0].card.headers.Host: the gateway itself sets this header (remove it)',
    'g.yaml:7:21: agents[0].card.headers.Host.env: environment variable H is not set',
    'g.yaml:8:12: agents[0].card.headers.a needs file or env (such as "{env: CARD_TOKEN, prefix: \'Bearer \'}")',
    'g.yaml:9:9: agents[0].card.headers.b has both file and env (keep one)',
    'g.yaml:10:18: agents[0].card.headers.x.env: environment variable X is not set',
    'g.yaml:11:19: agents[0].card.headers.y.file: the file "mesh-rows.ts" contains a character that a header cannot contain (paths are relative to the configuration file)',
    'g.yaml:12:9: agents[0].card.headers names "X" twice (names of headers are case-insensitive)',
    'g.yaml:12:18: agents[0].card.headers.X.env: environment variable Y is not set',
    'g.yaml:13:19: agents[0].card.headers.z.file: cannot read "missing": no such file (paths are relative to the configuration file)',
    'g.yaml:14:15: agents[0].card.public: minimal contradicts signature: verbatim, which serves the card unchanged (write none or full)'
  ],
  [
    'headers and a file of the card',
    agentWith('card: {file: rows.ts, headers: {x: {file: card-token.txt}}}'),
    'g.yaml:5:27: agents[0].card.headers has no effect with card.file (remove one of them)'
  ],
  [
    'headers of the extended card',
    agentWith('card: {extended: {headers: {via: {}, x: {env: X}}}}'),
    'g.yaml:5:33: agents[0].card.extended.headers.via: the gateway itself sets this header (remove it)',
    'g.yaml:5:38: agents[0].card.extended.headers.via needs file or env (such as "{env: CARD_TOKEN, prefix: \'Bearer \'}")',
    'g.yaml:5:51: agents[0].card.extended.headers.x.env: environment variable X is not set'
  ],
  [
    'warning: credentials for the extended card over http',
    agentWith('card: {url: "https://cards.example/", extended: {headers: {x: {file: card-token.txt}}}}')
      .replace('127.0.0.1:1', 'agent.example'),
    'g.yaml:5:54: agents[0].card.extended.headers sends credentials over http to agent.example (use https)'
  ],
  [
    'warning: credentials over http',
    agentWith('card: {headers: {x: {file: card-token.txt}}}').replace('127.0.0.1:1', 'agent.example'),
    'g.yaml:5:12: agents[0].card.headers sends credentials over http to agent.example (use https)'
  ],
  [
    'a requirement that the card cannot show',
    `${agentWith('card: {signature: verbatim}\nextensions: [p, {q: {mode: observe}}]')}extensions: {p: {uri: "urn:p", activation: {required: always}}, q: {uri: "urn:q", activation: {required: always}}}\n`,
    'g.yaml:6:18: policy "p" requires its extension (activation.required: always), and signature: verbatim serves the card unchanged (write activation: {required: card} and let the agent declare the requirement, or serve the card with signature: strip)'
  ],
  [
    'advertised twice',
    agentWith('card: {advertise: [{uri: "urn:a"}, {uri: "urn:a", required: true}]}'),
    'g.yaml:5:46: agents[0].card.advertise lists "urn:a" twice'
  ],
  [
    'advertised without URI',
    agentWith('card: {advertise: [{required: true}]}'),
    'g.yaml:5:24: agents[0].card.advertise[0].uri is required (such as "uri: https://example.com/ext/v1")'
  ],
  [
    'schema name',
    agentWith('card: {schemas: {"": true}}'),
    'g.yaml:5:22: key "" in agents[0].card.schemas must have from 1 to 100 characters, none of them a control character'
  ],
  [
    'card missing',
    agentWith('card: {file: nope.json}'),
    'g.yaml:5:18: agents[0].card.file: cannot read "nope.json": no such file (paths are relative to the configuration file)'
  ],
  [
    'card a directory',
    agentWith('card: {file: .}'),
    'g.yaml:5:18: agents[0].card.file: cannot read ".": not a file (paths are relative to the configuration file)'
  ],
  [
    'ca missing',
    AGENT.replace('{url: "http:', '{tls: {ca: no.pem}, url: "https:'),
    'g.yaml:4:26: agents[0].upstream.tls.ca: cannot read "no.pem": no such file (paths are relative to the configuration file)'
  ],
  [
    'listener: cert alone',
    `${AGENT}server: {tls: {cert: right.pem}}\n`,
    'g.yaml:5:22: server.tls.cert also needs key'
  ],
  [
    'listener: key alone',
    `${AGENT}server: {tls: {key: right.key.pem}}\n`,
    'g.yaml:5:21: server.tls.key also needs cert'
  ],
  [
    'listener: cert missing',
    `${AGENT}server: {tls: {cert: no.pem, key: right.key.pem}}\n`,
    'g.yaml:5:22: server.tls.cert: cannot read "no.pem": no such file (paths are relative to the configuration file)'
  ],
  [
    'listener: no authority',
    `${AGENT}server: {tls: {cert: right.pem, key: right.key.pem, clientCertificate: require}}\n`,
    'g.yaml:5:72: server.tls.clientCertificate is require, but clientCa is not set (name the authorities whose certificates are valid)'
  ],
  [
    'listener: authority without request',
    `${AGENT}server: {tls: {cert: right.pem, key: right.key.pem, clientCa: ca.pem}}\n`,
    'g.yaml:5:63: server.tls.clientCa has no effect while clientCertificate is none (set clientCertificate to request or require)'
  ],
  [
    'listener: client certificates without TLS',
    `${AGENT}server: {tls: {clientCa: ca.pem, clientCertificate: request}}\n`,
    'g.yaml:5:53: server.tls.clientCertificate has no effect without cert and key (set cert and key, or remove this line)'
  ],
  [
    'listener: key of another certificate',
    `${AGENT}server: {tls: {cert: right.pem, key: wrong.key.pem}}\n`,
    'g.yaml:5:38: server.tls.key cannot be used: the key does not belong to the certificate (the PEM file of the private key that belongs to cert)'
  ],
  [
    'cert alone',
    AGENT.replace('{url: "http:', '{tls: {cert: right.pem}, url: "https:'),
    'g.yaml:4:28: agents[0].upstream.tls.cert also needs key'
  ],
  [
    'key alone',
    AGENT.replace('{url: "http:', '{tls: {key: right.key.pem}, url: "https:'),
    'g.yaml:4:27: agents[0].upstream.tls.key also needs cert'
  ],
  [
    'card passed through',
    agentWith('passthrough: [/static, /.well-known]'),
    'g.yaml:5:28: agents[0].passthrough[1] must not cover the card at /.well-known/agent-card.json (the gateway serves it)'
  ],
  [
    'old card passed through',
    agentWith('passthrough: [/.well-known/agent.json]'),
    'g.yaml:5:19: agents[0].passthrough[0] must not cover the card at /.well-known/agent.json (the gateway serves it)'
  ],
  [
    'warning: everyone trusted',
    `${AGENT}server: {trustedProxies: [0.0.0.0/0]}\n`,
    'g.yaml:5:27: "0.0.0.0/0" trusts the X-Forwarded-* headers of every client (name the proxies in front)'
  ],
  [
    'warning: fewer connections than calls',
    AGENT.replace('{url', '{connections: 7, url').replace('upstream', 'concurrency: {requests: 4, streams: 4}\n    upstream'),
    'g.yaml:5:29: agents[0].upstream.connections is less than the 4 requests and 4 streams that concurrency allows: further calls wait for a connection (at least 8, or lower concurrency)'
  ],
  [
    'exactly as many connections',
    AGENT.replace('{url', '{connections: 8, url').replace('upstream', 'concurrency: {requests: 4, streams: 4}\n    upstream')
  ],
  ['share', `${AGENT}shedding: {eventLoopUtilization: 1.5}\n`, 'g.yaml:5:34: shedding.eventLoopUtilization must be from 0 to 1, not 1.5'],
  [
    'warning: tls on http',
    AGENT.replace('{url', '{tls: {serverName: h}, url'),
    'g.yaml:4:16: agents[0].upstream.tls has no effect on an http URL (write https)'
  ],
  [
    'warning: a schema nobody looks at',
    ruleWith('count: {max: 0}\nschema: {type: object}'),
    'g.yaml:13:9: extensions.p.request[0].schema is never used: count.max is 0, so every selected value is rejected (remove one of the two)'
  ],
  [
    'warning: official prefix',
    policyWith('aliases: [{uri: "https://a2a-protocol.org/extensions/q/v1", relation: same}]').replace(
      'urn:p',
      'HTTPS://a2a-protocol.org/extensions/p/v1'
    ),
    'g.yaml:8:10: extensions.p.uri is below https://a2a-protocol.org/extensions/, which is reserved for extensions of the A2A project (use your own URI for your extension)',
    'g.yaml:9:21: extensions.p.aliases[0].uri is below https://a2a-protocol.org/extensions/, which is reserved for extensions of the A2A project (use your own URI for your extension)'
  ],
  [
    'warning: an alias that is another version',
    policyWith(
      'aliases: [{uri: "https://p.test/ext/v2", relation: same}, {uri: "https://old.test/p/v1.0", relation: same}, {uri: "urn:p", relation: same}, {uri: "https://p.test/ext/v0", relation: satisfies}]'
    ).replace('uri: urn:p', 'uri: https://p.test/ext/v1.0'),
    'g.yaml:9:21: extensions.p.aliases[0].uri "https://p.test/ext/v2" is version 2 and uri is version 1.0: a client that requests one version gets the other (write a policy for each version, or use relation: satisfies if agents that require uri also accept this version)'
  ],
  [
    'warning: pattern of everything',
    policyWith('mode: observe').replace('uri: urn:p', 'uriPattern: "*"'),
    'g.yaml:8:17: extensions.p.uriPattern "*" matches the extensions of all organizations (begin it with a host or namespace)'
  ],
  [
    'warning: pattern of a scheme',
    policyWith('mode: observe').replace('uri: urn:p', 'uriPattern: https://*'),
    'g.yaml:8:17: extensions.p.uriPattern "https://*" matches the extensions of all organizations (begin it with a host or namespace)'
  ],
  [
    'warning: owner of everything',
    policyWith(
      'owns: {metadata: ["*", mimeType, a.*], dataKeys: ["**"], mediaTypes: [application/json, application/json;schema=*], headers: [A2A-Extensions, x]}'
    ),
    'g.yaml:9:23: extensions.p.owns.metadata[0]: "*" owns everything (own only data that no other extension uses: its rules and inactive.request depend on this evidence)',
    'g.yaml:9:28: extensions.p.owns.metadata[1]: "mimeType" is in requests of every kind (own only data that no other extension uses: its rules and inactive.request depend on this evidence)',
    'g.yaml:9:55: extensions.p.owns.dataKeys[0]: "**" owns everything (own only data that no other extension uses: its rules and inactive.request depend on this evidence)',
    'g.yaml:9:75: extensions.p.owns.mediaTypes[0]: "application/json" is in requests of every kind (own only data that no other extension uses: its rules and inactive.request depend on this evidence)',
    'g.yaml:9:131: extensions.p.owns.headers[0]: "A2A-Extensions" is in requests of every kind (own only data that no other extension uses: its rules and inactive.request depend on this evidence)'
  ],
  [
    'warning: shared alias',
    `${agentWith('extensions: [p, q]')}extensions: {p: {uri: "urn:p", aliases: [{uri: "urn:x", relation: satisfies}]}, q: {uri: "urn:q", aliases: [{uri: "urn:x", relation: satisfies}]}}\n`,
    'g.yaml:5:21: policies "p" and "q" are both satisfied by "urn:x" (a client that requests it satisfies both)'
  ],
  [
    'warning: unused policy',
    `${AGENT}extensions:\n  p: {uri: "urn:x"}\n`,
    'g.yaml:6:3: no agent uses policy "p" (name it in an agent\'s extensions)'
  ]
]

const USABLE: readonly Row[] = [
  [
    'schema that does not compile',
    ruleWith('schema: {properties: {a: {items: [1]}}}'),
    'g.yaml:12:42: extensions.p.request[0].schema cannot be used: /properties/a/items: not valid against its meta-schema: must be an object or a boolean'
  ],
  [
    'keyword with a wrong value',
    ruleWith('schema:\n  properties:\n    list:\n      items:\n        anyOf:\n          - type: string\n          - {minLength: -1}'),
    'g.yaml:18:33: extensions.p.request[0].schema cannot be used: /properties/list/items/anyOf/1/minLength: not valid against its meta-schema: must be at least 0'
  ],
  [
    'type',
    ruleWith('schema: {type: nonsense}'),
    'g.yaml:12:24: extensions.p.request[0].schema cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values'
  ],
  [
    'draft',
    ruleWith('schema: {$schema: "urn:draft-03"}'),
    'g.yaml:12:27: extensions.p.request[0].schema cannot be used: /$schema: the "$schema" is not one of draft-07, 2019-09 and 2020-12'
  ],
  [
    'asynchronous',
    ruleWith('schema: {$async: true}'),
    'g.yaml:12:26: extensions.p.request[0].schema cannot be used: /$async: asynchronous schemas are not supported'
  ],
  [
    'reference outside',
    ruleWith('schema: {anyOf: [{$ref: "https://elsewhere.example/s.json"}]}'),
    'g.yaml:12:33: extensions.p.request[0].schema cannot be used: /anyOf/0/$ref: the reference "https://elsewhere.example/s.json" points outside the schema; the gateway fetches nothing, so copy the target into "$defs"'
  ],
  [
    'reference to nowhere',
    ruleWith('schema: {$ref: "#/$defs/none"}'),
    "g.yaml:12:17: extensions.p.request[0].schema cannot be used: can't resolve reference #/$defs/none from id #"
  ],
  ['property __proto__', ruleWith('schema: {dependentRequired: {"__proto__": [a]}}'), 'g.yaml:12:38: unknown key "__proto__"'],
  [
    'member named constructor',
    ruleWith('schema: {const: {constructor: 1}}'),
    'g.yaml:12:39: extensions.p.request[0].schema cannot be used: /const/constructor: a member named "constructor" inside "const" or "enum" is not supported'
  ],
  [
    'look-ahead',
    ruleWith('schema: {properties: {a/b: {pattern: "(?=x)"}}}'),
    'g.yaml:12:46: extensions.p.request[0].schema cannot be used: /properties/a~1b/pattern: the pattern "(?=x)" cannot run in linear time: look-ahead (?= is not supported'
  ],
  ...[['modifiers', '(?i:x)', 'the modifiers (?i:'], ['group names', '(?<n>x)|(?<n>y)', 'two groups with one name']].map(([name = '', pattern = '', what = '']): Row => [
    name,
    ruleWith(`schema: {pattern: "${pattern}"}`),
    `g.yaml:12:27: extensions.p.request[0].schema cannot be used: /pattern: the pattern "${pattern}" is not supported: it has ${what}, which ECMA-262 allows only since 2025`
  ]),
  [
    'look-behind in a name',
    ruleWith('schema: {patternProperties: {"(?<!x)": true}}'),
    'g.yaml:12:48: extensions.p.request[0].schema cannot be used: /patternProperties/(?<!x): the pattern "(?<!x)" cannot run in linear time: look-behind (?<! is not supported'
  ],
  [
    'back-reference',
    ruleWith("schema: {pattern: '(a)\\1'}"),
    'g.yaml:12:27: extensions.p.request[0].schema cannot be used: /pattern: the pattern "(a)\\\\1" cannot run in linear time: back-reference \\1 is not supported'
  ],
  [
    'repeat count',
    ruleWith('schema: {pattern: "a{2,1001}"}'),
    'g.yaml:12:27: extensions.p.request[0].schema cannot be used: /pattern: the pattern "a{2,1001}" cannot run in linear time: repeat count over 1000 {2,1001} is not supported'
  ],
  [
    'repeat counts that multiply',
    ruleWith('schema: {pattern: "((a{100}){100}){100}"}'),
    'g.yaml:12:27: extensions.p.request[0].schema cannot be used: /pattern: the pattern "((a{100}){100}){100}" is too large: it compiles to 1020202 instructions, more than 5000; use fewer or shorter repetitions'
  ],
  [
    'no regular expression',
    ruleWith('schema: {pattern: "("}'),
    'g.yaml:12:27: extensions.p.request[0].schema cannot be used: /pattern: the pattern "(" is not a valid ECMA-262 regular expression'
  ],
  [
    'values',
    ruleWith(`schema: {enum: [${Array.from({ length: 5_000 }, (_, i) => i).join(', ')}]}`),
    'g.yaml:12:28903: extensions.p.request[0].schema cannot be used: /enum/4998: the schema has more than 5000 values'
  ],
  [
    'levels',
    ruleWith(`schema:\n${Array.from({ length: 70 }, (_, i) => `${' '.repeat(i + 1)}not:\n`).join('')}${' '.repeat(71)}{}`),
    'g.yaml:78:75: extensions.p.request[0].schema cannot be used: /not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not: the schema is nested deeper than 64 levels'
  ],
  [
    'unfolding',
    ruleWith(
      `schema: {$ref: "#/$defs/d0", $defs: {${Array.from({ length: 30 }, (_, i) => `d${i}: {allOf: [{$ref: "#/$defs/d${i + 1}"}, {$ref: "#/$defs/d${i + 1}"}]}`).join(', ')}, d30: {}}}`
    ),
    'g.yaml:12:17: extensions.p.request[0].schema cannot be used: the schema unfolds to more than 50000 steps when its references are followed'
  ],
  [
    'chain',
    ruleWith(
      `schema: {$ref: "#/$defs/d0", $defs: {${Array.from({ length: 600 }, (_, i) => `d${i}: {$ref: "#/$defs/d${i + 1}"}`).join(', ')}, d600: {}}}`
    ),
    'g.yaml:12:17: extensions.p.request[0].schema cannot be used: the references of the schema form a chain longer than 500'
  ],
  [
    'part.match',
    ruleWith('count: {max: 0}').replace('part: {}', 'part: {match: {type: x}}'),
    'g.yaml:11:39: extensions.p.request[0].select.part.match cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values'
  ],
  [
    'when.match and unless.match',
    ruleWith('count: {max: 0}\nwhen: {match: {type: x}}\nunless: {match: {type: y}}'),
    'g.yaml:13:30: extensions.p.request[0].when.match cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values',
    'g.yaml:14:32: extensions.p.request[0].unless.match cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values'
  ],
  [
    'params of a method',
    policyWith('methods:\n  a.b: {params: {type: nonsense}}'),
    'g.yaml:10:28: extensions.p.methods["a.b"].params cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values'
  ],
  [
    'schema of another type',
    ruleWith('count: {max: 0}\nschema: [1]').replace('part: {}', 'part: {match: []}'),
    'g.yaml:11:32: extensions.p.request[0].select.part.match must be a mapping or true or false, not a list',
    'g.yaml:13:17: extensions.p.request[0].schema must be a mapping or true or false, not a list'
  ],
  [
    'ca',
    AGENT.replace('{url: "http:', '{tls: {ca: right.key.pem}, url: "https:'),
    'g.yaml:4:26: agents[0].upstream.tls.ca cannot be used: error:0480006C:PEM routines::no start line (a PEM file of certificates)'
  ],
  [
    'cert',
    AGENT.replace('{url: "http:', '{tls: {cert: right.key.pem, key: right.key.pem}, url: "https:'),
    'g.yaml:4:28: agents[0].upstream.tls.cert cannot be used: error:0480006C:PEM routines::no start line (a PEM file of one certificate and its issuers)'
  ],
  [
    'key of another certificate',
    AGENT.replace('{url: "http:', '{tls: {cert: right.pem, key: wrong.key.pem}, url: "https:'),
    'g.yaml:4:44: agents[0].upstream.tls.key cannot be used: the key does not belong to the certificate (the PEM file of the private key that belongs to cert)'
  ],
  [
    'key that is none',
    AGENT.replace('{url: "http:', '{tls: {cert: right.pem, key: ca.pem}, url: "https:'),
    'g.yaml:4:44: agents[0].upstream.tls.key cannot be used: error:1E08010C:DECODER routines::unsupported (the PEM file of the private key that belongs to cert)'
  ]
]

export const ROWS: Readonly<Record<string, readonly Row[]>> = { YAML, SCHEMA, FORMATS, POLICY, LAYERS, CHECKS: CHECKED, USABLE }
