/** `completion`: prints a script with which a shell completes commands, flags and files. */
import { COMMANDS } from '../commands.js'
import type { Output } from '../output.js'
import { UsageError } from './arguments.js'

const SCRIPTS: Readonly<Record<string, () => string>> = { bash, zsh, fish }

/**
 * Runs the command.
 * @throws {UsageError} for another shell
 */
export function runCompletion (shell: string | undefined, io: Pick<Output, 'out'>): number {
  const script = shell !== undefined && Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
  const shells = Object.keys(SCRIPTS).join(', ')
  if (script === undefined) throw new UsageError(`${shell === undefined ? 'name a shell' : `there is no script for "${shell}"`}: ${shells}`)
  io.out(script())
  return 0
}

const names = Object.keys(COMMANDS)

const flagsOf = (command: string): string[] => {
  const { flags = [], lists = [], switches = [] } = COMMANDS[command] ?? {}
  return [...flags, ...lists, ...switches, 'help'].map(flag => `--${flag}`)
}

/** The words that may follow a flag, or a command that takes no file. */
function choices (): { readonly command: string, readonly after: string, readonly words: readonly string[] }[] {
  return names.flatMap(command => {
    const { choices = {}, words } = COMMANDS[command] ?? {}
    return [
      ...Object.entries(choices).map(([flag, values]) => ({ command, after: `--${flag}`, words: values })),
      ...(words === undefined ? [] : [{ command, after: command, words: words === 'commands' ? names : words }])
    ]
  })
}

function bash (): string {
  return `# a2a-gateway completion bash. Load it with: source <(a2a-gateway completion bash)
_a2a_gateway () {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${names.join(' ')} --help --version' -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]} $before" in
${choices().map(({ command, after, words }) => `    '${command} ${after}') words='${words.join(' ')}' ;;`).join('\n')}
  esac
  if [[ -z $words && $current == -* ]]; then
    case "\${COMP_WORDS[1]}" in
${names.map(name => `      ${name}) words='${flagsOf(name).join(' ')}' ;;`).join('\n')}
    esac
  fi
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    local IFS=$'\\n'
    COMPREPLY=($(compgen -f -- "$current"))
    compopt -o filenames 2> /dev/null
  fi
}
complete -F _a2a_gateway a2a-gateway
`
}

function zsh (): string {
  return `#compdef a2a-gateway
# a2a-gateway completion zsh. Load it with: source <(a2a-gateway completion zsh)
_a2a_gateway () {
  if (( CURRENT == 2 )); then
    compadd -- ${names.join(' ')} --help --version
    return
  fi
  case "$words[2] $words[CURRENT-1]" in
${choices().map(({ command, after, words }) => `    ('${command} ${after}') compadd -- ${words.join(' ')}; return ;;`).join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then
    case $words[2] in
${names.map(name => `      (${name}) compadd -- ${flagsOf(name).join(' ')} ;;`).join('\n')}
    esac
  else
    _files
  fi
}
if [[ $funcstack[1] == _a2a_gateway ]]; then
  _a2a_gateway "$@"
else
  compdef _a2a_gateway a2a-gateway
fi
`
}

function fish (): string {
  const lines = names.flatMap(name => {
    const { flags = [], lists = [], switches = [], choices = {} } = COMMANDS[name] ?? {}
    const on = `complete -c a2a-gateway -n '__fish_seen_subcommand_from ${name}'`
    return [
      `complete -c a2a-gateway -n __fish_use_subcommand -f -a ${name}`,
      ...[...flags, ...lists].map(flag => `${on} -l ${flag} -r${Object.hasOwn(choices, flag) ? ` -f -a '${choices[flag]?.join(' ') ?? ''}'` : ''}`),
      ...[...switches, 'help'].map(flag => `${on} -l ${flag}`)
    ]
  })
  const words = choices().filter(({ command, after }) => after === command)
    .map(one => `complete -c a2a-gateway -n '__fish_seen_subcommand_from ${one.command}' -f -a '${one.words.join(' ')}'`)
  return `# a2a-gateway completion fish. Load it with: a2a-gateway completion fish | source\n${[...lines, ...words].join('\n')}\n`
}
