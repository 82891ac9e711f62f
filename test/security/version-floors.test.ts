/** Advisories without public text, or about unused features: the installed version contains the fix. */
import t from 'tap'
import { installedVersion } from './sources.js'
import { atLeast } from './versions.js'

const FLOORS: readonly (readonly [name: string, floor: string, ids: string])[] = [
  ['fastify', '5.12.6', 'CVE-2026-107832; GHSA-4mh8-r7rc-xpvc; GHSA-9q9j-q6p8-xq58, -hwr6-493r-vm6h, -p68q-wchp-6fh7, -667r-xxjv-c9mm'],
  [
    'undici',
    '7.30.1',
    'CVE-2026-12151, -9697, -6734, -9678, -9679, -11525; CVE-2026-84961, -85014, -84933, -19534; CVE-2026-109924, -109932'
  ],
  ['find-my-way', '9.7.0', 'CVE-2026-47219'],
  ['ajv', '8.18.0', 'CVE-2025-69873'],
  ['yaml', '2.9.1', 'CVE-2026-33532 (guarded besides)'],
  ['fast-uri', '3.1.9', 'CVE-2026-6321 and six more'],
  ['ws', '8.21.0', 'CVE-2026-48779: http-proxy loads it, nothing uses it'],
  ['@fastify/proxy-addr', '5.1.1', 'CVE-2026-92395'],
  ['@fastify/http-proxy', '11.6.3', 'see SECURITY.md'],
  ['@fastify/reply-from', '12.6.5', 'see SECURITY.md']
]

t.test('installed versions are not below their floors', async (t) => {
  for (const [name, floor, ids] of FLOORS) {
    t.ok(atLeast(installedVersion(name), floor), `${name} ${installedVersion(name)}, at least ${floor}: ${ids}`)
  }
})

t.test('versions are compared by number', async (t) => {
  for (const [version, floor, expected] of [
    ['5.12.10', '5.12.6', true],
    ['5.9.0', '5.12.6', false],
    ['6.0.0', '5.12.6', true],
    ['7.30.1-beta.1', '7.30.1', false],
    ['7.31.0-beta.1', '7.30.1', true],
    ['7.30.1', '7.30.1', true]
  ] as const) {
    t.equal(atLeast(version, floor), expected, `${version} against ${floor}`)
  }
})
