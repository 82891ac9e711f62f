/** The texts of the Debian package (Debian Policy 4.7, chapters 5, 6 and 9). */

/** Converts a version of npm: a pre-release comes before the release, so its hyphen becomes a tilde. */
export function debianVersion (version: string): string {
  return version.replace('-', '~')
}

export interface Package {
  readonly version: string
  /** The public address of the repository. */
  readonly address: string
  /** Such as `amd64`. */
  readonly architecture: string
  readonly kibibytes: number
}

export function controlOf ({ version, address, architecture, kibibytes }: Package): string {
  return `Package: a2a-extension-gateway
Version: ${debianVersion(version)}
Architecture: ${architecture}
Maintainer: The maintainers of a2a-extension-gateway <${address}>
Installed-Size: ${kibibytes}
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6, ca-certificates
Section: net
Priority: optional
Homepage: ${address}
Description: reverse proxy that enforces A2A extensions in front of agents
 Validates requests and responses of the Agent2Agent protocol against the
 agents' cards and the policies of the operator. Contains Node.js.
`
}

export const WRAPPER = `#!/bin/sh
exec /usr/lib/a2a-extension-gateway/node /usr/lib/a2a-extension-gateway/dist/src/main.js "$@"
`

/** The service does not start by itself: its configuration needs the address of an agent. An upgrade restarts a service that runs. */
export const POSTINST = `#!/bin/sh
set -e
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart a2a-gateway.service
fi
`

export const PRERM = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl disable --now a2a-gateway.service
fi
`

export const POSTRM = `#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
`
