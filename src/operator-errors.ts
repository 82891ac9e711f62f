/* eslint no-template-curly-in-string: off -- ${VAR} is the configuration's own syntax */
/**
 * Errors for the person who installs, configures, starts or embeds the gateway: one stable code for each kind. Commands print the code,
 * `a2a-gateway help CODE` and docs/reference/operator-errors.md describe it, and applications read `error.code`. Errors for clients have
 * reasons instead: src/a2a/errors.ts.
 */

export interface ErrorHelp {
  /** What the gateway found. */
  readonly cause: string
  /** What the operator does about it. */
  readonly fix: string
}

/** A code keeps its name and its meaning for a whole major version. The texts use Markdown's code spans and no links. */
export const ERROR_HELP = {
  A2AGW_ERR_CONFIG_UNREADABLE: {
    cause: 'The configuration file, or a file in the directory of `extensions.from`, cannot be read: it does not exist, its permissions ' +
      'forbid reading, it is larger than 1 MiB, it is not UTF-8, or it is a file of another kind.',
    fix: 'Correct the path and the permissions. A relative path starts at the working directory.'
  },
  A2AGW_ERR_CONFIG_SYNTAX: {
    cause: 'The file is empty, is not valid YAML, or uses YAML that the gateway does not accept, such as tags, merge keys, duplicate ' +
      'keys or several documents.',
    fix: 'Correct the file at the line and column of the message.'
  },
  A2AGW_ERR_CONFIG_VARIABLE: {
    cause: 'A reference such as `${NAME}` is not closed, names no environment variable, or names a variable that is not set.',
    fix: 'Set the variable for the process, or write a default: `${NAME:-default}`. Write `$$` for a literal `$`.'
  },
  A2AGW_ERR_CONFIG_UNKNOWN_KEY: {
    cause: 'The gateway does not know a key. The key may be misspelled, may stand at a wrong indentation, or may belong to another ' +
      'version of the gateway.',
    fix: 'Use the key that the hint names. `a2a-gateway help KEY` describes a key.'
  },
  A2AGW_ERR_CONFIG_MISSING_KEY: {
    cause: 'A required key, or a required setting of the environment, is missing.',
    fix: 'Add the key. The message has an example where one exists.'
  },
  A2AGW_ERR_CONFIG_VALUE: {
    cause: 'A value has a wrong type or a wrong format, is out of its bounds, or is not one of the permitted values.',
    fix: 'Change the value. `a2a-gateway help KEY` has the type, the permitted values and the default.'
  },
  A2AGW_ERR_CONFIG_INCONSISTENT: {
    cause: 'Each value is valid alone, but the values do not fit together: two keys contradict each other, a key needs or excludes ' +
      'another key, a name is used twice, or a name refers to nothing.',
    fix: 'Follow the hint of the message. The reference page of the configuration lists which keys belong together.'
  },
  A2AGW_ERR_CONFIG_FILE: {
    cause: 'A file that the configuration names cannot be read or used: a certificate, a private key, a key set, a file of API keys or a schema.',
    fix: 'Correct the path, the permissions or the content. Paths are relative to the configuration file.'
  },
  A2AGW_ERR_CONFIG_SECRET: {
    cause: 'A secret that the configuration names cannot be used: its file cannot be read, its environment variable is not set, or its ' +
      'content is empty or not valid at that place.',
    fix: 'Provide the file or the variable to the process. The message never contains the secret.'
  },
  A2AGW_ERR_CONFIG_SCHEMA: {
    cause: 'A JSON Schema of the configuration cannot be used: it is not a valid schema, it has a pattern that cannot run in linear ' +
      'time, or it refers to a document that no bundle contains.',
    fix: 'Change the schema at the path of the message, or add the document to `bundles`.'
  },
  A2AGW_ERR_CONFIG_INVALID: {
    cause: 'The configuration has problems. The error lists all of them, each with its own code: an embedding application finds them in ' +
      '`error.problems`.',
    fix: 'Fix each problem, and run `a2a-gateway check` until it reports none.'
  },
  A2AGW_ERR_LOCK_FILE: {
    cause: '`agents.lock` cannot be read, is not valid, or has been edited so that a digest does not belong to its card.',
    fix: 'Restore the file from version control, or run `a2a-gateway agents lock` and review the change.'
  },
  A2AGW_ERR_CARD: {
    cause: 'The gateway cannot use the card of an agent: the card cannot be fetched, is not a valid card, or does not fit the ' +
      'configuration.',
    fix: 'Check `card.url` or `card.file`. `a2a-gateway check --live` fetches the card of each agent and lists its problems.'
  },
  A2AGW_ERR_AGENT_SOURCE: {
    cause: 'A source of agents (`agentSources`) cannot be read, or an entry of the source cannot become an agent.',
    fix: 'Check the address and the permissions of the source. `a2a-gateway check --live` lists each entry with its reason.'
  },
  A2AGW_ERR_TELEMETRY: {
    cause: 'A variable of OpenTelemetry (`OTEL_*`) has a value that the gateway does not support. The gateway runs without that signal, ' +
      'but does not start with `telemetry.traces.enabled: true`.',
    fix: 'Use a value that the message lists, or remove the variable.'
  },
  A2AGW_ERR_ADDRESS_IN_USE: {
    cause: 'Another process listens at the address of a listener.',
    fix: 'End the other process, or choose another address with `server.listen`, `--listen`, `server.admin` or `--admin`.'
  },
  A2AGW_ERR_ADDRESS_UNUSABLE: {
    cause: 'The process may not listen at the address of a listener, or the address does not belong to the machine.',
    fix: 'Choose a port above 1023, and an address of the machine or `0.0.0.0`.'
  },
  A2AGW_ERR_WORKER: {
    cause: 'No worker process can start, or a worker cannot use a new configuration.',
    fix: 'Read the log lines of the workers. To see the error without workers, start the gateway with `server.workers: 1`.'
  },
  A2AGW_ERR_USAGE: {
    cause: 'The command line is not valid: a command, a flag, an argument or a combination of them does not exist, or something is missing.',
    fix: 'Follow the message. `a2a-gateway COMMAND --help` has the flags and examples.'
  },
  A2AGW_ERR_OUTPUT: {
    cause: 'A command cannot write a file, or would overwrite a file that exists.',
    fix: 'Choose another file or directory, or correct the permissions.'
  },
  A2AGW_ERR_RECORDING: {
    cause: 'A recording of a call (an `.http` file, a captured JSON, a HAR file or a curl command) or a recorded response cannot be read.',
    fix: 'Correct the recording at the line of the message. `a2a-gateway explain --help` lists the formats.'
  },
  A2AGW_ERR_NOT_EXPLAINED: {
    cause: '`explain` or `external` has too little information, or information that fits no agent: for example, several agents have the ' +
      'address of the call.',
    fix: 'Add what the message names, such as `--agent`, `--card` or `--config`.'
  },
  A2AGW_ERR_TEST_FILE: {
    cause: 'A file of policy tests cannot be read, is not valid, or tests a configuration that cannot be used.',
    fix: 'Correct the file at the line and column of the message. `a2a-gateway schema --tests` prints its schema.'
  },
  A2AGW_ERR_CONFORM_FILE: {
    cause: 'A declaration or a report of `conform` cannot be read, or has another format.',
    fix: 'Write a report with `a2a-gateway conform --json`. `a2a-gateway conform schema` prints the schema of declarations.'
  },
  A2AGW_ERR_CONFORM_TARGET: {
    cause: '`conform` cannot test an address: nothing responds, or the card names no interface that `conform` knows.',
    fix: 'Start the agent and the proxy, and check `--direct` and `--through`.'
  },
  A2AGW_ERR_NOT_ALIVE: {
    cause: '`health` gets no response from the admin listener, or another status than 200.',
    fix: 'Check that the gateway runs, and name its admin listener with `--admin HOST:PORT`.'
  },
  A2AGW_ERR_PLUGIN_OPTIONS: {
    cause: 'An application registers `a2aGateway` without a configuration, or with a `prefix`.',
    fix: 'Set the option `config`, and register the plugin without a prefix: the configuration has the path of each agent.'
  },
  A2AGW_ERR_PLUGIN_APPLICATION: {
    cause: 'The application cannot have the gateway: it has one already, speaks HTTP/2, or uses a lenient parser; or it registers ' +
      '`a2aGatewayAdmin` before `a2aGateway`.',
    fix: 'Change the options of the application, or the order of its plugins, as the message says.'
  }
} as const satisfies Readonly<Record<string, ErrorHelp>>

