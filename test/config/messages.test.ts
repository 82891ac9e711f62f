/* eslint no-template-curly-in-string: off -- ${VAR} is the configuration's own syntax */
import t from 'tap'
import { formatDiagnostic, parseConfig } from '../../src/config/load.js'

// Every sentence that a configuration can be refused with, as printed: file:line:col: message (hint).

const AGENT = 'version: 1\nagents:\n  - name: a\n    upstream: {url: "http://127.0.0.1:1"}\n'

const agentWith = (lines: string) => AGENT + lines.split('\n').map((line) => `    ${line}\n`).join('')
const policyWith = (lines: string) => `${agentWith('extensions: [p]')}extensions:\n  p:\n    uri: urn:p\n${lines.split('\n').map((line) => `    ${line}\n`).join('')}`
const ruleWith = (lines: string) => policyWith(`request:\n  - id: r\n    select: {part: {}}\n${lines.split('\n').map((line) => `    ${line}`).join('\n')}`)

function lines (text: string, env: NodeJS.ProcessEnv = {}): string[] {
  const result = parseConfig(text, { file: 'g.yaml', baseDir: import.meta.dirname, env })
  return (result.ok ? result.warnings : result.problems).map(formatDiagnostic)
}

type Row = readonly [name: string, text: string, ...expected: string[]]

const YAML: readonly Row[] = [
  ['empty', '', 'g.yaml: the file is empty (it starts with "version: 1")'],
  ['only a comment', '# nothing\n', 'g.yaml: the file is empty (it starts with "version: 1")'],
  ['too large', `version: 1 # ${'x'.repeat(1024 * 1024)}`, 'g.yaml: the file is larger than 1 MiB (is it the configuration?)'],
  ['brackets', `version: 1\nagents: ${'['.repeat(65)}`, 'g.yaml:2:73: brackets are nested deeper than 64 levels (is one of them never closed?)'],
  ['dashes', '- '.repeat(200), 'g.yaml:1:257: indented more than 256 columns'],
  ['indentation', `a:\n${' '.repeat(300)}b: 1\n`, 'g.yaml:2:1: indented more than 256 columns'],
  ['tokens', '#\n'.repeat(250_000), 'g.yaml:200001:1: too many YAML tokens (at most 400000)'],
  ['tag', `${AGENT}limits: !big {}\n`, 'g.yaml:5:9: YAML tags are not supported (quote the value to make it a string)'],
  ['directive', `%YAML 1.1\n---\n${AGENT}`, 'g.yaml:1:1: YAML directives are not supported (remove the line)'],
  ['documents', `${AGENT}---\n${AGENT}`, 'g.yaml:5:1: the file holds more than one YAML document (keep one, without "---" between)'],
  ['syntax', `${AGENT}server: {listen: ":1"\n`, 'g.yaml:6:1: Flow map in block collection must be sufficiently indented and end with a }'],
  ['unquoted variable in brackets', `${AGENT}server: {publicUrl: $\{U}}\n`, 'g.yaml:5:21: "${" inside [ ] or { } must be quoted (write "${VAR}" with the quotes)'],
  ['duplicate key', `version: 1\n${AGENT}`, 'g.yaml:2:1: duplicate key "version"'],
  ['key that is no string', `? [a]\n: 1\n${AGENT}`, 'g.yaml:1:3: keys must be strings'],
  ['merge key', `${AGENT}limits:\n  <<: {}\n`, 'g.yaml:6:3: merge keys ("<<") are not supported (use an alias for a whole value)'],
  ['prototype', `${AGENT}__proto__: {}\n`, 'g.yaml:5:1: unknown key "__proto__"'],
  ['alias without anchor', `${AGENT}limits: *x\n`,
    'g.yaml:5:9: alias *x has no anchor before it', 'g.yaml:5:9: limits must be a mapping, not null (give it a value, or remove the key for the default)'],
  ['alias to itself', `${AGENT}limits: &x {body: *x}\n`,
    'g.yaml:5:19: alias *x contains itself', 'g.yaml:5:19: limits.body must be a size, not null (give it a value, or remove the key for the default)'],
  ['anchor twice', `${AGENT}limits: &x {}\ntelemetry: &x {}\n`, 'g.yaml:6:15: anchor &x is defined twice'],
  ['variable', `${AGENT}server:\n  publicUrl: $\{NOT_SET}\n`, 'g.yaml:6:14: environment variable NOT_SET is not set (set it, or write ${NOT_SET:-default})'],
  ['bad name', `${AGENT}server:\n  publicUrl: $\{1x}\n`, 'g.yaml:6:14: "${1x}" does not name an environment variable (write $$ for a literal $)'],
  ['not closed', `${AGENT}server:\n  publicUrl: "$\{X"\n`, 'g.yaml:6:14: "${" is never closed (write $$ for a literal $)']
]

