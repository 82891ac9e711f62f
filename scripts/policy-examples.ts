/** One example for each key of a policy, as it stands below the policy's name. The tests check that each is a policy, and that none is missing. */
export const POLICY_EXAMPLES: Readonly<Record<string, string>> = {
  uri: 'uri: https://acme.example/ext/delivery-window/v1',
  uriPattern: 'uriPattern: https://acme.example/ext/*',
  aliases: `
aliases:
  - {uri: https://old.acme.example/delivery-window/v1, relation: same}       # asked of the agent under the card's URI
  - {uri: https://acme.example/ext/delivery-window/v2, relation: satisfies}  # counts where v1 is required`,
  about: `
about:
  title: Delivery window
  source: https://acme.example/ext/delivery-window/v1
  summary: When a courier may deliver.
  drift: ["The text says \`start\`, every client sends \`from\`: this policy asks for \`from\`."]
  notes: [Whether the window lies in the future cannot be checked here.]`,
  mode: 'mode: observe',
  owns: `
owns:
  metadata: [$uri, $uri/*]           # the extension's URI as a key, and keys that begin with it
  dataKeys: [acme.window.*]
  mediaTypes: [application/vnd.acme.window+json]
  headers: [acme-window]`,
  inactive: `
owns: {metadata: [$uri]}
inactive: {request: reject}          # a window without asking for the extension is refused`,
  activation: `
owns: {metadata: [$uri]}
activation:
  signals: [header, evidence]        # asking for it makes it active, and so does a window
  required: always                   # whatever the card says
  scope: messages
  requires: [object-schemas]
  onMissing: reject`,
  methods: `
methods:
  windows/list: {need: declared}
  windows/book: {need: active, params: {type: object, required: [from, to]}}`,
  routes: `
routes:
  - {verb: GET, path: /windows, need: declared}
  - {verb: POST, path: "/windows/{day}/book", body: {type: object, required: [from, to]}}`,
  card: `
card:
  params: {type: object, required: [zones]}   # of the declaration in the card
  schema: {required: [skills]}                # of the whole card
  onInvalid: refuse                           # the card is not used; default: warn`,
  request: `
request:
  - id: one-window
    select: {metadata: {in: [message], key: $uri}}
    count: {min: 1, max: 1}
    schema: {type: object, required: [from, to]}
  - id: no-window-for-a-running-task
    on: [SendMessage]
    select: {metadata: {key: $uri}}
    when: {taskId: present}
    count: {max: 0}
    error: {class: conflict, message: the window of a running task cannot be changed}
  - id: orders
    select: {part: {data: true, mediaType: application/json;schema=*}}
    schema: {fromCard: ["/schemas/{schema}"]}
    error: {undeclared: unsupportedContent}
  - id: client-is-named
    select: {header: acme-client}
    count: {min: 1}
    verdict: warn`,
  inject: `
owns: {metadata: [$uri/*]}
inactive: {request: strip}                    # or a client that does not ask could send its own
inject:
  - {metadata: $uri/zone, value: north}       # or fromSecret: {file: /run/secrets/zone}, {env: ZONE}
  - {metadata: $uri/tier, value: gold, existing: keep, when: {taskId: absent}}`,
  integrity: `
integrity: verbatim                           # nothing about such a request is changed`,
  redact: `
redact: [$uri/token, "$uri#/doors/*/code"]`
}
