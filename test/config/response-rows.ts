import type { Row } from './rows.js'
import { AGENT, policyWith } from './rows.js'

// Every sentence about answers and the memory of tasks, as printed: file:line:col: message (hint).

const responding = (select: string, more = 'schema: true'): string => policyWith(`response: [{id: r, select: ${select}, ${more}}]`)
const correlating = (remember: string, check: string, more = ''): string =>
  policyWith(`correlate:\n  - id: c\n    remember: {${remember}}\n    check: {${check}}${more === '' ? '' : `\n    ${more}`}`)
const STATUS = 'on: response, select: {metadata: {in: [status], key: s}}'
const MESSAGE = 'on: request, select: {metadata: {in: [message], key: s}}'
const META = 'not valid against its meta-schema: must be equal to one of the allowed values'
const agents = (lines: string, policies: string): string =>
  `version: 1\nagents:\n  - {name: a, upstream: {url: "http://127.0.0.1:1"}, ${lines}}\nextensions:\n  p: {uri: "urn:p", ${policies}}\n`

const RULES: readonly Row[] = [
  [
    'rule that checks nothing',
    responding('{part: {}}', 'verdict: warn'),
    'g.yaml:9:16: extensions.p.response[0] needs count, required, schema or external (a rule without them checks nothing)'
  ],
  [
    'place of requests',
    responding('{metadata: {in: [params], key: a}}'),
    'g.yaml:9:49: extensions.p.response[0].select.metadata.in[0] must be one of message, status, artifact, task, event, part, not "params"'
  ],
  [
    'header of an answer',
    responding('{header: x}'),
    'g.yaml:9:33: unknown key "header" in extensions.p.response[0].select (known keys: part, metadata, event, result)'
  ],
  [
    'place of answers in a request',
    policyWith('request: [{id: r, select: {metadata: {in: [status], key: a}}, count: {max: 0}}]'),
    'g.yaml:9:48: extensions.p.request[0].select.metadata.in[0] must be one of message, params, part, not "status"'
  ],
  [
    'places of parts of a request',
    policyWith('request: [{id: r, select: {part: {in: [artifact]}}, count: {max: 0}}]'),
    'g.yaml:9:39: unknown key "in" in extensions.p.request[0].select.part (known keys: data, mediaType, dataKey, where, path, match, captures, take)'
  ],
  [
    'event of a request',
    policyWith('request: [{id: r, select: {event: first}, count: {max: 0}}]'),
    'g.yaml:9:32: unknown key "event" in extensions.p.request[0].select (known keys: part, metadata, header, pointer)'
  ],
  [
    'annotate a request',
    policyWith('request: [{id: r, select: {part: {}}, count: {max: 0}, verdict: annotate}]'),
    'g.yaml:9:69: extensions.p.request[0].verdict must be one of reject, warn, strip, not "annotate"'
  ],
  [
    'class of an answer',
    responding('{part: {}}', 'schema: true, error: {class: invalid}'),
    'g.yaml:9:66: unknown key "class" in extensions.p.response[0].error (known keys: message, reason)'
  ],
  [
    'operation without tasks',
    responding('{part: {}}', 'schema: true, on: [GetExtendedAgentCard]'),
    'g.yaml:9:63: extensions.p.response[0].on[0] must be one of SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, SubscribeToTask, not "GetExtendedAgentCard" (list a method of the extension in methods first)'
  ],
  [
    'a method that the policy does not have',
    policyWith('methods: {"x/get": {}}\nresponse: [{id: r, on: [x/gett], select: {result: ""}, schema: true}]'),
    'g.yaml:10:29: extensions.p.response[0].on[0] must be one of SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, SubscribeToTask, x/get, not "x/gett" (did you mean "x/get"?)'
  ],
  [
    'result of operations',
    policyWith('response: [{id: r, on: [GetTask], select: {result: a}, schema: true}, {id: s, select: {result: /a}, schema: true}]'),
    'g.yaml:9:29: extensions.p.response[0].on[0]: result selects from the results of extension methods, not of operations (select a part, metadata or event)',
    'g.yaml:9:56: extensions.p.response[0].select.result must be a JSON Pointer (it starts with "/"; "" is the result itself)',
    'g.yaml:9:92: extensions.p.response[1].select.result needs on (name methods of the policy)'
  ],
  [
    'conditions of a result',
    policyWith('methods: {"x/get": {}}\nresponse: [{id: r, on: [x/get], select: {result: /a}, when: {taskState: [working]}, schema: true}]'),
    'g.yaml:10:66: extensions.p.response[0].when.taskState: the result of a method is neither a task nor a message (use requestMatched or active)'
  ],
  [
    'event',
    responding('{event: final}'),
    'g.yaml:9:40: extensions.p.response[0].select.event must be one of first, terminal, last, not "final"'
  ],
  [
    'two of an event',
    responding('{event: first}', 'count: {min: 2}'),
    'g.yaml:9:61: extensions.p.response[0].count.min can never be satisfied: event selects one value at most (write 1)'
  ],
  [
    'one of an event',
    responding('{event: first}', 'count: {min: 1}'),
    'g.yaml:9:48: extensions.p.response[0].count is always satisfied: event selects exactly one result (use schema to validate the result, or write max: 0)'
  ],
  [
    'two of the first',
    responding('{part: {take: first}}', 'count: {min: 2}'),
    'g.yaml:9:68: extensions.p.response[0].count.min can never be satisfied: take: first selects one value at most (write 1)'
  ],
  [
    'strip an event',
    responding('{event: first}', 'schema: true, verdict: strip'),
    'g.yaml:9:40: extensions.p.response[0].select.event: verdict strip cannot remove a whole result (reject it instead, or select parts or metadata)'
  ],
  [
    'strip and a lower bound',
    responding('{part: {}}', 'count: {min: 1}, verdict: strip'),
    'g.yaml:9:52: extensions.p.response[0].count.min: verdict strip cannot satisfy a lower bound, because it only removes values (put the lower bound into a separate rule)'
  ],
  [
    'strip the first',
    responding('{part: {take: first}}', 'schema: true, verdict: strip'),
    'g.yaml:9:46: extensions.p.response[0].select.part.take: verdict strip applies to all parts: if one is removed, the next takes its place without an evaluation (remove take)'
  ],
  [
    'no schema looked at',
    responding('{part: {}}', 'count: {max: 0}, schema: true'),
    'g.yaml:9:61: extensions.p.response[0].schema is never used: count.max is 0, so every selected value is rejected (remove one of the two)'
  ],
  [
    'matched by nothing, near',
    policyWith(
      'request: [{id: orders, select: {part: {}}, schema: true}]\nresponse: [{id: r, select: {part: {}}, schema: true, when: {requestMatched: order}}]'
    ),
    'g.yaml:10:81: extensions.p.response[0].when.requestMatched: no rule in request is named "order" (did you mean "orders"?)'
  ],
  [
    'matched by nothing, far',
    policyWith(
      'request: [{id: orders, select: {part: {}}, schema: true}]\nresponse: [{id: r, select: {part: {}}, schema: true, unless: {requestMatched: r}}]'
    ),
    'g.yaml:10:83: extensions.p.response[0].unless.requestMatched: no rule in request is named "r" (request rules: orders)'
  ],
  [
    'matched where there are no rules',
    responding('{part: {}}', 'schema: true, when: {requestMatched: x}'),
    'g.yaml:9:81: extensions.p.response[0].when.requestMatched: no rule in request is named "x" (this policy has none)'
  ],
  [
    'matched in a request',
    policyWith('request: [{id: r, select: {part: {}}, count: {max: 0}, when: {requestMatched: r}}]'),
    'g.yaml:9:67: unknown key "requestMatched" in extensions.p.request[0].when (known keys: taskId, contextId, listed, active, caller, match, taskState)'
  ],
  [
    'event of a task that goes on',
    responding('{event: terminal}', 'schema: true, when: {taskState: [working, input-required]}'),
    'g.yaml:9:83: extensions.p.response[0].when.taskState can never match: an event is not terminal in any of these states (the rule would never apply)'
  ],
  [
    'unless covers when',
    responding('{part: {}}', 'schema: true, when: {taskState: [failed]}, unless: {taskState: [rejected, failed]}'),
    'g.yaml:9:87: extensions.p.response[0]: unless matches whenever when does (the rule would never apply)'
  ],
  [
    'state of a task',
    responding('{part: {}}', 'schema: true, when: {taskState: [inputrequired]}'),
    'g.yaml:9:77: extensions.p.response[0].when.taskState[0] must be one of submitted, working, input-required, auth-required, completed, canceled, failed, rejected, unknown, not "inputrequired" (did you mean "input-required"?)'
  ],
  [
    'message of another operation',
    responding('{metadata: {in: [message, event], key: a}}', 'schema: true, on: [GetTask, ListTasks]'),
    'g.yaml:9:48: extensions.p.response[0].select.metadata.in: no operation in on returns message or event (the rule would never apply)'
  ],
  [
    'pieces of a status',
    responding('{part: {in: [status]}}', 'schema: true, chunked: false'),
    'g.yaml:9:70: extensions.p.response[0].chunked has no effect: only artifacts arrive in chunks, and the rule does not select them (remove it)'
  ],
  [
    'contradiction',
    policyWith('response:\n  - {id: a, select: {part: {}}, count: {max: 0}}\n  - {id: b, select: {part: {}}, count: {min: 1}}'),
    'g.yaml:11:37: extensions.p.response[1] contradicts extensions.p.response[0]: rule "b" requires at least 1, rule "a" allows at most 0 of the same (no response satisfies both; give them different conditions)'
  ],
  [
    'one id for request and answer',
    policyWith('request: [{id: r, select: {part: {}}, schema: true}]\nresponse: [{id: r, select: {part: {}}, schema: true}]'),
    'g.yaml:10:21: two rules of this policy have the id "r"'
  ],
  [
    'a source as condition',
    responding('{part: {match: {file: x}}}', 'schema: true, when: {match: {ref: "urn:x"}}'),
    'g.yaml:9:48: extensions.p.response[0].select.part.match needs an inline schema, not file (write the schema itself)',
    'g.yaml:9:89: extensions.p.response[0].when.match needs an inline schema, not ref (write the schema itself)'
  ],
  [
    'schemas that do not compile',
    responding('{part: {match: {type: x}}}', 'schema: {type: y}, when: {match: {type: z}}'),
    `g.yaml:9:54: extensions.p.response[0].select.part.match cannot be used: /type: ${META}`,
    `g.yaml:9:75: extensions.p.response[0].schema cannot be used: /type: ${META}`,
    `g.yaml:9:100: extensions.p.response[0].when.match cannot be used: /type: ${META}`
  ],
  [
    'schema file that is not there',
    responding('{part: {}}', 'schema: {file: none.json}'),
    'g.yaml:9:59: extensions.p.response[0].schema.file: cannot read "none.json": no such file (paths are relative to the configuration file)'
  ],
  [
    'inactive without owns',
    policyWith('inactive: {response: strip}'),
    "g.yaml:9:26: extensions.p.inactive.response has no effect without owns (list the extension's own data in owns)"
  ],
  [
    'inactive headers',
    policyWith('owns: {headers: [x]}\ninactive: {response: strip}'),
    'g.yaml:10:26: extensions.p.inactive.response has no effect: it applies to metadata and parts of responses, and owns names only headers (own data that responses contain)'
  ],
  [
    'never inactive',
    policyWith('owns: {metadata: [a]}\nactivation: {signals: [always]}\ninactive: {response: strip}'),
    'g.yaml:11:26: extensions.p.inactive.response has no effect: the signal always makes the extension active in every request (remove one of them)'
  ],
  [
    'inactive',
    policyWith('owns: {metadata: [a]}\ninactive: {response: reject}'),
    'g.yaml:10:26: extensions.p.inactive.response must be one of forward, strip, not "reject"'
  ],
  [
    'echo',
    policyWith('echo: verifi'),
    'g.yaml:9:11: extensions.p.echo must be one of passthrough, verify, synthesize, not "verifi" (did you mean "verify"?)'
  ],
  [
    'what to do about nothing unknown',
    policyWith('request: [{id: r, select: {part: {}}, count: {max: 0}, onUnknown: reject}]'),
    'g.yaml:9:60: extensions.p.request[0].onUnknown has no effect without taskState (it applies to rules with a condition on the state of a task)'
  ],
  [
    'warning: state of no task',
    policyWith('request: [{id: r, select: {part: {}}, count: {max: 0}, when: {taskId: absent, taskState: [working]}}]'),
    'g.yaml:9:83: extensions.p.request[0].when.taskState: when.taskId is absent, so no state of a task can be known (remove one of the two)'
  ],
  [
    'warning: state of a task that is excepted',
    policyWith('request: [{id: r, select: {part: {}}, count: {max: 0}, when: {taskState: [working]}, unless: {taskId: present}}]'),
    'g.yaml:9:67: extensions.p.request[0].when.taskState: unless.taskId is present, so no state of a task can be known (remove one of the two)'
  ],
  [
    'warning: state without message',
    policyWith('request: [{id: r, on: [GetTask], select: {header: x}, count: {max: 0}, unless: {taskState: [working]}}]'),
    'g.yaml:9:85: extensions.p.request[0].unless.taskState: no operation in on carries a message, so no state of a task can be known (remove one of the two)'
  ],
  [
    'state of an injection',
    policyWith('activation: {default: inject}\ninject: [{metadata: a, value: 1, when: {taskState: [working]}}]'),
    'g.yaml:10:45: unknown key "taskState" in extensions.p.inject[0].when (known keys: taskId, contextId, listed, active, caller, match)'
  ],
  [
    'warning: answers that are not read',
    agents('responses: off, extensions: [p]', 'response: [{id: r, select: {part: {}}, schema: true, verdict: reject}]'),
    'g.yaml:3:65: agents[0].responses is off, so the gateway evaluates no responses: rule "r" of policy "p" never applies (write observe or enforce, or set the policy\'s mode to off)'
  ],
  [
    'warning: tasks of which nothing is known',
    agents('responses: off, extensions: [p]', 'state: {from: {metadata: {key: a}}, maxVisits: {a: 1}}'),
    'g.yaml:3:65: agents[0].responses is off, so the state of tasks is unknown: state of policy "p" is never checked (write observe or enforce, or set the policy\'s mode to off)'
  ],
  [
    'warning: nothing to enforce of answers',
    agents('responses: enforce, extensions: [p]', 'mode: observe'),
    "g.yaml:3:65: agents[0].responses is enforce, but none of the agent's policies applies to responses (list a policy with response, or remove it)"
  ]
]