const SCHEMA: readonly Row[] = [
  ['no mapping', 'hello\n', 'g.yaml:1:1: the configuration must be a mapping, not a string'],
  ['version missing', AGENT.replace('version: 1\n', ''), 'g.yaml:1:1: version is required (such as "version: 1")'],
  ['version', AGENT.replace('version: 1', 'version: 2'), 'g.yaml:1:10: version must be 1, not 2'],
  ['agents missing', 'version: 1\n', 'g.yaml:1:1: agents is required'],
  ['no agents', 'version: 1\nagents: []\n', 'g.yaml:2:9: agents must have at least 1 entry'],
  ['url missing', 'version: 1\nagents: [{name: a, upstream: {}}]\n', 'g.yaml:2:30: agents[0].upstream.url is required (such as "url: http://127.0.0.1:9999")'],
  ['unknown key, near', `${AGENT}sever: {}\n`, 'g.yaml:5:1: unknown key "sever" (did you mean "server"?)'],
  ['unknown key, spelling', agentWith('card: {max_stale: 1h}'), 'g.yaml:5:12: unknown key "max_stale" in agents[0].card (did you mean "maxStale"?)'],
  ['unknown key, far', `${AGENT}server: {x: 1}\n`, 'g.yaml:5:10: unknown key "x" in server (known keys: listen, admin, publicUrl, trustedProxies, drainTimeout)'],
  ['key of a later version', agentWith('responses: observe'), 'g.yaml:5:5: unknown key "responses" in agents[0] (known keys: name, path, host, upstream, card, mode, enforceOn, unlistedExtensions, unknownMethods, extensions, passthrough)'],
  ['null section', `${AGENT}server:\n`, 'g.yaml:5:8: server must be a mapping, not null (give it a value, or remove the key for the default)'],
  ['list for mapping', `${AGENT}server: []\n`, 'g.yaml:5:9: server must be a mapping, not a list'],
  ['mapping for string', agentWith('path: {}'), 'g.yaml:5:11: agents[0].path must be a string, not a mapping'],
  ['number for string', AGENT.replace('name: a', 'name: 7'), 'g.yaml:3:11: agents[0].name must be a string, not the number 7 (put it in quotes)'],
  ['port for address', `${AGENT}server: {listen: 8080}\n`, 'g.yaml:5:18: server.listen must be a string, not the number 8080 (write ":8080" for every interface)'],
  ['string for list', agentWith('extensions: object-schemas'), 'g.yaml:5:17: agents[0].extensions must be a list, not a string (write [object-schemas])'],
  ['string for boolean', `${AGENT}telemetry: {audit: {enabled: yes}}\n`, 'g.yaml:5:30: telemetry.audit.enabled must be true or false, not a string (write true or false, without quotes)'],
  ['boolean for string', agentWith('host: true'), 'g.yaml:5:11: agents[0].host must be a string or null, not true'],
  ['fraction', `${AGENT}limits: {jsonDepth: 1.5}\n`, 'g.yaml:5:21: limits.jsonDepth must be a whole number, not the number 1.5'],
  ['number for duration', `${AGENT}limits: {requestTimeout: 3}\n`, 'g.yaml:5:26: limits.requestTimeout must be a duration, not the number 3 (add a unit, such as "3s")'],
  ['number for size', `${AGENT}limits: {body: 3}\n`, 'g.yaml:5:16: limits.body must be a size, not the number 3 (add a unit, such as "3B")'],
  ['duration without unit', `${AGENT}limits: {requestTimeout: "3"}\n`, 'g.yaml:5:26: limits.requestTimeout must be a duration, not "3" (add a unit, such as "3s")'],
  ['fraction of a second', `${AGENT}limits: {requestTimeout: 1.5s}\n`, 'g.yaml:5:26: limits.requestTimeout must be a duration, not "1.5s" (whole numbers only, such as "1500ms" for 1.5 seconds)'],
  ['no duration', `${AGENT}limits: {requestTimeout: soon}\n`, 'g.yaml:5:26: limits.requestTimeout must be a duration, not "soon" (a whole number and one of ms, s, m, h, such as "1500ms")'],
  ['duration bound', `${AGENT}limits: {requestTimeout: 2h}\n`, 'g.yaml:5:26: limits.requestTimeout must be from 1ms to 1h, not 2h'],
  ['size without unit', `${AGENT}limits: {body: "3"}\n`, 'g.yaml:5:16: limits.body must be a size, not "3" (add a unit, such as "3B")'],
  ['decimal size', `${AGENT}limits: {body: 4mb}\n`, 'g.yaml:5:16: limits.body must be a size, not "4mb" (sizes are binary: write "4MiB")'],
  ['no size', `${AGENT}limits: {body: big}\n`, 'g.yaml:5:16: limits.body must be a size, not "big" (a whole number and one of B, KiB, MiB, GiB, such as "4MiB")'],
  ['size bound', `${AGENT}limits: {body: 1GiB}\n`, 'g.yaml:5:16: limits.body must be from 1B to 256MiB, not 1GiB'],
  ['number bound', `${AGENT}limits: {jsonDepth: 1000}\n`, 'g.yaml:5:21: limits.jsonDepth must be from 1 to 512, not 1000'],
  ['choice', agentWith('mode: enforced'), 'g.yaml:5:11: agents[0].mode must be one of enforce, observe, off, not "enforced" (did you mean "enforce"?)'],
  ['choice, far', agentWith('mode: never'), 'g.yaml:5:11: agents[0].mode must be one of enforce, observe, off, not "never"'],
  ['twice in a list', agentWith('extensions: [object-schemas, object-schemas]'), 'g.yaml:5:34: agents[0].extensions lists "object-schemas" twice'],
  ['too many in a list', `${AGENT}server:\n  trustedProxies: [${Array.from({ length: 1001 }, (_, i) => `10.0.${i >> 8}.${i & 255}`).join(', ')}]\n`, 'g.yaml:6:19: server.trustedProxies must have at most 1000 entries'],
  ['too many policies', `${agentWith('extensions: []')}extensions: {${Array.from({ length: 1001 }, (_, i) => `k${i}`).join(': {uri: "urn:x"}, ')}: {uri: "urn:x"}}\n`, 'g.yaml:6:13: extensions must have at most 1000 keys']
]

