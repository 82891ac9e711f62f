/** The theme: light, dark, or the system's. The page that signs in has no choice of its own. */
const KEY = 'console-theme'
const select = document.getElementById('theme')

function remembered () {
  try {
    return localStorage.getItem(KEY) ?? 'auto'
  } catch {
    return 'auto'
  }
}

function use (theme) {
  if (theme === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

use(remembered())
if (select !== null) select.value = remembered()
select?.addEventListener('change', () => {
  use(select.value)
  try {
    localStorage.setItem(KEY, select.value)
  } catch {
    // Without storage, the choice applies to this page only.
  }
})
