/** The manual page of the Debian package: what `a2a-gateway help` and `help COMMAND` print. */
import { COMMANDS } from '#cli/commands.js'
import { usage } from '#cli/usage.js'
import { packageVersion } from '#config/paths.js'

/** @param epoch date of the page, in seconds since 1970 */
export function manualPage (epoch: number): string {
  const date = new Date(epoch * 1_000).toISOString().slice(0, 10)
  return [
    `.TH A2A-GATEWAY 1 "${date}" "a2a-gateway ${packageVersion()}" "User Commands"`,
    '.SH NAME',
    'a2a\\-gateway \\- enforces A2A extensions in front of agents, without changing them',
    '.SH SYNOPSIS',
    '.B a2a\\-gateway',
    'COMMAND [ARGUMENTS] [FLAGS]',
    '.SH DESCRIPTION',
    ...plain(usage(null)),
    '.SH COMMANDS',
    ...Object.keys(COMMANDS).flatMap(name => [`.SS ${name}`, ...plain(usage(name))]),
    '.SH FILES',
    '.I /etc/a2a\\-gateway/gateway.yaml',
    'is the configuration of the service.',
    ''
  ].join('\n')
}

/** Lines as they are. A line of roff must not begin with a dot or an apostrophe, and has its own meaning of backslashes and hyphens. */
function plain (text: string): string[] {
  return ['.nf', ...text.split('\n').map(line => line.replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^(?=[.'])/, '\\&')), '.fi']
}