const FORMATS: readonly Row[] = [
  ['address', `${AGENT}server: {listen: localhost}\n`, 'g.yaml:5:18: server.listen must be host:port (such as "0.0.0.0:8080", ":8080" or "[::1]:8080")'],
  ['address, port only', `${AGENT}server: {listen: "8080"}\n`, 'g.yaml:5:18: server.listen must be host:port (write ":8080" for every interface)'],
  ['url without scheme', AGENT.replace('http://', ''), 'g.yaml:4:21: agents[0].upstream.url must be an absolute http or https URL (did you mean "http://127.0.0.1:1"?)'],
  ['other scheme', AGENT.replace('http:', 'grpc:'), 'g.yaml:4:21: agents[0].upstream.url must be an absolute http or https URL (such as "http://127.0.0.1:9999")'],
  ['credentials', AGENT.replace('127', 'u:p@127'), 'g.yaml:4:21: agents[0].upstream.url must not carry credentials (they would show in logs)'],
  ['query', AGENT.replace(':1"', ':1/?a"'), 'g.yaml:4:21: agents[0].upstream.url must not have a query (remove "?" and what follows)'],
  ['fragment', AGENT.replace(':1"', ':1/#"'), 'g.yaml:4:21: agents[0].upstream.url must not have a fragment (remove "#" and what follows)'],
  ['relative path', agentWith('path: a'), 'g.yaml:5:11: agents[0].path must start with "/" (write "/a")'],
  ['slashes only', agentWith('path: //'), 'g.yaml:5:11: agents[0].path must not have empty segments (write "/")'],
  ['slash at the end', agentWith('path: /a/'), 'g.yaml:5:11: agents[0].path must not end with "/" (write "/a")'],
  ['empty segment', agentWith('path: /a//b'), 'g.yaml:5:11: agents[0].path must not have empty segments (a single "/" between segments)'],
  ['dot segment', agentWith('path: /a/../b'), 'g.yaml:5:11: agents[0].path must not have "." or ".." segments (write the path they lead to)'],
  ['escaped character', agentWith('path: /a%2fb'), 'g.yaml:5:11: agents[0].path has a character that paths here may not have (A-Z a-z 0-9 - . _ ~ and "/")'],
  ['long path', agentWith(`path: /${'a'.repeat(1024)}`), 'g.yaml:5:11: agents[0].path must have at most 1024 characters'],
  ['passthrough of everything', agentWith('passthrough: [/]'), 'g.yaml:5:19: agents[0].passthrough[0] must not be "/" (name the prefixes to forward)'],
  ['name', AGENT.replace('name: a', 'name: Agent'), 'g.yaml:3:11: agents[0].name must be 1 to 63 of a-z, 0-9 and "-"'],
  ['policy name', `${AGENT}extensions: {A b: {uri: "urn:x"}}\n`, 'g.yaml:5:14: key "A b" in extensions must be 1 to 63 of a-z, 0-9 and "-"'],
  ['host with port', agentWith('host: a:80'), 'g.yaml:5:11: agents[0].host must be a host name or IP address (without scheme or port; IPv6 in brackets)'],
  ['host', agentWith('host: a_b'), 'g.yaml:5:11: agents[0].host must be a host name or IP address (such as "agents.example.com")'],
  ['proxy', `${AGENT}server: {trustedProxies: [10.0.0.0/33]}\n`, 'g.yaml:5:27: server.trustedProxies[0] must be an IP address or CIDR (such as "10.0.0.0/8" or "fd00::/8")'],
  ['mapped proxy', `${AGENT}server: {trustedProxies: ["0:0:0:0:0:ffff:a00:0/104"]}\n`,
    'g.yaml:5:27: server.trustedProxies[0] must not be an IPv4-mapped IPv6 address (write the IPv4 address or CIDR; mapped ones match too much (CVE-2026-92395))'],
  ['uri', policyWith('mode: observe').replace('urn:p', '"urn:p,q"'), 'g.yaml:8:10: extensions.p.uri must be an extension URI (ASCII, without commas, blanks and control characters: it travels in a comma-separated header)'],
  ['pointer', ruleWith('schema: {fromCard: [schemas]}'), 'g.yaml:12:29: extensions.p.request[0].schema.fromCard[0] must be a JSON Pointer into the card (it starts with "/"; "~" is written "~0")'],
  ['media type', ruleWith('count: {max: 0}').replace('part: {}', 'part: {mediaType: json}'),
    'g.yaml:11:36: extensions.p.request[0].select.part.mediaType must be a media type (such as "application/json" or "application/json;schema=*"; only a parameter may be "*")'],
  ['reason', ruleWith('count: {max: 0}\nerror: {reason: no}'), 'g.yaml:13:25: extensions.p.request[0].error.reason must be 1 to 63 of A-Z, 0-9 and "_" (such as "PAYMENT_REQUIRED")'],
  ['file', agentWith('card: {file: ""}'), 'g.yaml:5:18: agents[0].card.file must be the path of a file']
]

