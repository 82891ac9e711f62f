import { existsSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { parse } from 'yaml'
import { formatDiagnostic, parseConfig } from '#config/load.js'

const page = readFileSync('docs/how-to/deploy.md', 'utf8')
const blocks = (language: string): string[] =>
  [...page.matchAll(/```(\w+)\n([^]*?)```/g)].filter(match => match[1] === language).map(match => match[2] as string)

t.test('files in the commands of the page exist', async t => {
  const named = blocks('sh').join('\n').match(/deploy\/[\w./-]+/g) ?? []
  t.ok(named.length >= 3)
  for (const path of named) t.ok(existsSync(path), path)
})

t.test('the values of the page are valid for the chart, and their configuration is valid', async t => {
  const chart = 'deploy/helm/a2a-extension-gateway'
  const [text = ''] = blocks('yaml')
  const values = parse(text) as { config: { server: object, agents: object[] } }
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
    JSON.parse(readFileSync(`${chart}/values.schema.json`, 'utf8')) as object
  )
  const defaults = parse(readFileSync(`${chart}/values.yaml`, 'utf8')) as typeof values
  const config = { ...defaults.config, ...values.config, server: { ...defaults.config.server, ...values.config.server } }
  t.ok(validate({ ...defaults, ...values, config }), JSON.stringify(validate.errors))
  t.notOk(validate({ ...defaults, imagee: {} }))
  const loaded = parseConfig(JSON.stringify(config), { file: 'values.yaml', baseDir: '.', env: {} })
  t.equal(loaded.ok ? '' : loaded.problems.map(formatDiagnostic).join('\n'), '')
})
