/** The directory as HTML, without a script. Every text comes from a card, so every text is escaped, and no address of a card is loaded. */
import { createHash } from 'node:crypto'
import type { SecurityScheme } from '#a2a/card/security.js'
import { sampleOf } from '#jsonschema/sample.js'
import type { DirectoryEntry, DirectoryInterface } from './entry.js'
import { parseUrl } from '#wire/url.js'

/** The style of the directory. The colours are those of the console (`console/page/console.css`). */
const STYLE = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f7f9, #0f1218); --card: light-dark(#ffffff, #171b23); --sunk: light-dark(#f1f3f6, #1e232d);
  --line: light-dark(#e0e4ea, #2a313d); --text: light-dark(#1a202c, #e8ecf2); --soft: light-dark(#4a5568, #b8c1ce);
  --accent: light-dark(#4338ca, #a5a8ff); --warn: light-dark(#8a4b00, #f2c06b); --warn-soft: light-dark(#fdf0d8, #372711);
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
*, *::before, *::after { box-sizing: border-box; }
body { margin: 0 auto; max-width: 960px; padding: 24px 24px 48px; background: var(--ground); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 28px; }
h2 { margin: 0; font-size: 21px; }
h3 { margin: 24px 0 8px; font-size: 16px; }
small { font-size: 14px; font-weight: 400; color: var(--soft); }
p { margin: 6px 0; }
a { color: var(--accent); text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
ul { list-style: none; margin: 0; padding: 0; }
nav ul { display: flex; flex-wrap: wrap; gap: 6px 18px; margin-top: 16px; }
article, section { margin-top: 24px; padding: 24px; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
dl { display: grid; grid-template-columns: 8.5em 1fr; gap: 6px 16px; margin: 16px 0 0; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; }
code, pre { font-family: var(--mono); font-size: 14px; }
pre { margin: 8px 0 0; padding: 12px 14px; background: var(--sunk); border: 1px solid var(--line); border-radius: 8px; overflow-x: auto;
  overflow-wrap: normal; line-height: 1.5; }
.cards > li { padding: 12px 0; border-top: 1px solid var(--line); }
.cards > li:first-child { border-top: 0; padding-top: 0; }
.tag { display: inline-block; padding: 0 8px; border: 1px solid var(--line); border-radius: 99px; font-size: 14px; font-weight: 400; color: var(--soft); }
strong.tag { color: var(--warn); background: var(--warn-soft); border-color: currentcolor; }
.soft { color: var(--soft); }
blockquote { margin: 6px 0; padding-left: 12px; border-left: 3px solid var(--line); color: var(--soft); }
details { margin-top: 6px; }
summary { cursor: pointer; color: var(--accent); width: fit-content; }
@media (max-width: 600px) {
  body { padding: 16px 12px 32px; }
  article, section { padding: 16px; }
  dl { grid-template-columns: 1fr; gap: 2px; }
  dd { margin-bottom: 10px; }
}
`

/** Only the style of the page itself applies. A link is the only way out of the page. */
export const PAGE_POLICY =
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; img-src data:; base-uri 'none'; ` +
    'form-action \'none\'; frame-ancestors \'none\''

/** The section of one agent. */
export interface Section {
  readonly entry: DirectoryEntry
  /** Path of the agent, which has no characters that HTML or a URL must escape. */
  readonly id: string
  readonly html: string
}

export function pageOf (sections: readonly Section[]): string {
  const { length } = sections
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Agents</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>Agents</h1>
<p>${length === 0 ? NOBODY : `${length === 1 ? 'One agent' : `${length} agents`} that clients call with ${A2A}.`}</p>
</header>
${length > 1 ? contentsOf(sections) : ''}
<main>
${sections.map(({ html }) => html).join('\n')}
${length > 0 ? ABOUT : ''}
</main>
</body>
</html>
`
}

const A2A = '<a href="https://a2a-protocol.org" rel="noreferrer">A2A</a>'
const NOBODY = 'No agent shows its card to callers without credentials.'

const ABOUT = `<section>
<h2>About calls</h2>
<p>Send requests to an address of the agent. The header <code>A2A-Version: 1.0</code> selects A2A 1.0; without the header, a request is one of 0.3.</p>
<p>Activate an extension by naming its URI in the header <code>A2A-Extensions</code>, once for each extension. Requests without a required extension are rejected, and the error says how to fix the request.</p>
</section>`

function contentsOf (sections: readonly Section[]): string {
  const items = sections.map(({ entry, id }) => `<li><a href="#${id}">${titleOf(entry)}</a></li>`)
  return `<nav aria-label="Agents"><ul>${items.join('')}</ul></nav>`
}

function titleOf ({ name }: DirectoryEntry): string {
  return `<bdi>${escaped(name === '' ? 'An agent without a name' : name)}</bdi>`
}

/** @param path of the agent */
export function sectionOf (entry: DirectoryEntry, path: string): Section {
  const id = path === '' ? '/' : path
  return { entry, id, html: articleOf(entry, id) }
}

function articleOf (entry: DirectoryEntry, id: string): string {
  const { version, description, extensions, skills, schemas } = entry
  const call = callText(entry)
  return [
    `<article id="${id}">`,
    `<h2>${titleOf(entry)}${version === '' ? '' : ` <small>${escaped(version)}</small>`}</h2>`,
    paragraph(description),
    `<dl>${factsOf(entry)}</dl>`,
    call === null ? '' : `<h3>A first call</h3>\n${code(call, 'A first call')}`,
    listOf('Extensions', extensions.map(({ uri, required, description, params }) =>
      `${linkOr(uri)}${required ? ' <strong class="tag">required</strong>' : ''}${paragraph(description)}${params === undefined ? '' : details('Parameters', params)}`)),
    listOf('Skills', skills.map(({ id, name, description, tags, examples, inputModes, outputModes }) => [
      `<strong><bdi>${escaped(name === '' ? id : name)}</bdi></strong> <code>${escaped(id)}</code>`,
      paragraph(description),
      tags.length === 0 ? '' : `<p>${tags.map(tag => `<span class="tag">${escaped(tag)}</span>`).join(' ')}</p>`,
      ...examples.map(example => `<blockquote dir="auto">${escaped(example)}</blockquote>`),
      modes('Input', inputModes) + modes('Output', outputModes)
    ].join(''))),
    listOf('Schemas', Object.entries(schemas).map(([name, schema]) =>
      `<code>${escaped(name)}</code>${details('Schema', schema)}${details('Example', sampleOf(schema))}`)),
    '</article>'
  ].filter(part => part !== '').join('\n')
}

function factsOf (entry: DirectoryEntry): string {
  const { interfaces, provider, documentationUrl, card, security: { schemes, alternatives } } = entry
  const can = [
    entry.streaming ? 'streaming' : '', entry.pushNotifications ? 'push notifications' : '', entry.extendedCard ? 'extended card' : ''
  ]
  const callers = alternatives.map(names => names.length === 0
    ? 'no credentials'
    : names.map(name => schemeText(name, schemes[name])).join(' and '))
  const by = provider.organization === '' ? provider.url : provider.organization
  const facts: readonly (readonly [string, string])[] = [
    ['Addresses', interfaces.map(({ binding, version, url, tenant }) =>
      `<div><code>${escaped(url)}</code> ` +
        `${escaped(binding)} ${escaped(version)}${tenant === null ? '' : `, tenant <code>${escaped(tenant)}</code>`}</div>`).join('')],
    ['Credentials', callers.length === 0 ? '' : callers.map(caller => `<div>${caller}</div>`).join('')],
    ['Supports', can.filter(feature => feature !== '').join(', ')],
    ['Card', linkOr(card)],
    ['Documentation', documentationUrl === '' ? '' : linkOr(documentationUrl)],
    ['Provider', by === '' ? '' : linkOr(provider.url, by)]
  ]
  return facts.filter(([, value]) => value !== '').map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`).join('')
}

/** @returns HTML */
function schemeText (name: string, scheme: SecurityScheme | undefined): string {
  switch (scheme?.kind) {
    case 'apiKey':
      return `an API key in the ${scheme.in === 'query' ? 'query parameter' : scheme.in} <code>${escaped(scheme.name)}</code>`
    case 'http':
      return `HTTP authentication with <code>${escaped(scheme.scheme)}</code>`
    case 'oauth2':
      return `an OAuth 2 access token${from(scheme.metadataUrl ?? scheme.tokenUrl)}`
    case 'openIdConnect':
      return `an OpenID Connect token${from(scheme.url)}`
    case 'mutualTLS':
      return 'a client certificate'
    default:
      return `<code>${escaped(name)}</code>`
  }
}

function from (url: string | null): string {
  return url === null ? '' : ` from ${linkOr(url)}`
}

function modes (title: string, types: readonly string[]): string {
  return types.length === 0 ? '' : `<p class="soft">${title}: ${types.map(type => `<code>${escaped(type)}</code>`).join(', ')}</p>`
}

function listOf (title: string, items: readonly string[]): string {
  return items.length === 0 ? '' : `<h3>${title}</h3>\n<ul class="cards">${items.map(item => `<li>${item}</li>`).join('\n')}</ul>`
}

/** Largest JSON with indentation, in characters. */
const INDENTED = 65_536

function details (title: string, value: unknown): string {
  const text = JSON.stringify(value, null, 2)
  // Indentation can be a hundred times as long as a value that is deep and wide.
  return `<details><summary>${title}</summary>${code(text.length > INDENTED ? JSON.stringify(value) : text, title)}</details>`
}

/** The block scrolls, so it takes the focus of the keyboard. */
function code (text: string, label: string): string {
  return `<pre tabindex="0" role="region" aria-label="${label}"><code>${escaped(text)}</code></pre>`
}

function paragraph (text: string): string {
  return text === '' ? '' : `<p dir="auto">${escaped(text)}</p>`
}

/** A link for http(s), which is no more than an address; the text alone for anything else. */
function linkOr (url: string, text = url): string {
  return /^https?:\/\/[^\s"<>]+$/i.test(url) && parseUrl(url) !== null
    ? `<a href="${escaped(url)}" rel="noreferrer">${escaped(text)}</a>`
    : `<span class="wrap">${escaped(text)}</span>`
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escaped (text: string): string {
  return text.replace(/[&<>"']/g, character => ENTITIES[character] ?? '')
}

// A first call of an agent as a curl command, from its entry in the directory.

/** Bindings and versions that curl can call, the best one first. */
const CALLABLE = ['JSONRPC 1.0', 'HTTP+JSON 1.0', 'JSONRPC 0.3', 'HTTP+JSON 0.3']

/** @returns null for an agent without an interface for JSON over HTTP */
function callText (entry: DirectoryEntry): string | null {
  const best = CALLABLE.map(kind => entry.interfaces.find(({ binding, version }) => `${binding} ${version}` === kind))
  const first = best.find(directoryInterface => directoryInterface !== undefined)
  if (first === undefined) return null
  const old = first.version === '0.3'
  const text = entry.skills.flatMap(({ examples }) => examples)[0] ?? 'Hello'
  const { url, body } = messageOf(first, text)
  const lines = [
    `curl ${quoted(url)}`,
    "-H 'Content-Type: application/json'",
    ...old ? [] : ["-H 'A2A-Version: 1.0'"],
    ...entry.extensions
      .filter(({ required }) => required)
      .map(({ uri }) => `-H ${quoted(`${old ? 'X-A2A-Extensions' : 'A2A-Extensions'}: ${uri}`)}`),
    ...credentialsOf(entry),
    `-d ${quoted(visible(JSON.stringify(body)))}`
  ]
  return lines.join(' \\\n  ')
}

function messageOf ({ binding, version, url, tenant }: DirectoryInterface, text: string): { readonly url: string, readonly body: object } {
  const old = version === '0.3'
  const within = tenant === null ? {} : { tenant }
  if (binding === 'JSONRPC') {
    const message = old
      ? { kind: 'message', messageId: 'm1', role: 'user', parts: [{ kind: 'text', text }] }
      : { messageId: 'm1', role: 'ROLE_USER', parts: [{ text }] }
    return { url, body: { jsonrpc: '2.0', id: 1, method: old ? 'message/send' : 'SendMessage', params: { ...within, message } } }
  }
  const base = url.replace(/\/$/, '')
  if (old) return { url: `${base}/v1/message:send`, body: { message: { messageId: 'm1', role: 'ROLE_USER', content: [{ text }] } } }
  const prefix = tenant === null ? '' : `/${encodeURIComponent(tenant)}`
  return { url: `${base}${prefix}/message:send`, body: { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text }] } } }
}

/** Options of curl for the first alternative of the card, with variables of the shell for the secrets. */
function credentialsOf ({ security: { schemes, alternatives } }: DirectoryEntry): string[] {
  if (alternatives.some(names => names.length === 0)) return []
  return (alternatives[0] ?? []).flatMap(name => {
    const scheme = schemes[name]
    return scheme === undefined ? [] : optionsOf(scheme)
  })
}

function optionsOf (scheme: SecurityScheme): string[] {
  switch (scheme.kind) {
    case 'apiKey':
      if (!/^[\w-]{1,100}$/.test(scheme.name)) return []
      return scheme.in === 'header' ? [`-H "${scheme.name}: $API_KEY"`] : scheme.in === 'cookie' ? [`-b "${scheme.name}=$API_KEY"`] : []
    case 'http':
      return scheme.scheme === 'basic' ? ['-u "$USERNAME:$PASSWORD"'] : ['-H "Authorization: Bearer $TOKEN"']
    case 'mutualTLS':
      return ['--cert client.pem --key client.key']
    default:
      return ['-H "Authorization: Bearer $TOKEN"']
  }
}

/** A word of the shell. Texts of a card must not end the quotation. */
function quoted (text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Escapes control characters, and characters that change the order or hide the presence of others. @param json text of JSON */
function visible (json: string): string {
  return json.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, match =>
    Array.from({ length: match.length }, (_, i) => `\\u${match.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''))
}