const POLICY: readonly Row[] = [
  ['uri missing', `${agentWith('extensions: [p]')}extensions:\n  p: {}\n`, 'g.yaml:7:6: extensions.p.uri is required (such as "uri: https://example.com/ext/v1")'],
  ['uri and pattern', policyWith('uriPattern: urn:*'), 'g.yaml:9:5: extensions.p has both uri and uriPattern (keep one)'],
  ['pattern', policyWith('mode: observe').replace('uri: urn:p', 'uriPattern: "urn:a, urn:b"'), 'g.yaml:8:17: extensions.p.uriPattern must be a pattern of extension URIs ("*" stands for any characters; no commas and blanks)'],
  ['aliases of a pattern', policyWith('aliases: [{uri: urn:q, relation: same}]').replace('uri: urn:p', 'uriPattern: urn:*'), 'g.yaml:9:5: extensions.p has aliases beside uriPattern (aliases are other names of one uri)'],
  ['alias of itself', policyWith('aliases: [{uri: urn:p, relation: same}]'), 'g.yaml:9:21: extensions.p.aliases[0].uri names "urn:p" a second time'],
  ['alias without relation', policyWith('aliases: [{uri: urn:q}]'), 'g.yaml:9:15: extensions.p.aliases[0].relation is required (such as "relation: same")'],
  ['alias of another policy', `${agentWith('extensions: [p, q]')}extensions: {p: {uri: "urn:x"}, q: {uri: "urn:y", aliases: [{uri: "urn:x", relation: same}]}}\n`, 'g.yaml:5:21: policies "p" and "q" are for the same extension (keep one)'],
  ['empty owns', policyWith('owns: {}'), 'g.yaml:9:11: extensions.p.owns must have at least 1 key (known keys: metadata, dataKeys, mediaTypes, headers)'],
  ['signal', policyWith('activation: {signals: [heder]}'), 'g.yaml:9:28: extensions.p.activation.signals[0] must be one of header, listed, evidence, always, not "heder" (did you mean "header"?)'],
  ['evidence of nothing', policyWith('activation: {signals: [header, evidence]}'), 'g.yaml:9:36: extensions.p: evidence is a signal, but there is no owns (say what is the extension\'s own)'],
  ['inactive without owns', policyWith('inactive: {request: reject}'), 'g.yaml:9:25: extensions.p.inactive.request has no effect without owns (say what is the extension\'s own)'],
  ['never inactive', policyWith('owns: {headers: [x]}\nactivation: {signals: [evidence]}\ninactive: {request: reject}'), 'g.yaml:11:25: extensions.p.inactive.request has no effect: the signal evidence activates the extension wherever its data is (remove one of them)'],
  ['injected duties', policyWith('activation: {default: inject}\nrequest: [{id: r, select: {header: x}, count: {min: 1}}]'), 'g.yaml:9:27: extensions.p: injection of an extension whose client has duties: rule "r" needs what the client may not send (remove default: inject or the lower bound, or supply it with inject)'],
  ['onMissing alone', policyWith('activation: {onMissing: add}'), 'g.yaml:9:18: extensions.p.activation.onMissing has no effect without requires'],
  ['requires nobody', policyWith('activation: {requires: [object-schema]}'), 'g.yaml:9:29: no policy is named "object-schema" (did you mean "object-schemas"?)'],
  ['requires itself', policyWith('activation: {requires: [p]}'), 'g.yaml:9:29: policy "p" requires itself (remove it)'],
  ['a circle', `${agentWith('extensions: [p, q, r]')}extensions:\n  p: {uri: "urn:p", activation: {requires: [q]}}\n  q: {uri: "urn:q", activation: {requires: [r]}}\n  r: {uri: "urn:r", activation: {requires: [p, q]}}\n`,
    'g.yaml:7:45: policies "p" and "q" require each other (remove one of the two)',
    'g.yaml:8:45: policies "q" and "r" require each other (remove one of the two)',
    'g.yaml:9:45: policies "r" and "p" require each other (remove one of the two)',
    'g.yaml:9:48: policies "r" and "q" require each other (remove one of the two)'],
  ['method of A2A', policyWith('methods: {tasks/get: {}}'), 'g.yaml:9:15: extensions.p.methods: "tasks/get" is an operation of A2A (write rules with on)'],
  ['method name', policyWith('methods: {a b: {}}'), 'g.yaml:9:15: key "a b" in extensions.p.methods must be the name of a JSON-RPC method'],
  ['method need', policyWith('methods: {a: {need: activ}}'), 'g.yaml:9:25: extensions.p.methods.a.need must be one of active, declared, none, not "activ" (did you mean "active"?)'],
  ['select missing', policyWith('request: [{id: r, count: {max: 0}}]'), 'g.yaml:9:15: extensions.p.request[0].select is required'],
  ['empty select', policyWith('request: [{id: r, select: {}, count: {max: 0}}]'), 'g.yaml:9:31: extensions.p.request[0].select must have at least 1 key (known keys: part, metadata, header, pointer)'],
  ['two selectors', policyWith('request: [{id: r, select: {part: {}, header: x}, count: {max: 0}}]'), 'g.yaml:9:31: extensions.p.request[0].select must have at most 1 key'],
  ['metadata without key', policyWith('request: [{id: r, select: {metadata: {}}, count: {max: 0}}]'), 'g.yaml:9:42: extensions.p.request[0].select.metadata.key is required (such as "key: $uri")'],
  ['misspelled $uri', policyWith('request: [{id: r, select: {metadata: {key: $uris}}, count: {max: 0}}]'), 'g.yaml:9:48: extensions.p.request[0].select.metadata.key must be "$uri", or "$uri/" and what follows (it stands for the extension\'s URI)'],
  ['empty name', policyWith('request: [{id: r, select: {part: {dataKey: ""}}, count: {max: 0}}]'), 'g.yaml:9:48: extensions.p.request[0].select.part.dataKey must have from 1 to 512 characters'],
  ['header name', policyWith('request: [{id: r, select: {header: "a b"}, count: {max: 0}}]'), 'g.yaml:9:40: extensions.p.request[0].select.header must be the name of a header'],
  ['select pointer', policyWith('request: [{id: r, select: {pointer: message}, count: {max: 0}}]'), 'g.yaml:9:41: extensions.p.request[0].select.pointer must be a JSON Pointer (it starts with "/"; "~" is written "~0")'],
  ['equals a mapping', policyWith('request: [{id: r, select: {metadata: {key: a, equals: {}}}, count: {max: 0}}]'), 'g.yaml:9:59: extensions.p.request[0].select.metadata.equals must be a string or a number or true or false, not a mapping'],
  ['empty condition', ruleWith('count: {max: 0}\nwhen: {}'), 'g.yaml:13:15: extensions.p.request[0].when must have at least 1 key (known keys: taskId, contextId, listed, match)'],
  ['when and unless', ruleWith('count: {max: 0}\nwhen: {taskId: present, listed: true}\nunless: {listed: true, taskId: present}'), 'g.yaml:14:9: extensions.p.request[0]: when and unless are the same (the rule would never apply)'],
  ['unknown operation', ruleWith('count: {max: 0}\non: [SendMessages]'), 'g.yaml:13:14: extensions.p.request[0].on[0] must be one of SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, SubscribeToTask, CreateTaskPushNotificationConfig, GetTaskPushNotificationConfig, ListTaskPushNotificationConfigs, DeleteTaskPushNotificationConfig, GetExtendedAgentCard, all, not "SendMessages" (did you mean "SendMessage"?)'],
  ['operation without message', ruleWith('count: {max: 0}\non: [SendMessage, GetTask]'), 'g.yaml:13:27: extensions.p.request[0].on[1]: GetTask carries no message (select a header, a pointer or the metadata of params)'],
  ['verdict', ruleWith('count: {max: 0}\nverdict: warned'), 'g.yaml:13:18: extensions.p.request[0].verdict must be one of reject, warn, strip, not "warned"'],
  ['no source and more', ruleWith('schema: {fromCard: [/a], type: object}'), 'g.yaml:12:34: unknown key "type" in extensions.p.request[0].schema (known keys: fromCard)'],
  ['empty count', ruleWith('count: {}'), 'g.yaml:12:16: extensions.p.request[0].count must have at least 1 key (known keys: min, max)'],
  ['crossed count', ruleWith('count: {min: 2, max: 1}'), 'g.yaml:12:22: extensions.p.request[0].count.min must not be above max, 1'],
  ['negative count', ruleWith('count: {max: -1}'), 'g.yaml:12:22: extensions.p.request[0].count.max must be from 0 to 100000, not -1'],
  ['rule without effect', policyWith('request: [{id: r, select: {part: {}}}]'), 'g.yaml:9:15: extensions.p.request[0] needs count or schema (a rule without them checks nothing)'],
  ['same rule id', policyWith('request: [{id: r, select: {part: {}}, schema: true}, {id: r, select: {part: {}}, schema: true}]'), 'g.yaml:9:63: two rules of this policy have the id "r"'],
  ['long message', ruleWith(`count: {max: 0}\nerror: {message: ${'x'.repeat(501)}}`), 'g.yaml:13:26: extensions.p.request[0].error.message must have from 1 to 500 characters'],
  ['unknown policy, near', agentWith('extensions: [object-schema]'), 'g.yaml:5:18: no policy is named "object-schema" (did you mean "object-schemas"?)'],
  ['policy named like a property', agentWith('extensions: [constructor]'), /^g\.yaml:5:18: no policy is named "constructor" \(known policies: .*\bobject-schemas\b.*\)$/.source],
  ['one extension twice', `${agentWith('extensions: [p, q]')}extensions: {p: {uri: "urn:x"}, q: {uri: "urn:x"}}\n`, 'g.yaml:5:21: policies "p" and "q" are for the same extension (keep one)']
]

