/**
 * The editor of the playground: CodeMirror with YAML, completion and hover from the schema of the configuration, and the gateway's own
 * diagnostics. The build bundles this module into one file of the page (scripts/bundle/editor.ts), and the page loads the file when the
 * playground is opened.
 */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, indentOnInput, indentService, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { contextAt } from './context.js'
import { describe, keysOf, schemasAt, valuesOf } from './schema.js'

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)', fontWeight: '600' },
  { tag: tags.comment, color: 'var(--dim)', fontStyle: 'italic' },
  { tag: [tags.string, tags.content], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--info)' },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: 'var(--soft)' }
])

const look = EditorView.theme({
  '&': { backgroundColor: 'var(--card)', color: 'var(--text)', fontSize: '13px', height: '100%' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--sunk)', color: 'var(--dim)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--accent) 7%, transparent)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': { backgroundColor: 'var(--accent-soft)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--card)',
    color: 'var(--text)',
    border: '1px solid var(--strong)',
    borderRadius: '6px',
    maxWidth: 'min(440px, 90vw)',
    fontFamily: 'var(--sans)'
  },
  '.cm-tooltip-hover': { padding: '6px 10px' },
  '.cm-tooltip p': { margin: '0' },
  '.cm-tooltip p + p': { marginTop: '4px' },
  '.cm-tooltip .place': { fontFamily: 'var(--mono)', fontWeight: '600' },
  '.cm-tooltip .facts': { color: 'var(--dim)', fontSize: '12px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent-soft)', color: 'var(--text)' },
  '.cm-completionInfo': { padding: '6px 10px', fontSize: '13px' },
  '.cm-completionDetail': { color: 'var(--dim)', fontStyle: 'normal' },
  '.cm-diagnostic': { fontFamily: 'var(--sans)', whiteSpace: 'pre-wrap' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn)' },
  '.cm-lint-marker': { width: '0.9em', height: '0.9em' },
  '.cm-lint-marker-error, .cm-lint-marker-warning': { content: 'none', borderRadius: '50%', backgroundColor: 'var(--bad)' },
  '.cm-lint-marker-warning': { backgroundColor: 'var(--warn)' }
})

/**
 * @param {HTMLElement} host element that the editor fills
 * @param {{
 *   label: string,
 *   schema: object,
 *   policies: {name: string, title: string | null}[],
 *   text: string,
 *   onChange: (text: string) => void
 * }} options
 */
export function createEditor (host, { label, schema, policies, text, onChange }) {
  // The page allows no inline styles. In a shadow root, CodeMirror adopts style sheets, which the policy of the page allows.
  const root = host.attachShadow({ mode: 'open' })
  const at = (state, position) => contextAt(state.doc.toString(), position)

  const complete = context => {
    const { path, kind, word, present } = at(context.state, context.pos)
    if (word === '' && !context.explicit) return null
    const schemas = schemasAt(schema, path)
    const options = kind === 'key' ? keyOptions(schemas, present) : []
    const isItem = typeof path.at(-1) === 'number'
    if (kind === 'value' || isItem) options.push(...valuesOf(schemas, policies).map(({ text, detail }) => ({ label: text, detail, type: 'constant' })))
    return options.length === 0 ? null : { from: context.pos - word.length, options, validFor: /^[\w./:-]*$/ }
  }

  const keyOptions = (schemas, present) => keysOf(schemas, policies)
    .filter(({ name }) => !present.includes(name))
    .map(({ name, type, info, required }) => ({
      label: name,
      apply: `${name}: `,
      detail: required ? `${type}, required` : type,
      info,
      type: 'property',
      boost: required ? 1 : 0
    }))

  const hover = hoverTooltip((view, position) => {
    const word = view.state.wordAt(position)
    if (word === null) return null
    const { path, kind, word: before } = at(view.state, word.to)
    const place = kind === 'key' ? [...path, before.replaceAll(/["']/g, '')] : path
    const found = describe(schemasAt(schema, place), place)
    return found === null ? null : { pos: word.from, end: word.to, above: true, create: () => ({ dom: tooltip(found) }) }
  })

  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        indentOnInput(),
        indentService.of(indentation),
        closeBrackets(),
        yaml(),
        syntaxHighlighting(colours),
        autocompletion({ override: [complete], icons: false }),
        hover,
        look,
        EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' }),
        // Tab moves the focus, so that nobody is caught in the editor.
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
        EditorView.updateListener.of(update => { if (update.docChanged) onChange(update.state.doc.toString()) })
      ]
    })
  })

  return {
    text: () => view.state.doc.toString(),
    set: text => { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }) },
    /** @param {{line: number, col: number, message: string, hint?: string, severity: 'error' | 'warning'}[]} list */
    show: list => {
      view.dispatch(setDiagnostics(view.state, list.map(one => ({ ...range(view.state.doc, one), severity: one.severity, message: words(one) }))))
    },
    /** Moves the cursor to a place, and the focus into the editor. */
    go: ({ line, col }) => {
      const { from } = range(view.state.doc, { line, col })
      view.dispatch({ selection: { anchor: from }, scrollIntoView: true })
      view.focus()
    },
    close: () => { view.destroy() }
  }
}

/** A new line stands below the content of the line before, and deeper below a key without a value. */
function indentation (context, position) {
  const { text } = context.lineAt(position, -1)
  const [content] = /^\s*(?:- +)*/.exec(text)
  return content.length + (/^[^#]*:\s*$/.test(text) ? 2 : 0)
}

function words ({ message, hint }) {
  return hint === undefined ? message : `${message} (${hint})`
}

/** The word at a place, or the rest of its line. Places of the last answer may lie beyond a text that has become shorter. */
function range (doc, { line, col }) {
  const { from, to, text } = doc.line(Math.min(Math.max(line, 1), doc.lines))
  const start = Math.min(from + Math.max(col, 1) - 1, to)
  const [word = ''] = /^[\w./-]+|^\S/.exec(text.slice(start - from)) ?? []
  return { from: start, to: start + word.length }
}

function tooltip ({ title, text, facts }) {
  const element = document.createElement('div')
  for (const [name, content] of [['place', title], ['', text], ['facts', facts.join(' · ')]]) {
    if (content === '') continue
    const paragraph = document.createElement('p')
    paragraph.className = name
    paragraph.textContent = content
    element.append(paragraph)
  }
  return element
}
