/**
 * The names of our images on the pages, in the manifests, in the chart and in Compose agree: a reader who builds an image as a page says
 * has the image that a manifest names.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { packageRoot, packageVersion } from '#config/paths.js'

const ROOT = packageRoot()
const filesOf = (folder: string, end: RegExp): string[] => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  .filter(name => end.test(name))
  .map(name => join(folder, name))
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const OURS = ['a2a-gateway', 'a2a-gateway-agents'].map(name => `${name}:${packageVersion()}`)
/** A release publishes under a name of a registry. */
const PAGES = ['README.md', ...filesOf('docs', /\.md$/).filter(name => !/^docs.extensions|releasing\.md$/.test(name))]

t.test('pages build and run images by their name and version', async t => {
  const named = PAGES.flatMap(page => [...read(page).replaceAll('\\\n', ' ').matchAll(/docker (?:build|run|create) [^`\n]+/g)].map(([command]) => ({ page, command })))
  t.ok(named.length > 4)
  t.same(named.filter(({ command }) => !OURS.some(image => command.includes(image)) && !command.includes('docker network')), [])
})

t.test('manifests, chart and Compose name the same images', async t => {
  const images = filesOf('deploy', /\.ya?ml$/).flatMap(file => [...read(file).matchAll(/^\s*(?:- )?image: ["']?([\w./:-]+)/gm)].map(([, image = '']) => ({ file, image })))
  const ours = images.filter(({ image }) => image.includes('a2a-gateway'))
  t.ok(ours.length >= 3)
  t.same(ours.filter(({ image }) => !OURS.includes(image)), [])
  t.same(images.filter(({ image }) => image.endsWith(':latest')), [], 'the kubelet pulls an image of this tag each time, so that a loaded one is not used')
  const { image } = parse(read('deploy/helm/a2a-extension-gateway/values.yaml')) as { image: { repository: string, tag?: string } }
  const { appVersion } = parse(read('deploy/helm/a2a-extension-gateway/Chart.yaml')) as { appVersion: string }
  t.ok(OURS.includes(`${image.repository.split('/').at(-1) ?? ''}:${(image.tag ?? '') === '' ? appVersion : image.tag ?? ''}`), JSON.stringify(image))
})
