/** The changelog: the newest release comes first, and each release starts with the steps for an upgrade. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot, packageVersion } from '#config/paths.js'

const SECTIONS = ['To do when upgrading', 'Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security']
const HEADING = /^(?:Unreleased \((\d+\.\d+\.\d+)\)|(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\))$/

interface Release { readonly heading: string, readonly sections: readonly { readonly name: string, readonly text: string }[] }

function releasesOf (text: string): Release[] {
  return text.split(/^## /m).slice(1).map(part => {
    const [heading = '', ...lines] = part.split('\n')
    return {
      heading,
      sections: lines
        .join('\n')
        .split(/^### /m)
        .slice(1)
        .map(section => ({ name: section.split('\n', 1)[0] ?? '', text: section.split('\n').slice(1).join('\n').trim() }))
    }
  })
}

/** What is wrong with the shape, in words. */
function faultsOf (text: string, version: string): string[] {
  const releases = releasesOf(text)
  const numbers = releases.map(({ heading }) => HEADING.exec(heading)).map(match => match?.[1] ?? match?.[2] ?? '')
  const order = (number: string): number => number.split('.').reduce((sum, part) => sum * 1_000 + Number(part), 0)
  return [
    ...releases.filter(({ heading }) => !HEADING.test(heading)).map(({ heading }) => `heading "${heading}"`),
    ...releases
      .slice(1)
      .filter(({ heading }) => heading.startsWith('Unreleased'))
      .map(() => 'what is not released comes first'),
    ...numbers
      .slice(1)
      .filter((number, index) => order(number) >= order(numbers[index] ?? ''))
      .map(number => `${number} is not older than the one before`),
    ...(numbers.includes(version) ? [] : [`${version} of package.json has no entry`]),
    ...releases.flatMap(({ heading, sections }) => {
      const at = sections.map(({ name }) => SECTIONS.indexOf(name))
      return [
        ...(at[0] === 0 ? [] : [`${heading}: says first what to do when upgrading`]),
        ...(at.some((index, place) => index === -1 || (place > 0 && index <= (at[place - 1] ?? 0)))
          ? [`${heading}: sections are ${SECTIONS.join(', ')}, in this order`]
          : []),
        ...sections.filter(section => !/^- /m.test(section.text)).map(({ name }) => `${heading}: ${name} is empty`)
      ]
    })
  ]
}

t.test('its shape', async t => {
  t.same(faultsOf(readFileSync(join(packageRoot(), 'CHANGELOG.md'), 'utf8'), packageVersion()), [])
})

t.test('faults that this test detects', async t => {
  const todo = '### To do when upgrading\n\n- Nothing.\n'
  t.same(faultsOf(`# C\n\n## Unreleased (0.2.0)\n\n${todo}\n### Fixed\n\n- x\n\n## 0.1.0 (2026-12-01)\n\n${todo}`, '0.1.0'), [])
  t.match(faultsOf(`## 0.1.0\n${todo}`, '0.1.0'), ['heading "0.1.0"', /0\.1\.0 of package\.json/])
  t.match(faultsOf(`## 0.1.0 (2026-12-01)\n${todo}## 0.2.0 (2026-12-02)\n${todo}## Unreleased (0.0.1)\n${todo}`, '0.2.0'), [
    'what is not released comes first',
    '0.2.0 is not older than the one before'
  ])
  t.match(faultsOf('## 0.1.0 (2026-12-01)\n### Added\n- x\n', '0.1.0'), ['0.1.0 (2026-12-01): says first what to do when upgrading'])
  t.match(faultsOf(`## 0.1.0 (2026-12-01)\n${todo}### Fixed\n- x\n### Added\n\n### News\n- x\n`, '0.1.0'), [
    /in this order/,
    /Added is empty/
  ])
})
