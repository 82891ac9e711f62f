/**
 * Maps each test file to its suite. A file without an entry belongs to `integration`, so no new file is left out. test/docs/suites.test.ts
 * compares this table with the table of CONTRIBUTING.md.
 */

/**
 * Folders whose files run in groups: one process for each group, because the start of a process costs more CPU than most of these files.
 */
const UNIT_GROUPS = {
  protocol: ['a2a', 'pipeline', 'catalogue', 'state', 'helpers'],
  config: ['config', 'console', 'deploy'],
  policy: ['policy', 'agents/lock'],
  offline: ['offline', 'docs', 'sandbox'],
  wire: ['wire', 'fuzz', 'outcomes', 'runtimes']
}

/**
 * Files of the integration suite that share one process, because the start of a process with the modules of a gateway takes half a second
 * of a core. A file that measures its process, changes the clock or takes long has a process of its own.
 */
const INTEGRATION_GROUPS = {
  advisories: /^security\/(?:CVE|GHSA)-(?!2026-109924)/,
  bypass: /^security\/bypass-/,
  cli: /^cli\/(?!bundled|usage)|^offline\//,
  clients: /^e2e\/(?:responses-(?:bytes|echo|limits|page|removed|schemas)|push|rejections|sdk-direct|sdk-via-gateway)/,
  'cluster-calls': /^cluster\/(?:credentials|decisions|identity|push-per-task|rates|signed-cards|sources|task-owners|tls|unique)/,
  'cluster-processes': /^cluster\/(?:console|handed|late-agent|spread|start|stop)/,
  conformance: /^conformance\//,
  delegation: /^delegation\//,
  differential: /^differential\/(?!grpc-)/,
  faults: /^faults\/(?:dns|leavers|shortage|sigterm|tls)/,
  forwarding: /^gateway\/(?:agent-errors|bodies-apart|compressed-requests|drain|forward-|late-agent|request-timeout|vitals|warm-up)/,
  grpc: /^front\/grpc-(?!corpus)/,
  'grpc-corpora': /^(?:differential|e2e)\/grpc-|^front\/grpc-corpus/,
  identity: /^identity\/(?!keys-source|upstream-)/,
  limits: /^limits\/(?:budgets|concurrency|queue|rates)/,
  mesh: /^front\/mesh-/,
  pause: /^pause\//,
  pages: /^docs\/|^e2e\/(?:demo|examples)/,
  proxy:
    /^gateway\/(?:responses-(?:json|policies|stream)|card-policies|cards-served|directory|edits|extended-card|extension-routes|modes|negotiation|null-bodies|passthrough|routing|turn|untagged-data)/,
  services:
    /^(?:admin|bench\/(?:bodies|idle|open-loop|results|statistics)|cli\/usage|cluster\/(?:cards|how-many)|hostile\/format|plugin\/|security\/(?:coverage-of|envoy|reply-from|secrets|version)|telemetry\/(?:audit|label-shares|logging|metrics|open-metrics|standard-output|otlp-logs|otlp-metrics|trace-context)|upstream\/(?:card-|connection-pool|gate|tls|token-))/,
  sources: /^agents\/(?!lock)|^external\/(?!faults)/,
  states:
    /^gateway\/(?:card-credentials|card-views|cors|dependencies|extended-union|minor-versions|only-grpc|operation-names|public-address|push-|responses-odd|signed-cards|task-own|unexamined-data|unique)/,
  stories: /^e2e\/responses-(?:faults|tasks)/,
  upstream: /^identity\/upstream-/
}

/** Files of those folders that start processes, wait for sockets or files, or measure the coverage of their own process. */
const NOT_UNIT = [
  'config/hostile', 'config/watch', 'console/playground', 'console/tail', 'docs/quick-start', 'docs/callers', 'docs/find-out-why', 'docs/modes', 'docs/first-policy', 'docs/secure-a-gateway', 'docs/readme', 'docs/telemetry-reference', 'fuzz/coverage',
  'config/types', 'offline/cli', 'offline/explain-cli', 'state/redis-misbehaviour'
]

/** Files that run in a process of their own in `npm test`: one end-to-end call for each binding and version. */
const UNIT_FILES = ['e2e/smoke']

/** Processes of the integration suite that also run on each supported version of Node: see runtimes/run.mjs. */
export const PARTS = {
  corpora: ['conformance', 'differential', 'grpc-corpora'],
  hostile: ['advisories', 'bypass', 'hostile/scenarios', 'gateway/hostile-cards', 'config/hostile']
}

const inFolder = (file, folder) => file.startsWith(`${folder}/`)
const unitGroup = file =>
  NOT_UNIT.includes(file) ? undefined : Object.keys(UNIT_GROUPS).find(name => UNIT_GROUPS[name].some(folder => inFolder(file, folder)))

const integrationGroup = file => Object.keys(INTEGRATION_GROUPS).find(name => INTEGRATION_GROUPS[name].test(file))

/** @param file below `test/`, without `.test.ts` */
export function suiteOf (file) {
  if (inFolder(file, 'system')) return 'system'
  if (inFolder(file, 'interop')) return 'interop'
  return UNIT_FILES.includes(file) || unitGroup(file) !== undefined ? 'unit' : 'integration'
}

/**
 * The processes of a suite, or of a part of the integration suite. The slowest processes come first, so that no core is idle at the end.
 * @param files below `test/`, without `.test.ts`
 * @returns a map from the name of each process to its files
 */
export function processesOf (suite, files) {
  if (PARTS[suite] !== undefined) return new Map([...processesOf('integration', files)].filter(([name]) => PARTS[suite].includes(name)))
  const processes = new Map()
  for (const file of files.filter(file => suiteOf(file) === suite)) {
    const name = (suite === 'unit' ? unitGroup(file) : integrationGroup(file)) ?? file
    processes.set(name, [...processes.get(name) ?? [], file])
  }
  const order = SLOW_FIRST.filter(name => processes.has(name))
  return new Map([...order, ...[...processes.keys()].filter(name => !order.includes(name))].map(name => [name, processes.get(name)]))
}

/** The processes that take longest, measured on two cores. */
const SLOW_FIRST = [
  'policy', 'config', 'protocol', 'offline', 'wire',
  'system/container', 'system/redis-outage', 'system/console', 'system/dashboard', 'system/helm',
  'clients', 'hostile/scenarios', 'identity', 'cluster-calls', 'pages', 'gateway/hostile-cards', 'differential', 'bypass', 'grpc', 'grpc-corpora',
  'cluster-processes', 'states', 'forwarding', 'proxy', 'bench/run', 'cli', 'services', 'advisories', 'stories',
  'conform/run', 'conform/faults', 'e2e/responses-slow', 'faults', 'cluster/workers', 'cluster/reload', 'faults/soak', 'bench/parties', 'security/CVE-2026-109924', 'limits',
  'config/hostile', 'cli/bundled', 'gateway/serve-cli', 'faults/table', 'upstream/upstream-failures', 'limits/connections'
]

export const SUITES = {
  unit: { timeout: 300, jobs: cores => cores },
  integration: { timeout: 600, jobs: cores => cores + 1 },
  system: { timeout: 300, jobs: cores => cores + 1 },
  interop: { timeout: 2_400, jobs: cores => cores }
}