export type ErrorCode = keyof typeof ERROR_HELP

/** An error for the operator. The message says what is wrong and how to fix it. */
export class OperatorError extends Error {
  readonly code: ErrorCode

  constructor (code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** @returns the code of an error for the operator, or null for any other error, such as one of Node */
export function errorCode (error: unknown): ErrorCode | null {
  return error instanceof OperatorError ? error.code : null
}

/** @returns the code of an error of Node about the address of a listener, or null for any other error */
export function listenCode (error: unknown): ErrorCode | null {
  if (!(error instanceof Error) || !('code' in error)) return null
  if (error.code === 'EADDRINUSE') return 'A2AGW_ERR_ADDRESS_IN_USE'
  return error.code === 'EACCES' || error.code === 'EADDRNOTAVAIL' ? 'A2AGW_ERR_ADDRESS_UNUSABLE' : null
}

/** @returns an error whose message says where its cause occurred, such as `agent travel: MESSAGE`. The code is that of the cause. */
export function errorAt (place: string, error: unknown, otherwise: ErrorCode): OperatorError {
  return new OperatorError(
    errorCode(error) ?? otherwise, `${place}: ${error instanceof Error ? error.message : String(error)}`, { cause: error }
  )
}

/** @returns a printed message, followed by its code in brackets */
export function withCode (text: string, code: ErrorCode | null): string {
  return code === null ? text : `${text} [${code}]`
}