const OVERLAY = 'extensions:\n  object-schemas:\n'

const LAYERS: readonly Row[] = [
  ['no URI, near the catalogue', `${agentWith('extensions: [object-schema]')}extensions: {object-schema: {mode: observe}}\n`, 'g.yaml:6:29: extensions.object-schema.uri is required (or did you mean the catalogue\'s "object-schemas"?)'],
  ['no URI, far from it', `${agentWith('extensions: [p]')}extensions: {p: {mode: observe}}\n`, 'g.yaml:6:17: extensions.p.uri is required (such as "uri: https://example.com/ext/v1")'],
  ['fault of the overlay in the file', `${agentWith('extensions: [object-schemas]')}${OVERLAY}    activation: {signals: [evidence]}\n`, 'g.yaml:8:28: extensions.object-schemas: evidence is a signal, but there is no owns (say what is the extension\'s own)'],
  ['fault of the agent\'s overlay', agentWith('extensions: [{object-schemas: {activation: {signals: [evidence]}}}]'), 'g.yaml:5:59: agents[0].extensions[0].object-schemas: evidence is a signal, but there is no owns (say what is the extension\'s own)'],
  ['one fault, told once', `${agentWith('extensions: [{object-schemas: {mode: off}}]')}${OVERLAY}    activation: {signals: [evidence]}\n`, 'g.yaml:8:28: extensions.object-schemas: evidence is a signal, but there is no owns (say what is the extension\'s own)'],
  ['a lower layer contradicted by the agent\'s', `${agentWith('extensions: [{p: {request: [{id: r, select: {header: x}, count: {min: 1}}]}}]')}extensions:\n  p:\n    uri: urn:p\n    activation: {default: inject}\n`,
    'g.yaml:9:27: extensions.p: injection of an extension whose client has duties: rule "r" needs what the client may not send (remove default: inject or the lower bound, or supply it with inject)'],
  ['an overlay over the catalogue\'s part', agentWith('extensions: [{object-schemas: {uriPattern: "urn:*"}}]'), 'g.yaml:5:36: agents[0].extensions[0].object-schemas has both uri and uriPattern (keep one)'],
  ['overlay of nobody', agentWith('extensions: [{object-schema: {mode: off}}]'), 'g.yaml:5:18: no policy is named "object-schema" (did you mean "object-schemas"?)'],
  ['unknown key of an overlay', agentWith('extensions: [{object-schemas: {mod: off}}]'), /^g\.yaml:5:36: unknown key "mod" in agents\[0\]\.extensions\[0\]\.object-schemas \(did you mean "mode"\?\)$/.source],
  ['overlay of two', agentWith('extensions: [{object-schemas: {}, p: {}}]'), 'g.yaml:5:18: agents[0].extensions[0] must have at most 1 key'],
  ['overlay of none', agentWith('extensions: [{}]'), 'g.yaml:5:18: agents[0].extensions[0] must have at least 1 key'],
  ['overlay that is null', agentWith('extensions: [{object-schemas: }]'), 'g.yaml:5:35: agents[0].extensions[0].object-schemas must be a mapping, not null (give it a value, or remove the key for the default)'],
  ['policy that is a number', agentWith('extensions: [3]'), 'g.yaml:5:18: agents[0].extensions[0] must be a string or a mapping, not the number 3'],
  ['named twice', agentWith('extensions: [object-schemas, {object-schemas: {mode: off}}]'), 'g.yaml:5:34: agents[0].extensions lists "object-schemas" twice'],
  ['overlay that makes twins', `${agentWith('extensions: [p, {q: {uri: "urn:p"}}]')}extensions: {p: {uri: "urn:p"}, q: {uri: "urn:q"}}\n`, 'g.yaml:5:21: policies "p" and "q" are for the same extension (keep one)'],
  ['overlay that requires nobody', agentWith('extensions: [{object-schemas: {activation: {requires: [x40]}}}]'), /^g\.yaml:5:60: no policy is named "x40" \(.*\)$/.source],
  ['overlay that closes a circle', `${agentWith('extensions: [p, {q: {activation: {requires: [p]}}}]')}extensions: {p: {uri: "urn:p", activation: {requires: [q]}}, q: {uri: "urn:q"}}\n`, 'g.yaml:5:50: policies "q" and "p" require each other (remove one of the two)'],
  ['warning: unused overlay', `${agentWith('extensions: []')}${OVERLAY}    mode: off\n`, 'g.yaml:7:3: policy "object-schemas" is in force for no agent (name it in an agent\'s extensions)']
]

