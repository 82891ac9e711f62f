/**
 * One example for each key of a policy, as YAML below the policy's name. The tests check that each example is a valid policy and that no
 * key lacks one.
 */
export const POLICY_EXAMPLES: Readonly<Record<string, string>> = {
  uri: 'uri: https://acme.example/ext/delivery-window/v1',
  uriPattern: 'uriPattern: https://acme.example/ext/*',
  aliases: `
aliases:
  - {uri: https://old.acme.example/delivery-window/v1, relation: same}       # the agent gets the card's URI
  - {uri: https://acme.example/ext/delivery-window/v2, relation: satisfies}  # fulfils the requirement for v1`,
  about: `
about:
  title: Delivery window
  source: https://acme.example/ext/delivery-window/v1
  summary: When a courier may deliver.
  drift: ["The text says \`start\`, every client sends \`from\`: this policy requires \`from\`."]
  notes: [The policy cannot check whether the window is in the future.]`,
  mode: 'mode: observe',
  owns: `
owns:
  metadata: [$uri, $uri/*]           # the extension's URI as a key, and keys that begin with it
  dataKeys: [acme.window.*]
  data: [{path: /type, equals: acme/window}]   # parts whose data has this type
  mediaTypes: [application/vnd.acme.window+json]
  headers: [acme-window]`,
  inactive: `
owns: {metadata: [$uri]}
inactive:
  request: reject                    # reject a window without the extension
  response: strip                    # remove it from responses to clients without the extension`,
  activation: `
owns: {metadata: [$uri]}
activation:
  signals: [header, evidence]        # active if requested, or if there is a window
  required: always                   # even if the card does not require it
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
  onInvalid: refuse                           # do not use the card; default: warn`,
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
    required: false                           # a message without structured parts satisfies the rule
    schema: {fromCard: ["/schemas/{schema}"]}
    error: {undeclared: unsupportedContent}
  - id: slots-of-a-window
    select: {part: {where: {path: /type, equals: acme/window}, path: /slots}}
    schema: {type: array, items: {type: string}}
    required: false
  - id: client-is-named
    select: {header: acme-client}
    required: true                            # as count: {min: 1}
    verdict: warn
  - id: no-change-on-the-way
    select: {metadata: {key: $uri}}
    when: {taskState: [working]}              # the last substate state that the gateway saw; onUnknown decides about unknown tasks
    count: {max: 0}`,
  response: `
request: [{id: window, select: {metadata: {key: $uri}}, required: false, schema: {type: object}}]
response:
  - id: slots                                 # in every result that has a status or an artifact
    select: {metadata: {in: [status, artifact], key: $uri/slots}}
    schema: {type: array, items: {type: string}}
    verdict: reject
  - id: a-window-starts-a-task
    select: {event: first}                    # the result itself, normalised
    when: {requestMatched: window}
    schema: {properties: {type: {const: task}}}
    verdict: annotate
  - id: receipts
    on: [GetTask, SendStreamingMessage]
    select: {part: {in: [artifact], data: true, mediaType: application/json;schema=*}}
    schema: {fromCard: ["/schemas/{schema}"]}
    chunked: false                            # each appended chunk must satisfy the rule
    verdict: strip`,
  state: `
state:
  from: {metadata: {in: [message, status], key: $uri/phase}}   # in requests and in responses
  taskStates: {offered: [input-required], delivered: [completed]}
  transitions:
    '': [offered]                             # the first substate
    offered: [accepted]                       # or offered again, which is no transition
    accepted: [delivered, offered]
    delivered: []                             # the last substate
  monotonic: {metadata: {in: [status], key: $uri/revision}}
  maxVisits: {offered: 3}
  onViolation: reject
  error: {class: conflict}`,
  correlate: `
correlate:
  - id: one-of-the-slots
    remember: {on: response, select: {metadata: {in: [status], key: $uri}}, pick: /slots/*/id}
    check: {on: request, select: {metadata: {in: [message], key: $uri}}, pick: [/slot, /choice/slot], relation: member}
    error: {message: the slot was not offered}`,
  observe: `
observe:
  spanAttributes:
    acme.zone: {metadata: {in: [task], key: $uri/zone}}
  metrics:
    - name: deliveries
      type: counter
      from: {metadata: {in: [task], key: $uri, path: /delivered}}
      by: {from: {metadata: {in: [task], key: $uri, path: /size}}, values: [small, large]}`,
  echo: 'echo: verify',
  inject: `
owns: {metadata: [$uri/*]}
inactive: {request: strip}                    # otherwise clients could send their own value
inject:
  - {metadata: $uri/zone, value: north}       # or fromSecret: {file: /run/secrets/zone}, {env: ZONE}
  - {metadata: $uri/tier, value: gold, existing: keep, when: {taskId: absent}}`,
  integrity: `
integrity: verbatim                           # the request is forwarded unchanged`,
  redact: `
redact: [$uri/token, "$uri#/doors/*/code"]`
}
