/**
 * Small faults: the file below `src/`, the text that occurs once, the text that replaces it, and a part of the path of the nearest test
 * where the name of the source does not lead to that test.
 */
export const MUTATIONS = [
  [
    'policy/request/evaluate.ts',
    'policy.names.includes(request.requested, extension.uri) || injected.includes(extension.uri)',
    'policy.names.includes(request.requested, extension.uri) || !injected.includes(extension.uri)',
    'policy/activation'
  ],
  ['policy/request/requested.ts', 'requested.length > policy.maxExtensions', 'requested.length > policy.maxExtensions + 1'],
  ['policy/request/evaluate.ts', 'view.tenant !== pathTenant', 'view.tenant === pathTenant'],
  [
    'policy/request/requested.ts',
    "policy.mode === 'observe' ? requested : requested.filter",
    "policy.mode === 'enforce' ? requested : requested.filter"
  ],
  ['policy/request/requested.ts', "if (policy.unlisted === 'reject') {", "if (policy.unlisted === 'strip') {"],
  ['policy/request/methods.ts', "declared || need === 'none'", 'declared'],
  ['policy/request/methods.ts', '!needsActive || missing.includes(uri)', '!needsActive || !missing.includes(uri)'],
  ['policy/task/correlate.ts', 'if (first && places.length > before) break', 'if (first && places.length < before) break'],
  ['policy/task/correlate.ts', 'values.length === before.length ? null', 'values.length <= before.length ? null'],
  ['policy/task/correlate.ts', "relation === 'equalSet' && sent.has(digest)", "relation === 'member' && sent.has(digest)"],
  ['policy/task/state.ts', 'visits <= max ||', 'visits <= max + 1 ||'],
  ['policy/task/state.ts', "if (holds || this.mode !== 'enforce') memory.set(field, now)", 'memory.set(field, now)'],
  ['jsonschema/keyword-functions.ts', '.sort()', ''],
  ['policy/request/untagged.ts', '!part.isData || claims.some', 'part.isData || claims.some'],
  ['identity/certificate/certificates.ts', 'if (behindProxy) return firstCertificate', '', 'identity/certificate-parts'],
  ['identity/certificate/certificate-source.ts', 'names.uri.length === 1 ?', 'names.uri.length > 0 ?', 'identity/certificate-parts'],
  ['identity/certificate/xfcc.ts', 'elements?.length === hops', 'elements?.length >= hops', 'identity/certificate-parts'],
  ['identity/certificate/certificates.ts', 'x509.raw.equals(bytes)', 'true', 'identity/certificate-parts'],
  ['identity/jwt-source.ts', 'hit.boundTo !== null && hit.boundTo !== certificate', 'false', 'identity/certificates'],
  ['wire/json/duplicate.ts', 'earlier.has(name)', 'earlier.size > 1 && earlier.has(name)', 'wire/json'],
  ['wire/web-assembly.ts', 'memory.holder = 0', '', 'wire/structural-scan'],
  ['jsonschema/bytes/scalars.ts', 'if (min === over && over', 'if (min < over && over', 'policy/bytes-checker'],
  ['jsonschema/bytes/data-validator.ts', 'if (program.compares && hasInexactNumbers()) return false', '', 'policy/unread-data'],
  ['wire/json/unread-value.ts', 'members: limits.members - members', 'members: limits.members', 'policy/unread-data'],
  ['wire/shared-memory.ts', ' && bytes.length === used.size', '', 'wire/structural-scan'],
  ['wire/target.ts', 'byte === SLASH || byte === BACKSLASH', 'byte === SLASH'],
  ['wire/target.ts', 'const MAX_LENGTH = 8192', 'const MAX_LENGTH = 8292'],
  ['wire/ip.ts', 'code > 0x39 || part === 0', 'code > 0x39'],
  ['wire/ip.ts', 'if (isV4(network.address) !== isV4(address)) return false', ''],
  ['wire/header-list.ts', 'while (end > first && isBlank(line.charCodeAt(end - 1))) end--', ''],
  ['wire/forwarded.ts', "name === 'forwarded' || ", ''],
  ['wire/sse/split.ts', 'if (this.scan.unfinished === DATA) this.sawData(this.heldLength)', ''],
  ['upstream/via.ts', 'via.includes(PSEUDONYM)', 'via === PSEUDONYM', 'gateway/passthrough'],
  ['agents/card/card-cache.ts', 'Math.max(0, lifetime - age)', 'lifetime'],
  ['agents/card/card-cache.ts', 'options.maxStale / 2', 'options.maxStale'],
  ['upstream/connection-queue.ts', 'if (this.full) return', 'if (!this.full) return'],
  ['upstream/failure.ts', "if (kind === 'reset') fallback = kind", "if (kind === 'reset') return 'other'"],
  ['pipeline/upstream-headers.ts', "if (negotiated?.read === true) out.push('accept-encoding', 'identity')", '', 'gateway/forward-headers'],
  [
    'pipeline/upstream-headers.ts',
    "else if (negotiated.stated) out.push(VERSION_HEADER, '0.3')",
    "else out.push(VERSION_HEADER, '0.3')",
    'gateway/forward-headers'
  ],
  [
    'pipeline/echo.ts',
    'name === EXTENSIONS_HEADER || name === LEGACY_EXTENSIONS_HEADER',
    'name === EXTENSIONS_HEADER',
    'gateway/negotiation'
  ],
  ['agents/concurrency-limit.ts', 'this.streams >= limits.streams', 'this.streams > limits.streams', 'limits/concurrency'],
  ['call/memory-budget.ts', 'this.held -= bytes', 'this.held -= 0', 'limits/memory'],
  ['front/listener/slow-readers.ts', 'before?.taken === taken ? before', 'before !== undefined ? before', 'limits/slow-readers'],
  ['call/overload.ts', "['eventLoopDelay', late && this.late]", "['eventLoopDelay', late]", 'limits/shedding'],
  ['state/memory-store.ts', 'this.total -= entry.length', 'this.total -= 0'],
  [
    'telemetry/redact.ts',
    "if (typeof item === 'string' && SECRET.has(item.toLowerCase())",
    "if (typeof item === 'string' && SECRET.has(item)"
  ],
  [
    'console/guard.ts',
    "site === undefined || site === 'same-origin' || site === 'none'",
    "site === undefined || site === 'same-origin' || site !== 'cross-site'",
    'console/routes'
  ],
  ['server/cluster/how-many.ts', 'Math.max(1, Math.min(available, Math.ceil(quota)))', 'Math.max(1, Math.min(available, Math.floor(quota)))'],
  ['cli/test.ts', 'if (broken) return UNUSABLE', 'if (broken) return FAILED', 'offline/cli'],
  ['call/outcome.ts', "exchange.agentFailed ? 'agent_error' : 'client_aborted'", "'upstream_error'", 'gateway/forward-abort'],
  ['agents/agent-registry.ts', '[name, age()]', '[name, null]', 'identity/jwt'],
  ['pipeline/rejections.ts', 'The request target is rejected: ${reason}.', 'The request target is rejected.', 'security/CVE-2026-85124'], // eslint-disable-line no-template-curly-in-string
  ['server/cluster/worker.ts', 'buildServing(config, { env, worker, keeper', 'buildServing(config, { env, keeper', 'cluster/rates'],
  ['a2a/task-id.ts', "taskId ?? (call.version === '0.3' ? id : null) ?? ofName", 'taskId ?? id ?? ofName']
]
