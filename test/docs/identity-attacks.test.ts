/**
 * The attacks on identity and access that a gateway must withstand, each with the test that carries it out. A test that is renamed or
 * removed leaves its attack here without one, which fails.
 */
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { inTests } from '../helpers/paths.js'

/** The attack, the file below `test/`, and text of the test in it. */
type Row = readonly [attack: string, file: string, needle: string]

const TOKENS: readonly Row[] = [
  ['alg none', 'identity/jwt', 'alg none with a signature'],
  ['HS256 with the public key', 'identity/jwt', 'HS256 with the public key as the secret'],
  ['RS256 token for the kid of an EC key', 'identity/jwt', 'RS256 for the kid of an EC key'],
  ['kid with a path', 'identity/jwt', 'a kid with a path'],
  ['kid with SQL and a newline', 'identity/jwt', 'a kid with SQL and a newline'],
  ['kid of 8 KiB', 'identity/attacks', 'a kid of 8 KiB'],
  ['jku and x5u headers', 'identity/attacks', 'x5u and jku of an attacker'],
  ['jwk header', 'identity/attacks', 'jwk of an attacker under a known kid'],
  ['x5c header', 'identity/attacks', 'x5c with the key of an attacker'],
  ['crit', 'identity/jwt', 'crit: ['],
  ['nested JWE', 'identity/jwt', 'an encrypted token'],
  ['duplicate claims', 'identity/jwt', 'duplicate claims'],
  ['exp as text', 'identity/jwt', 'exp as text'],
  ['exp 1e30', 'identity/jwt', 'exp 1e30'],
  ['no exp', 'identity/jwt', 'no exp'],
  ['nbf in the future', 'identity/jwt', 'nbf in the future'],
  ['a list of audiences', 'identity/jwt', 'a list of audiences'],
  ['a prefix of the audience', 'identity/jwt', 'a prefix of the audience'],
  ['the audience with a trailing slash', 'identity/jwt', 'a trailing slash'],
  ['iss of another source with its key', 'identity/jwt', 'the issuer of the other source'],
  ['the same kid at two issuers', 'identity/provider', 'client credentials of two issuers that share a kid'],
  ['ID token as access token', 'identity/jwt', 'an ID token of Keycloak'],
  ['token of another agent', 'identity/attacks', 'two agents, two audiences, one issuer'],
  ['cnf-bound token as bearer', 'identity/jwt', 'bound by DPoP'],
  ['token of a stolen certificate', 'identity/certificates', 'a stolen token is worth nothing'],
  ['token in the query and in the body', 'identity/jwt', '/rpc?access_token='],
  ['token in a cookie', 'identity/jwt', 'a token in a cookie'],
  ['two Authorization lines', 'identity/attacks', 'two Authorization lines'],
  ['Authorization and an API key', 'identity/attacks', 'a token and an API key'],
  ['bearer with two blanks', 'identity/jwt', 'the scheme in another case, two blanks'],
  ['token of 1 MiB', 'identity/attacks', 'a token of 1 MiB'],
  ['expiry on an open stream', 'identity/attacks', 'a token that expires on an open stream'],
  ['expiry while the token is remembered', 'identity/last-credential', 'a source asks about expiry, key and binding each time']
]

const KEYS: readonly Row[] = [
  ['a flood of unknown kids', 'identity/keys-source', 'unknown keys: one fetch for all, then none for a while'],
  ['a flood of forged tokens', 'identity/flood', 'a flood of forged tokens from one address'],
  ['log lines of a flood', 'identity/flood', 'a flood writes a bounded number of log lines'],
  ['slow keys', 'identity/keys-source', 'a slow issuer: a call waits for 2 s at most'],
  ['endless keys', 'identity/attacks', 'an endpoint that does not end'],
  ['500', 'identity/jwt', "['500', response"],
  ['redirect to a link-local address', 'identity/jwt', 'a redirect to a link-local address'],
  ['HTML', 'identity/jwt', "['HTML', response"],
  ['gzip', 'identity/jwt', "['gzip', response"],
  ['private keys in the set', 'identity/jwt', "['private keys', response"],
  ['10,000 keys', 'identity/attacks', '10,000 keys, in a set that is small enough'],
  ['rotation under load', 'identity/attacks', 'rotation under load'],
  ['a key is revoked while its token is remembered', 'identity/jwt', 'a verified token is remembered; a revoked key takes it along'],
  ['outage past maxStale', 'identity/keys-source', '503 past maxStale, through a gateway']
]

