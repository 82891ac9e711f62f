/** `completion`: prints a script with which a shell completes commands, flags and files. */
import { COMMANDS } from '../commands.js'
import type { Output } from '../output.js'
import { shortHelp } from '../usage.js'
import { UsageError } from './arguments.js'

/** The script of each shell. */
export const SCRIPTS = { bash, zsh, fish }

/**
 * Runs the command.
 * @throws {UsageError} for another shell
 */
export function runCompletion (shell: string | undefined, io: Pick<Output, 'out'>): number {
  const script = shell !== undefined && Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell as keyof typeof SCRIPTS] : undefined
  const shells = Object.keys(SCRIPTS).join(', ')
  if (script === undefined) throw new UsageError(`${shell === undefined ? 'name a shell' : `there is no script for "${shell}"`}: ${shells}`)
  io.out(script())
  return 0
}

const names = Object.keys(COMMANDS)
const YAML = 'yaml'

const flagsOf = (command: string): string[] => [...Object.keys(COMMANDS[command]?.flags ?? {}), 'help']

const named = (flags: readonly string[]): string => flags.map(flag => `--${flag}`).join(' ')

/** The words that may follow a flag, or a command that takes no file. */
function choices (): { readonly command: string, readonly after: string, readonly words: readonly string[] }[] {
  return names.flatMap(command => {
    const { flags = {}, words } = COMMANDS[command] ?? {}
    return [
      ...Object.entries(flags).flatMap(([flag, { choices }]) => choices === undefined
        ? []
        : [{ command, after: `--${flag}`, words: choices }]),
      ...(words === undefined || words === YAML ? [] : [{ command, after: command, words: words === 'commands' ? names : words }])
    ]
  })
}

/** Commands whose arguments are YAML files. */
const takeYaml = names.filter(name => COMMANDS[name]?.words === YAML)

/** A text in single quotes, for bash and zsh. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

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
${names.map(name => `      ${name}) words='${named(flagsOf(name))}' ;;`).join('\n')}
    esac
  fi
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  local IFS=$'\\n'
  compopt -o filenames 2> /dev/null
  case "\${COMP_WORDS[1]} $before" in
    (*' --config'|${takeYaml.map(name => `'${name} '[!-]*`).join('|')})
      COMPREPLY=($(compgen -d -- "$current"; compgen -f -X '!*.yaml' -- "$current"; compgen -f -X '!*.yml' -- "$current")) ;;
    (*)
      COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}
complete -F _a2a_gateway a2a-gateway
`
}

function zsh (): string {
  const described = (pairs: readonly (readonly [string, string])[]): string => pairs.map(([name, text]) => quoted(
    `${name}:${text}`
  )).join(' ')
  const flags = (name: string): (readonly [string, string])[] => flagsOf(name).map(flag => [`--${flag}`, shortHelp(name).flags[flag] ?? ''])
  const commands = names.map(name => [name, shortHelp(name).does] as const)
  return `#compdef a2a-gateway
# a2a-gateway completion zsh. Load it with: source <(a2a-gateway completion zsh)
_a2a_gateway () {
  local -a found
  if (( CURRENT == 2 )); then
    found=(${described([...commands, ['--help', 'describes the commands'], ['--version', 'prints the version']])})
    _describe -t commands command found
    return
  fi
  case "$words[2] $words[CURRENT-1]" in
${choices().map(({ command, after, words }) => `    ('${command} ${after}') compadd -- ${words.join(' ')}; return ;;`).join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then
    case $words[2] in
${names.map(name => `      (${name}) found=(${described(flags(name))}) ;;`).join('\n')}
    esac
    _describe -o -t flags flag found
    return
  fi
  case "$words[2] $words[CURRENT-1]" in
    (*' --config'|(${takeYaml.join('|')})' '[^-]*) _files -g '*.(yaml|yml)' ;;
    (*) _files ;;
  esac
}
if [[ $funcstack[1] == _a2a_gateway ]]; then
  _a2a_gateway "$@"
else
  compdef _a2a_gateway a2a-gateway
fi
`
}

function fish (): string {
  const text = (value: string): string => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = names.flatMap(name => {
    const { flags = {} } = COMMANDS[name] ?? {}
    const help = shortHelp(name)
    const on = `complete -c a2a-gateway -n '__fish_seen_subcommand_from ${name}'`
    const value = (flag: string): string => {
      const { value: argument, choices } = flags[flag] ?? {}
      if (choices !== undefined) return ` -r -f -a '${choices.join(' ')}'`
      if (flag === 'config') return " -r -f -a '(__a2a_gateway_yaml)'"
      return argument === undefined ? '' : ' -r -F'
    }
    return [
      `complete -c a2a-gateway -n __fish_use_subcommand -f -a ${name} -d ${text(help.does)}`,
      ...flagsOf(name).map(flag => `${on} -l ${flag}${value(flag)} -d ${text(help.flags[flag] ?? '')}`)
    ]
  })
  const words = choices().filter(({ command, after }) => after === command)
    .map(choice => `complete -c a2a-gateway -n '__fish_seen_subcommand_from ${choice.command}' -f -a '${choice.words.join(' ')}'`)
  return `# a2a-gateway completion fish. Load it with: a2a-gateway completion fish | source
function __a2a_gateway_yaml
    set -l current (commandline -ct)
    for path in $current*
        if test -d $path
            echo $path/
        else if string match -qr '\\.ya?ml$' -- $path
            echo $path
        end
    end
end
${[...lines, ...words].join('\n')}
complete -c a2a-gateway -n '__fish_seen_subcommand_from ${takeYaml.join(' ')}' -f -a '(__a2a_gateway_yaml)'
`
}
