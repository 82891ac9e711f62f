import { useData, withBase } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { h } from 'vue'
import './style.css'

/** The five groups of pages, above each page: on a narrow screen the menu is closed. */
const Doors = {
  setup () {
    const { theme } = useData()
    return () => h('nav', { class: 'doors', 'aria-label': 'All pages' }, theme.value.doors.map(({ text, link }) => h('a', { href: withBase(link) }, text)))
  }
}

export default { extends: DefaultTheme, Layout: () => h(DefaultTheme.Layout, null, { 'doc-before': () => h(Doors) }) }