const HEADERS: readonly Row[] = [
  ['XFCC of an untrusted peer', 'identity/certificates', 'no forged header reaches the agent, although the load balancer is trusted'],
  ['XFCC of two elements', 'identity/certificates', 'two elements'],
  ['XFCC with quotes', 'identity/certificates', 'a quote that swallows'],
  ['XFCC with By only', 'identity/certificates', 'only By'],
  ['Client-Cert of a stranger', 'identity/certificates', 'RFC 9440'],
  ['gateway_identity, and Gateway-Identity twice', 'identity/upstream-headers', 'smuggled headers'],
  ['other spellings of credential headers', 'identity/upstream-headers', 'no spelling of a credential header reaches the agent'],
  ['Connection: gateway-identity', 'identity/upstream-headers', '`connection: $'],
  ['Connection: x-api-key', 'identity/attacks', 'Connection: x-api-key changes nothing'],
  ['X-Forwarded-Uri', 'identity/attacks', 'X-Forwarded-Uri and X-Original-Url of a public path']
]

const ACCESS: readonly Row[] = [
  ['another path spelling', 'hostile/scenarios/access-path-spelling.yaml', 'promise:'],
  ['%3A and a trailing slash', 'identity/access-property', "'/rest/north/tasks/1/'"],
  ['case of the method', 'hostile/scenarios/access-method-case.yaml', 'promise:'],
  ['tenant in the path against the body', 'pipeline/access', 'tenants, wherever a request names one'],
  ['JSON-RPC under an entry for an operation', 'identity/access', 'a caller who may not call: 403 in every binding and version'],
  ['preflight with a body', 'identity/api-keys', 'a preflight with a body'],
  ['passthrough around access', 'identity/access-property', 'passthrough: [/docs, /rest]'],
  ['services of grpc.passthrough, and every other call of gRPC', 'front/grpc-nobody', 'no gRPC call reaches an agent without an entry'],
  ['no caller over HTTP', 'identity/nobody', 'no request without a caller reaches an agent'],
  ['no caller over gRPC', 'front/grpc-nobody', 'no gRPC call without a caller reaches an agent'],
  ['expired card with onUnavailable: forward', 'identity/access', 'a card that has expired'],
  ['batch', 'hostile/scenarios/access-batch.yaml', 'promise:'],
  ['a body that nobody can read', 'hostile/scenarios/access-unreadable.yaml', 'promise:'],
  ['notification without id', 'identity/access-property', "fc.constantFrom('\"id\":1,', '\"id\":\"a\",', '\"id\":null,', '')"],
  ['extension active by evidence only', 'policy/callers-property', "'evidence'"],
  ['extension by alias', 'policy/callers-property', 'aliases: ['],
  ['extension by message.extensions', 'policy/callers', 'every signal, every treatment, every binding and version'],
  ['extension injected for a forbidden caller', 'policy/callers', 'the gateway requests nothing for a caller who may not use it'],
  ['method of an extension without activation', 'policy/callers', 'methods and routes']
]

const TASKS: readonly Row[] = [
  ['guessed id, context, reference, push configuration of another', 'gateway/task-ownership', 'strangers cannot tell the task of another caller from none'],
  ['the same over gRPC', 'front/grpc-task-owners', 'strangers cannot tell the task of another caller from none'],
  ['Subscribe before the owner is known', 'gateway/task-owners-responses', 'race: nobody can subscribe to a task before its owner is known'],
  ['ids that differ in case or normalisation', 'gateway/task-ownership', 'ids are compared exactly'],
  ['page token of another caller', 'front/grpc-task-owners', 'a page token of another caller shows no tasks of others'],
  ['wiped store', 'system/redis-owners', 'a wiped store, and a stopped one']
]