const CHECKS: readonly Row[] = [
  ['same listeners', `${AGENT}server: {listen: ":80", admin: "0.0.0.0:80"}\n`, 'g.yaml:5:32: server.listen and server.admin are the same address (the admin listener needs one of its own)'],
  ['same name', `${AGENT}  - {name: a, path: /b, upstream: {url: "http://h"}}\n`, 'g.yaml:5:12: agents[0] and agents[1] have the same name, "a"'],
  ['same path', `${AGENT}  - {name: b, upstream: {url: "http://h"}}\n`, 'g.yaml:5:5: agents[0] and agents[1] have the same host and path, / (give each its own)'],
  ['same host and path', `${agentWith('host: H.example\npath: /x')}  - {name: b, host: h.EXAMPLE, path: /x, upstream: {url: "http://h"}}\n`, 'g.yaml:7:38: agents[0] and agents[1] have the same host and path, /x (give each its own)'],
  ['card twice', agentWith('card: {url: "http://h/c", file: messages.test.ts}'), 'g.yaml:5:31: agents[0].card has both url and file (keep one)'],
  ['card missing', agentWith('card: {file: nope.json}'), 'g.yaml:5:18: agents[0].card.file: cannot read "nope.json": no such file (paths are relative to the configuration file)'],
  ['card a directory', agentWith('card: {file: .}'), 'g.yaml:5:18: agents[0].card.file: cannot read ".": not a file (paths are relative to the configuration file)'],
  ['ca missing', AGENT.replace('{url: "http:', '{tls: {ca: no.pem}, url: "https:'), 'g.yaml:4:26: agents[0].upstream.tls.ca: cannot read "no.pem": no such file (paths are relative to the configuration file)'],
  ['cert alone', AGENT.replace('{url: "http:', '{tls: {cert: messages.test.ts}, url: "https:'), 'g.yaml:4:28: agents[0].upstream.tls.cert needs key beside it'],
  ['key alone', AGENT.replace('{url: "http:', '{tls: {key: messages.test.ts}, url: "https:'), 'g.yaml:4:27: agents[0].upstream.tls.key needs cert beside it'],
  ['card passed through', agentWith('passthrough: [/static, /.well-known]'), 'g.yaml:5:28: agents[0].passthrough[1] must not cover the card at /.well-known/agent-card.json (the gateway serves it)'],
  ['old card passed through', agentWith('passthrough: [/.well-known/agent.json]'), 'g.yaml:5:19: agents[0].passthrough[0] must not cover the card at /.well-known/agent.json (the gateway serves it)'],
  ['warning: everyone trusted', `${AGENT}server: {trustedProxies: [0.0.0.0/0]}\n`, 'g.yaml:5:27: "0.0.0.0/0" trusts the X-Forwarded-* headers of every client (name the proxies in front)'],
  ['warning: tls on http', AGENT.replace('{url', '{tls: {serverName: h}, url'), 'g.yaml:4:16: agents[0].upstream.tls has no effect on an http URL (write https)'],
  ['warning: unused policy', `${AGENT}extensions:\n  p: {uri: "urn:x"}\n`, 'g.yaml:6:3: policy "p" is in force for no agent (name it in an agent\'s extensions)']
]

