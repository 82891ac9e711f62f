import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { OUTPUT, SOURCE } from '../paths.mjs'
import { rowIds, rowsAsHeadings, slugOf } from '../rows.mjs'
import { SEARCH } from '../search.mjs'

const { address, sidebar, doors } = JSON.parse(readFileSync(join(SOURCE, 'site.json'), 'utf8'))

export default defineConfig({
  title: 'a2a-extension-gateway',
  description: 'A reverse proxy that enforces A2A extensions in front of agents, without changing them',
  lang: 'en',
  base: process.env.SITE_BASE ?? '/',
  srcDir: SOURCE,
  outDir: OUTPUT,
  cacheDir: join(SOURCE, 'cache'),
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    anchor: { slugify: slugOf },
    // Without colours: the highlighter has no grammar of PromQL.
    languages: [{ name: 'promql', scopeName: 'source.promql', patterns: [], repository: {} }],
    config: md => { md.use(rowIds) }
  },
  themeConfig: {
    sidebar,
    nav: doors,
    doors,
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: address }],
    search: {
      provider: 'local',
      options: {
        detailedView: true,
        miniSearch: SEARCH,
        _render: (text, env, md) => rowsAsHeadings(md.render(text, env))
      }
    }
  }
})