const LIMITS: readonly Row[] = [
  ['rotating API keys', 'limits/rates', 'rotating API keys does not help where keys belong to one client'],
  ['addresses of one /64', 'limits/rates', 'addresses: a /64 is one, and proxies say who calls'],
  ['10^6 keys', 'state/limits', 'of 10^6 keys, at most 10^5 count'],
  ['addresses that evict callers', 'state/limits', 'a flood of addresses or of named tenants makes nobody forget a caller'],
  ['clock stepped back', 'system/redis-limits', 'all or nothing, budgets, and a clock that steps back'],
  ['cost overflow', 'limits/budgets', 'a sum that no number can hold stays spent'],
  ['reports of -1 and 1e308', 'limits/budgets', "['1e308', 0]"],
  ['store down', 'system/redis-limits', 'a server that stops responding costs calls one timeout'],
  ['NOSCRIPT', 'system/redis-limits', 'a server that loses its scripts or restarts'],
  ['key in another slot', 'system/redis-limits', 'keys reveal nothing, and are in one slot']
]

const PUSH: readonly Row[] = [
  ['forms of a URL', 'policy/push-url', 'URLs that parsers read differently are rejected'],
  ['userinfo', 'policy/push-url', 'user names, fragments and other schemes are rejected with the reason'],
  ['IDN', 'policy/push-url', 'https://b\\u00fccher.test/'],
  ['port of another service', 'wire/url-pattern', 'scheme, host, port and path of a pattern must match'],
  ['private, local and reserved hosts', 'policy/push-url', 'private, local and reserved hosts'],
  ['rebinding', 'gateway/push-resolve', 'rebinding: a later look-up may find another address'],
  ['NAT64', 'gateway/push-resolve', "'nat64.test'"],
  ['100.64/10', 'gateway/push-resolve', "'shared.test'"],
  ['CR/LF in the token', 'security/bypass-push-urls', 'control characters never'],
  ['configuration in snake_case, and in SendMessage', 'security/bypass-push-urls', 'no place of a request lets a forbidden URL through']
]

const CARDS: readonly Row[] = [
  ['jku of the attacker', 'gateway/signed-cards', 'https://attacker.example/jwks.json'],
  ['HS256 with the key set as secret', 'identity/card-signature', "'HS256'"],
  ['valid signature, changed schemas', 'identity/card-signature', 'changed schemas are not covered'],
  ['signature of another card', 'identity/card-signature', "another agent's signature"],
  ['duplicate members', 'a2a/card-canonical', 'no card with duplicate members is ever parsed'],
  ['deep params', 'identity/card-signature', 'deep params'],
  ['shared cache with a private view', 'gateway/card-views', 'no shared cache may keep a view for others']
]

const EXCHANGE: readonly Row[] = [
  ['token of another caller', 'identity/upstream-tokens', 'another caller never gets the token of the first'],
  ['longer life than the token of the caller', 'upstream/token-source', 'never longer than the token of the caller'],
  ['HTML', 'upstream/token-endpoint', "['HTML', raw"],
  ['redirect', 'upstream/token-endpoint', "['a redirect', raw"],
  ['wider scope', 'upstream/token-endpoint', 'a wider scope'],
  ['Set-Cookie', 'upstream/token-endpoint', 'the gateway keeps no cookies'],
  ['secrets in logs, spans, /agents and console', 'identity/upstream-secrets', 'canaries']
]

/**
 * Not in the list, because no gateway can prevent them: an old signed card that is replayed (docs/how-to/sign-cards.md), and a URL for push
 * notifications that redirects, because the agent sends the notifications (docs/how-to/protect-webhooks.md).
 */
const LISTS = { TOKENS, KEYS, HEADERS, ACCESS, TASKS, LIMITS, PUSH, CARDS, EXCHANGE }

for (const [name, rows] of Object.entries(LISTS)) {
  t.test(`${name.toLowerCase()}: each attack has a test`, async t => {
    const attacks = rows.map(([attack]) => attack)
    t.same(attacks, [...new Set(attacks)], 'each attack once')
    const missing = rows.filter(([, file, needle]) => {
      const path = inTests(...(file.endsWith('.yaml') ? file : `${file}.test.ts`).split('/'))
      return !existsSync(path) || !readFileSync(path, 'utf8').includes(needle)
    })
    t.same(missing, [])
  })
}