for (const [group, rows] of Object.entries({ YAML, SCHEMA, FORMATS, POLICY, LAYERS, CHECKS })) {
  t.test(group, t => {
    for (const [name, text, ...expected] of rows) {
      if (expected[0]?.startsWith('^')) t.match(lines(text), [new RegExp(expected[0])], name)
      else t.same(lines(text), expected, name)
    }
    t.end()
  })
}

t.test('a hundred problems are listed, the rest counted', t => {
  const keys = Array.from({ length: 150 }, (_, index) => `k${index}: 1\n`).join('')
  const printed = lines(AGENT + keys)
  t.equal(printed.length, 101)
  t.equal(printed[0]?.startsWith('g.yaml:5:1: unknown key "k0"'), true)
  t.equal(printed[100], 'g.yaml: 50 more problems not shown')
  t.end()
})

t.test('all problems come at once, in the order of the file', t => {
  t.same(lines('version: 2\nserver: {lisen: 1}\nagents:\n  - upstream: {url: "${NOPE}", timeouts: {connect: 3}}\n'), [
    'g.yaml:1:10: version must be 1, not 2',
    'g.yaml:2:10: unknown key "lisen" in server (did you mean "listen"?)',
    'g.yaml:4:5: agents[0].name is required (such as "name: eightball")',
    'g.yaml:4:21: environment variable NOPE is not set (set it, or write ${NOPE:-default})',
    'g.yaml:4:52: agents[0].upstream.timeouts.connect must be a duration, not the number 3 (add a unit, such as "3s")'
  ])
  t.end()
})
