import { readFileSync } from 'node:fs'
import t from 'tap'
import { librariesOf } from '../../scripts/image/runtime.js'
import { sbom } from '../../scripts/image/sbom.js'
import type { Bom } from '../../scripts/image/sbom.js'
import { needed, productionOf } from '../../scripts/image/trim.js'
import type { Lock } from '../../scripts/image/trim.js'

t.test('of a package the image has code, data and licences, but no development files', async t => {
  const yes = [
    'node_modules/a/index.js',
    'node_modules/a/lib/x.mjs',
    'node_modules/a/package.json',
    'node_modules/@s/a/dist/x.cjs',
    'node_modules/a/LICENSE',
    'node_modules/a/LICENSE.md',
    'node_modules/a/licence.txt',
    'node_modules/a/NOTICE',
    'node_modules/yaml/dist/doc/Document.js',
    'node_modules/a/lib/test/x.js',
    'node_modules/a/lib/license.js',
    'node_modules/a/node_modules/@s/b/index.js',
    'node_modules/a/build/src/index.js'
  ]
  const no = [
    'node_modules/a/index.js.map',
    'node_modules/a/index.d.ts',
    'node_modules/a/README.md',
    'node_modules/a/test/x.js',
    'node_modules/@s/a/test/x.js',
    'node_modules/a/node_modules/b/docs/x.js',
    'node_modules/a/.github/x.js',
    'node_modules/.package-lock.json',
    'node_modules/@s/a/build/esm/index.js',
    'node_modules/a/build/esnext/index.js',
    'node_modules/a/src/index.ts'
  ]
  t.same(yes.filter(path => !needed(path)), [])
  t.same(no.filter(needed), [])
})

t.test('of the lock file the image has the runtime dependencies', async t => {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock
  const production = productionOf(lock)
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Record<string, string>>
  t.same(Object.keys(dependencies ?? {}).filter(name => !production.has(`node_modules/${name}`)), [])
  // A test may use a package that a runtime dependency brings anyway.
  const brought = new Set(Object.entries(lock.packages)
    .filter(([path]) => production.has(path))
    .flatMap(([, { dependencies = {} }]) => Object.keys(dependencies)))
  t.same(Object.keys(devDependencies ?? {}).filter(name => production.has(`node_modules/${name}`) && !brought.has(name)), [])
  t.same(
    [
      ...productionOf({
        packages: { '': {}, 'node_modules/a': {}, 'node_modules/b': { dev: true }, 'node_modules/c': { devOptional: true } }
      })
    ],
    ['node_modules/a']
  )
})

t.test('the libraries of Node are those that ldd names', async t => {
  t.same(
    librariesOf(
      '\tlinux-vdso.so.1 (0x00007f)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n'
    ),
    ['/lib/x86_64-linux-gnu/libm.so.6', '/lib64/ld-linux-x86-64.so.2']
  )
  t.throws(() => librariesOf('\tlibatomic.so.1 => not found\n'), { message: 'a library of Node is missing: libatomic.so.1 => not found' })
})

t.test('the SBOM matches the image, and the same content gives the same bytes', async t => {
  const component = (name: string): { 'bom-ref': string; type: string; name: string; version: string; purl: string } => ({
    'bom-ref': `${name}@1.0.0`,
    type: 'library',
    name,
    version: '1.0.0',
    purl: `pkg:npm/${name}@1.0.0`
  })
  const npm = (serialNumber: string): Bom => ({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber,
    metadata: { component: component('build') },
    components: [component('a'), component('b')],
    dependencies: [
      { ref: 'build@1.0.0', dependsOn: ['a@1.0.0', 'b@1.0.0'] },
      { ref: 'a@1.0.0', dependsOn: [] },
      { ref: 'b@1.0.0', dependsOn: [] }
    ]
  })
  const around = {
    production: new Set(['a@1.0.0']),
    node: '24.1.0',
    packages: [{ name: 'libc6', version: '2.36-9+deb12u1', architecture: 'amd64', status: '' }],
    distribution: 'debian-12',
    epoch: 86_400
  }
  const text = sbom(npm('urn:uuid:1'), around)
  t.equal(sbom(npm('urn:uuid:2'), around), text)
  t.not(sbom(npm('urn:uuid:1'), { ...around, node: '24.1.1' }), text)
  const bom = JSON.parse(text) as Bom & { metadata: { timestamp: string } }
  t.match(bom.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/)
  t.equal(bom.metadata.timestamp, '1970-01-02T00:00:00.000Z')
  t.same(
    bom.components.map(({ purl }) => purl),
    ['pkg:npm/a@1.0.0', 'pkg:generic/node@24.1.0', 'pkg:deb/debian/libc6@2.36-9%2Bdeb12u1?arch=amd64&distro=debian-12']
  )
  t.same(bom.dependencies, [{ ref: 'build@1.0.0', dependsOn: ['a@1.0.0'] }, { ref: 'a@1.0.0', dependsOn: [] }])
})
