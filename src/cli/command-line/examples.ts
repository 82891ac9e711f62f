/** Examples of each command, for `help COMMAND` and the man-like text of `--help`. */

/** Command lines, each with its purpose. */
export const EXAMPLES: Readonly<Record<string, readonly (readonly [command: string, purpose: string])[]>> = {
  serve: [
    ['a2a-gateway serve', 'runs with ./gateway.yaml'],
    ['a2a-gateway serve staging.yaml --listen 127.0.0.1:8080', 'another file and address'],
    ['a2a-gateway serve --upstream http://127.0.0.1:9999', 'one agent, without a file']
  ],
  check: [
    ['a2a-gateway check', 'checks ./gateway.yaml'],
    ['a2a-gateway check gateway.yaml --live', "also compares the file with the agents' cards"]
  ],
  init: [
    ['a2a-gateway init http://127.0.0.1:9999', 'prints a configuration for the agent'],
    ['a2a-gateway init http://127.0.0.1:9999 http://127.0.0.1:9998 --output gateway.yaml', 'two agents, into a file, with tests beside it'],
    ['a2a-gateway init --card card.json --output gateway.yaml', 'a card on disk'],
    ['a2a-gateway init http://127.0.0.1:9999 --from calls.har --output gateway.yaml', 'with rules for the data of recorded calls']
  ],
  explain: [
    ['a2a-gateway explain call.http', 'all requests of a file, with ./gateway.yaml'],
    ['a2a-gateway explain --card card.json --request order calls.http', 'one request, without a configuration'],
    [
      'a2a-gateway explain curl http://localhost:8080/rpc --json @body.json -H "A2A-Version: 1.0"',
      'a curl command, as you would run it'
    ],
    ["pbpaste | a2a-gateway explain --header 'A2A-Version: 1.0' -", 'a JSON-RPC request, curl command or HAR entry of the clipboard'],
    ['pbpaste | a2a-gateway explain -', 'the error of a client, a decision of the console or an audit line: which rule rejected, and the fix']
  ],
  external: [
    ['a2a-gateway external ask call.http', 'the questions of ./gateway.yaml about all requests of a file'],
    ["a2a-gateway external ask --caller '{subject: alice, groups: [finance]}' --request pay calls.http", 'one request, of a caller']
  ],
  test: [
    ['a2a-gateway test policies/', 'all files *.test.yaml of a directory, with ./gateway.yaml'],
    ["a2a-gateway test 'services/**/*.test.yaml' --only invoice", 'the tests whose name contains "invoice"'],
    ['a2a-gateway test policies/ --watch', 'while you write policies']
  ],
  agents: [
    ['a2a-gateway agents lock', 'agrees on the current cards of all agents'],
    ['a2a-gateway agents diff', 'shows how the cards differ from the agreed cards, and what that does to enforcement'],
    ['a2a-gateway agents lock --agent billing --by "Ada Lovelace"', 'agrees on one card'],
    ['a2a-gateway agents diff --json || exit 1', 'in CI: fails when a card is not as agreed']
  ],
  conform: [
    ['a2a-gateway conform agent --listen 127.0.0.1:9999', 'an agent for the tests; put the proxy in front of it'],
    ['a2a-gateway conform --direct http://127.0.0.1:9999 --through http://127.0.0.1:8080', 'all cases'],
    ['a2a-gateway conform --direct http://127.0.0.1:9999 --through http://127.0.0.1:8080 --declare proxy.yaml --json > report.json', 'a report to publish'],
    ['a2a-gateway conform diff before.json report.json', 'what another version of the proxy has changed']
  ],
  key: [
    ['a2a-gateway key --id billing-2027 --client billing --expires 2027-12-31', 'a key of the caller billing'],
    ['a2a-gateway key --id ci --json | jq .entry', 'for a script']
  ],
  schema: [
    ['a2a-gateway schema > gateway.schema.json', 'for the YAML extension of an editor'],
    ['a2a-gateway schema --tests > policy-test.schema.json', 'the same for policy test files']
  ],
  health: [
    ['a2a-gateway health', 'the gateway of this machine'],
    ['a2a-gateway health --json', 'for a script'],
    ['a2a-gateway health --admin 127.0.0.1:9902', 'another admin listener']
  ],
  completion: [
    ['source <(a2a-gateway completion bash)', 'in ~/.bashrc; the same with zsh in ~/.zshrc'],
    ['a2a-gateway completion fish > ~/.config/fish/completions/a2a-gateway.fish', 'for fish']
  ],
  help: [
    ['a2a-gateway help serve', 'describes serve']
  ]
}
