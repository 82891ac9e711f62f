/**
 * The public address of the repository. Only `repository.url` in package.json defines the address. `npm run build` writes the address into
 * every other file that needs it. `npm run drift` fails when one of these files contains another address.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'
import type { Generator } from './generator.js'

/** The address without `git+` and `.git`, such as `https://github.com/OWNER/a2a-extension-gateway`. */
export function publicAddress (): string {
  const { repository } = JSON.parse(read('package.json')) as { repository: { url: string } }
  return repository.url.replace(/^git\+/, '').replace(/\.git$/, '')
}

/** The URL of a documentation page for readers outside of the repository. */
export function publicPage (file: string, address = publicAddress()): string {
  return `${address}/blob/main/${file}`
}

/** Replaces the line or lines that `pattern` matches. @throws Error when the file no longer has a match */
function replaced (text: string, pattern: RegExp, by: string): string {
  if (!pattern.test(text)) throw new Error(`${String(pattern)} finds nothing`)
  return text.replace(pattern, by)
}

const runbooks = (text: string, address: string): string =>
  replaced(text, /(?<=runbook_url: )("?)[^"\s]*(?=#a2agateway)/g, `$1${publicPage('docs/reference/alerts.md', address)}`)

/** For each file that contains the address: a function that returns the text with `address` in place of the current one. */
export const ADDRESSED: Readonly<Record<string, (text: string, address: string) => string>> = {
  'package.json': (text, address) =>
    replaced(replaced(text, /(?<="homepage": ")[^"]*/, `${address}#readme`), /(?<="bugs": ")[^"]*/, `${address}/issues`),
  Dockerfile: (text, address) =>
    replaced(
      replaced(replaced(text, /(?<=image\.url=")[^"]*/, address), /(?<=image\.source=")[^"]*/, address),
      /(?<=image\.documentation=")[^"]*/,
      publicPage('docs/how-to/deploy.md', address)
    ),
  'deploy/helm/a2a-extension-gateway/Chart.yaml': (text, address) =>
    replaced(text, /^home: .*\nsources:\n {2}- .*$/m, `home: ${address}\nsources:\n  - ${address}`),
  'deploy/debian/a2a-gateway.service': (text, address) => replaced(text, /(?<=^Documentation=).*$/m, publicPage('docs/how-to/install.md', address)),
  'deploy/debian/gateway.yaml': (text, address) => replaced(text, /(?<=All keys: ).*$/m, publicPage('docs/reference/configuration.md', address)),
  'deploy/prometheus/alerts.yaml': runbooks,
  'deploy/prometheus/alerts.test.yaml': runbooks,
  '.github/ISSUE_TEMPLATE/config.yml': (text, address) =>
    replaced(
      replaced(text, /(?<=url: )\S*(?=\/security\/advisories\/new$)/m, address),
      /(?<=url: )\S*(?=\/blob\/main\/docs\/how-to\/troubleshooting\.md$)/m,
      address
    )
}

/** The content of the file with the address of package.json. */
export function addressed (file: string): string {
  const edit = ADDRESSED[file]
  if (edit === undefined) throw new Error(`${file} does not name the public address`)
  return edit(read(file), publicAddress())
}

export const ADDRESSED_FILES: readonly Generator[] = Object.keys(ADDRESSED).map(file => ({
  file,
  edits: true,
  render: () => addressed(file)
}))

function read (file: string): string {
  return readFileSync(join(packageRoot(), file), 'utf8')
}
