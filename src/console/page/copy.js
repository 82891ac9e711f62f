/** Copies a command to the clipboard. */
import { h, replace, say } from './dom.js'

/**
 * Builds a button that copies a text. Browsers offer the clipboard only to pages of HTTPS and of this machine: elsewhere, the text appears
 * below the button, selected.
 * @param textOf returns the text, or a promise of it
 * @param {string | null} note what the user has to know about the text
 */
export function copyButton (label, textOf, note = null) {
  const place = h('div', { class: 'copied' })
  const button = h('button', {
    type: 'button',
    onclick: async () => {
      try {
        const text = await textOf()
        await copy(text, place)
        if (note !== null) place.append(h('p', { class: 'dim small' }, note))
      } catch (error) {
        replace(place, h('p', { class: 'notice', 'data-kind': 'bad' }, error.message))
      }
    }
  }, label)
  return { button, place }
}

async function copy (text, place) {
  const box = h('textarea', { readonly: true, rows: '6', 'aria-label': 'The copied text', value: text })
  let copied = false
  try {
    await navigator.clipboard.writeText(text)
    copied = true
  } catch {
    // No clipboard for this page.
  }
  replace(place, h('p', { class: 'small' }, copied ? 'Copied.' : 'The browser blocked copying. Select the text and copy it.'), box)
  if (copied) return say('Copied.')
  box.focus()
  box.select()
}

/**
 * Writes a request as a command for a POSIX shell.
 * @param {{method: string, url: string, headers: [string, string][], body: string, stream: boolean}} request
 */
export function curlOf ({ method, url, headers, body, stream }) {
  const verb = method === (body === '' ? 'GET' : 'POST') ? '' : ` -X ${method}`
  return [
    `curl -sS -i${stream ? ' -N' : ''}${verb} ${quoted(url)}`,
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === '' ? [] : [`--data-raw ${quoted(body)}`])
  ].join(' \\\n  ')
}

function quoted (text) {
  return `'${text.replaceAll("'", "'\\''")}'`
}
