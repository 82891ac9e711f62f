/** A card and policies that say something of answers, for files of tests. */

export const PAY = 'https://e.test/pay'

export const ANSWER_HEAD = `card:
  capabilities: {streaming: true, extensions: [{uri: '${PAY}'}]}
agent: {responses: enforce, extensions: [pay]}
extensions:
  pay:
    uri: ${PAY}
    owns: {metadata: [receipt, trace]}
    activation: {signals: [header]}
    request:
      - {id: while-asked, select: {metadata: {key: receipt}}, when: {taskState: [completed]}, count: {max: 0}}
    response:
      - {id: receipt, select: {metadata: {in: [message, status, task, event], key: receipt}}, schema: {type: object, required: [total], properties: {total: {type: integer, minimum: 0}}}, verdict: reject}
      - {id: private, select: {metadata: {in: [message, status, task, event], key: trace}}, count: {max: 0}, verdict: strip}
      - {id: polite, select: {metadata: {in: [message, status], key: thanks}}, count: {min: 1}, verdict: warn}
      - {id: large, select: {metadata: {in: [message, status, task], key: receipt, path: /total}}, schema: {maximum: 100}, verdict: annotate}
    observe:
      spanAttributes: {pay.total: {metadata: {in: [message, status, task], key: receipt, path: /total}}}
      metrics:
        - {name: paid, type: counter, from: {metadata: {in: [message, status, task], key: receipt, path: /total}}}
`

/** One test in the file of `ANSWER_HEAD`; each part as YAML in flow style. */
export function answered (request: string, answer: string, expect: string, more = ''): string {
  return `${ANSWER_HEAD}tests:\n  - name: it\n${more}    request: ${request}\n    answer: ${answer}\n    expect: {decision: forward, answer: ${expect}}\n`
}
