/** Light, dark, or as the system says. */
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
select.value = remembered()
select.addEventListener('change', () => {
  use(select.value)
  try {
    localStorage.setItem(KEY, select.value)
  } catch {
    // Then it holds for this page.
  }
})