const TASKS: readonly Row[] = [
  ['state without from', policyWith('state: {transitions: {a: [b]}}'), 'g.yaml:9:12: extensions.p.state.from is required'],
  [
    'state that checks nothing',
    policyWith('state: {from: {metadata: {key: a}}}'),
    'g.yaml:9:12: extensions.p.state needs taskStates, transitions, monotonic or maxVisits (without them nothing is checked)'
  ],
  [
    'state of an event',
    policyWith('state: {from: {event: last}, transitions: {a: [b]}}'),
    'g.yaml:9:20: unknown key "event" in extensions.p.state.from (known keys: part, metadata)'
  ],
  [
    'substate without name',
    policyWith('state: {from: {metadata: {key: a}}, taskStates: {"": [working]}}'),
    'g.yaml:9:54: key "" in extensions.p.state.taskStates must have from 1 to 128 characters'
  ],
  [
    'long substate',
    policyWith(`state: {from: {metadata: {key: a}}, transitions: {${'x'.repeat(129)}: [b]}}`),
    `g.yaml:9:55: key "${'x'.repeat(59)}… in extensions.p.state.transitions must have at most 128 characters`
  ],
  [
    'unknown task state',
    policyWith('state: {from: {metadata: {key: a}}, taskStates: {paid: [complete]}}'),
    'g.yaml:9:61: extensions.p.state.taskStates.paid[0] must be one of submitted, working, input-required, auth-required, completed, canceled, failed, rejected, unknown, not "complete" (did you mean "completed"?)'
  ],
  [
    'no visits',
    policyWith('state: {from: {metadata: {key: a}}, maxVisits: {paid: 0}}'),
    'g.yaml:9:59: extensions.p.state.maxVisits.paid must be from 1 to 1000000, not 0'
  ],
  [
    'a source in a state',
    policyWith('state: {from: {part: {match: {file: x}}}, monotonic: {part: {match: {ref: "urn:x"}}}}'),
    'g.yaml:9:35: extensions.p.state.from.part.match needs an inline schema, not file (write the schema itself)',
    'g.yaml:9:74: extensions.p.state.monotonic.part.match needs an inline schema, not ref (write the schema itself)'
  ],
  [
    'schemas of a state',
    policyWith('state: {from: {part: {match: {type: x}}}, monotonic: {part: {match: {type: x}}}}'),
    `g.yaml:9:41: extensions.p.state.from.part.match cannot be used: /type: ${META}`,
    `g.yaml:9:80: extensions.p.state.monotonic.part.match cannot be used: /type: ${META}`
  ],
  [
    'warning: substates that nothing leads to',
    policyWith(
      'state:\n  from: {metadata: {key: a}}\n  transitions: {"": [asked], asked: [paid], paid: [], lost: [paid]}\n  taskStates: {payed: [completed], paid: [completed]}\n  maxVisits: {askd: 2}'
    ),
    'g.yaml:11:59: extensions.p.state.transitions: no transition leads to "lost" (name it in transitions after the substate that it follows)',
    'g.yaml:12:20: extensions.p.state.taskStates: no transition leads to "payed" (name it in transitions after the substate that it follows)',
    'g.yaml:13:19: extensions.p.state.maxVisits: no transition leads to "askd" (name it in transitions after the substate that it follows)'
  ],
  [
    'warning: a substate that seems misspelt',
    policyWith('state:\n  from: {metadata: {key: a}}\n  transitions: {"": [asked], asked: [piad, open], paid: []}'),
    'g.yaml:11:42: extensions.p.state.transitions.asked: any substate may follow "piad", because transitions does not list it (did you mean "paid"?)'
  ],

  [
    'relation missing',
    correlating(STATUS, MESSAGE),
    'g.yaml:12:16: extensions.p.correlate[0].check.relation is required (such as "relation: subset")'
  ],
  [
    'relation',
    correlating(STATUS, `${MESSAGE}, relation: equal`),
    'g.yaml:12:85: extensions.p.correlate[0].check.relation must be one of subset, equalSet, member, sameLength, not "equal"'
  ],
  [
    'pointer of a pick',
    correlating(`${STATUS}, pick: id`, `${MESSAGE}, pick: [id], relation: subset`),
    'g.yaml:11:84: extensions.p.correlate[0].remember.pick must be a JSON Pointer (it starts with "/"; "~" is written "~0")',
    'g.yaml:12:82: extensions.p.correlate[0].check.pick[0] must be a JSON Pointer (it starts with "/"; "~" is written "~0")'
  ],
  [
    'event of a request',
    correlating('on: request, select: {event: first}', `${STATUS}, relation: member`),
    'g.yaml:11:42: extensions.p.correlate[0].remember.select.event selects nothing: only responses have events (select metadata or parts)'
  ],
  [
    'place of the other side',
    correlating(
      MESSAGE.replace('request', 'response').replace('message', 'params'),
      `${STATUS.replace('response', 'request').replace('status', 'status, task')}, relation: member`
    ),
    'g.yaml:11:58: extensions.p.correlate[0].remember.select.metadata.in selects nothing: a response has no params (available: message, status, artifact, task, event, part)',
    'g.yaml:12:54: extensions.p.correlate[0].check.select.metadata.in selects nothing: a request has no status and no task (available: message, params, part)'
  ],
  [
    'the first of one',
    correlating(`${STATUS}, pick: /a, first: true`, `${MESSAGE}, relation: member`),
    'g.yaml:11:88: extensions.p.correlate[0].remember.first has no effect without several pointers in pick (remove it)'
  ],
  [
    'as many as one',
    correlating(STATUS, `${MESSAGE}, pick: /a, relation: sameLength`),
    'g.yaml:12:95: extensions.p.correlate[0].check.relation is always satisfied: both sides select one value at most (pick several with "*", such as "/items/*")'
  ],
  [
    'matched, of a request',
    correlating(STATUS, `${MESSAGE}, relation: member`, 'when: {requestMatched: x}'),
    'g.yaml:13:16: extensions.p.correlate[0].when.requestMatched applies to checks of responses, and check.on is request (remove it)'
  ],
  [
    'matched by nothing',
    correlating(MESSAGE, `${STATUS}, relation: member`, 'unless: {requestMatched: x}'),
    'g.yaml:13:34: extensions.p.correlate[0].unless.requestMatched: no rule in request is named "x" (this policy has none)'
  ],
  [
    'never checked',
    correlating(MESSAGE, `${STATUS}, relation: member`, 'when: {match: false}'),
    'g.yaml:13:23: extensions.p.correlate[0]: nothing matches when.match (the rule would never apply)'
  ],
  [
    'one id for two',
    policyWith(
      `correlate:\n  - {id: c, remember: {${STATUS}}, check: {${MESSAGE}, relation: member}}\n  - {id: c, remember: {${STATUS}}, check: {${MESSAGE}, relation: subset}}`
    ),
    'g.yaml:11:14: two rules of this policy have the id "c"'
  ],
  [
    'schemas of a correlation',
    correlating(
      'on: response, select: {part: {match: {type: x}}}',
      'on: request, select: {part: {match: {type: x}}}, relation: member',
      'when: {match: {type: x}}'
    ),
    `g.yaml:11:64: extensions.p.correlate[0].remember.select.part.match cannot be used: /type: ${META}`,
    `g.yaml:12:60: extensions.p.correlate[0].check.select.part.match cannot be used: /type: ${META}`,
    `g.yaml:13:30: extensions.p.correlate[0].when.match cannot be used: /type: ${META}`
  ],

  [
    'observing nothing',
    policyWith('observe: {}'),
    'g.yaml:9:14: extensions.p.observe must have at least 1 key (known keys: spanAttributes, metrics)'
  ],
  [
    'attribute name',
    policyWith('observe: {spanAttributes: {Zone: {metadata: {key: a}}}}'),
    'g.yaml:9:32: key "Zone" in extensions.p.observe.spanAttributes must be 1 to 100 of a-z, 0-9, "_", "." and "-", and begin with a letter'
  ],
  [
    'attribute of the gateway',
    policyWith('observe: {spanAttributes: {a2a.extension.active: {metadata: {key: a}}}}'),
    'g.yaml:9:32: key "a2a.extension.active" in extensions.p.observe.spanAttributes is reserved for the gateway\'s own attributes (begin it with a name of your own, such as "acme.")'
  ],
  [
    'metric name',
    policyWith('observe: {metrics: [{name: Tokens, type: counter, from: {metadata: {key: a}}}]}'),
    'g.yaml:9:32: extensions.p.observe.metrics[0].name must be 1 to 63 of a-z, 0-9 and "_", and begin with a letter'
  ],
  [
    'metric twice',
    policyWith(
      'observe:\n  metrics:\n    - {name: n, type: counter, from: {metadata: {key: a}}}\n    - {name: n, type: gauge, from: {metadata: {key: b}}}'
    ),
    'g.yaml:12:18: two metrics of this policy have the name "n"'
  ],
  [
    'too many values',
    policyWith(
      `observe: {metrics: [{name: n, type: gauge, from: {metadata: {key: a}}, by: {from: {metadata: {key: b}}, values: [${Array.from({ length: 51 }, (_, i) => `v${i}`).join(', ')}]}}]}`
    ),
    'g.yaml:9:117: extensions.p.observe.metrics[0].by.values must have at most 50 entries'
  ],
  [
    'sources in observe',
    policyWith(
      'observe: {spanAttributes: {a: {part: {match: {file: x}}}}, metrics: [{name: n, type: gauge, from: {part: {match: {file: x}}}, by: {from: {part: {match: {file: x}}}, values: [v]}}]}'
    ),
    'g.yaml:9:51: extensions.p.observe.spanAttributes.a.part.match needs an inline schema, not file (write the schema itself)',
    'g.yaml:9:119: extensions.p.observe.metrics[0].from.part.match needs an inline schema, not file (write the schema itself)',
    'g.yaml:9:158: extensions.p.observe.metrics[0].by.from.part.match needs an inline schema, not file (write the schema itself)'
  ],
  [
    'schemas of observe',
    policyWith(
      'observe: {spanAttributes: {a: {part: {match: {type: x}}}}, metrics: [{name: n, type: gauge, from: {part: {match: {type: x}}}, by: {from: {part: {match: {type: x}}}, values: [v]}}]}'
    ),
    `g.yaml:9:57: extensions.p.observe.spanAttributes.a.part.match cannot be used: /type: ${META}`,
    `g.yaml:9:125: extensions.p.observe.metrics[0].from.part.match cannot be used: /type: ${META}`,
    `g.yaml:9:164: extensions.p.observe.metrics[0].by.from.part.match cannot be used: /type: ${META}`
  ],

  [
    'store',
    `${AGENT}state: {store: "http://redis:6379"}\n`,
    'g.yaml:5:16: state.store must be "memory", or a redis:// or rediss:// URL (such as "redis://redis.internal:6379", or rediss:// for TLS)'
  ],
  [
    'store with a path',
    `${AGENT}state: {store: "redis://redis:6379/a/b"}\n`,
    'g.yaml:5:16: state.store must be a URL of host, port and database (such as "redis://redis.internal:6379", or rediss:// for TLS)'
  ],
  [
    'prefix of keys',
    `${AGENT}state: {prefix: "a b"}\n`,
    'g.yaml:5:17: state.prefix must have at most 100 characters, all of them printable ASCII without spaces'
  ]
]

export const ANSWER_ROWS: Readonly<Record<string, readonly Row[]>> = { ANSWERS: RULES, TASKS }
