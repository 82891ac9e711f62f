/** Reads `curl` commands into requests: what curl would send, for the flags that people and browsers use. */
import type { ReadBeside, Recordings } from './http-file.js'
import type { RecordedRequest } from './recorded-request.js'
import { requestOf } from './recorded-request.js'
import { shellCommands } from './shell-words.js'
import { RecordingError } from './recorded-response.js'

const COMMAND = /^(?:\s*#[^\n]*\n)*\s*(?:[$%>]\s+)?curl(?:\.exe)?\s/
const PROMPT = /^((?:\s*#[^\n]*\n)*\s*)[$%>]\s+(?=curl\b)/

/** True for a text that begins with a curl command, also after comments and a prompt. */
export function isCurl (text: string): boolean {
  return COMMAND.test(text)
}

/**
 * Reads the curl commands of a text. Other commands, such as a `| jq` behind one, are skipped with a warning.
 * @throws {RecordingError}
 */
export function readCurl (text: string, place: Pick<CurlPlace, 'file' | 'read' | 'pasted' | 'ownFlags'>): Recordings {
  const { file } = place
  const requests: RecordedRequest[] = []
  const warnings: string[] = []
  for (const { line, words, input } of shellCommands(text.replace(PROMPT, '$1'), file)) {
    const [name = ''] = words
    if (!/^curl(?:\.exe)?$/.test(name)) warnings.push(`${file}:${line}: skipped: it is not a curl command`)
    else requests.push(curlRequest(words.slice(1), { ...place, line, input }))
  }
  return { requests, warnings }
}

export interface CurlPlace {
  /** Name of the source in problems. */
  readonly file: string
  /** Line of the command, from 1. 0: none. */
  readonly line: number
  readonly read: ReadBeside
  /** True for a command that its reader has typed or pasted. Its files are relative to the working directory. */
  readonly pasted?: boolean
  /** Flags of the command that reads this one, and that do not belong behind `curl`. */
  readonly ownFlags?: readonly string[]
  /** Standard input of the command, or null. */
  readonly input: string | null
}

/** Flags that set the request, by their long names. */
const LONG = [
  'request', 'header', 'data', 'data-raw', 'data-binary', 'data-ascii', 'json', 'url', 'user-agent', 'user', 'referer', 'cookie', 'oauth2-bearer',
  'get', 'head', 'compressed'
] as const
type Meaning = typeof LONG[number]

const SHORT: Readonly<Record<string, Meaning>> = {
  X: 'request', H: 'header', d: 'data', A: 'user-agent', u: 'user', e: 'referer', b: 'cookie', G: 'get', I: 'head'
}
const SWITCHES: readonly Meaning[] = ['get', 'head', 'compressed']

/** Flags that change nothing about the request as the gateway sees it: about the connection, the output and redirects. */
const IGNORED_SHORT = '#0123456ajfgiJkLnNOqRsSvZ'
const IGNORED_SHORT_WITH_VALUE = 'CcDEmowxyYz'
const IGNORED_LONG =
  /^(?:silent|show-error|include|show-headers|verbose|insecure|location|location-trusted|fail|fail-early|fail-with-body|no-.*|progress-bar|http[0123.]+|http2-prior-knowledge|tlsv1.*|ipv[46]|globoff|path-as-is|remote-name|remote-header-name|remote-name-all|tcp-.*|trace-time|create-dirs|raw|disable|styled-output|tr-encoding|parallel|remove-on-error|skip-existing|ssl.*)$/
const IGNORED_LONG_WITH_VALUE =
  /^(?:output|output-dir|write-out|max-time|connect-timeout|retry|retry-delay|retry-max-time|max-redirs|max-filesize|limit-rate|speed-limit|speed-time|proxy|proxy-user|noproxy|cacert|capath|cert|cert-type|key|key-type|pass|ciphers|tls-max|resolve|connect-to|interface|dns-servers|unix-socket|keepalive-time|dump-header|cookie-jar|stderr|trace|trace-ascii|expect100-timeout)$/
const NO_FORMS = /^(?:form|form-string|upload-file|data-urlencode)$/

interface Draft {
  method: string | null
  url: string | null
  readonly headers: [name: string, value: string | null][]
  readonly data: Buffer[]
  json: boolean
  get: boolean
}

/**
 * Reads one command.
 * @param words arguments of curl
 * @throws {RecordingError} for flags whose effect on the request is not known, and requests that no client could send
 */
export function curlRequest (words: readonly string[], place: CurlPlace): RecordedRequest {
  const draft: Draft = { method: null, url: null, headers: [], data: [], json: false, get: false }
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string
    const value = (flag: string): string => words[++i] ?? fail(place, `curl's flag ${flag} has no value`, 'paste the whole command')
    if (word.startsWith('--')) longFlag(word.slice(2), value, draft, place)
    else if (word.startsWith('-') && word !== '-') shortFlags(word.slice(1), value, draft, place)
    else setUrl(word, draft, place)
  }
  return finished(draft, place)
}

type ValueOf = (flag: string) => string

function longFlag (name: string, value: ValueOf, draft: Draft, place: CurlPlace): void {
  const meaning = LONG.find(flag => flag === name)
  if (meaning !== undefined) apply(meaning, SWITCHES.includes(meaning) ? '' : value(`--${name}`), draft, place)
  else if (NO_FORMS.test(name)) fail(place, `curl's flag --${name} sends a form or an upload`, 'A2A has none; use --json or --data')
  else if (IGNORED_LONG_WITH_VALUE.test(name)) value(`--${name}`)
  else if (!IGNORED_LONG.test(name)) unknown(`--${name}`, place)
}

/** Reads flags that share one word, such as `-sSd`. The value of a flag is the rest of the word, or the next word. */
function shortFlags (letters: string, value: ValueOf, draft: Draft, place: CurlPlace): void {
  for (let i = 0; i < letters.length; i++) {
    const letter = letters[i] as string
    const meaning = Object.hasOwn(SHORT, letter) ? SHORT[letter] : undefined
    const ownValue = (): string => letters.slice(i + 1) || value(`-${letter}`)
    if (meaning !== undefined && SWITCHES.includes(meaning)) apply(meaning, '', draft, place)
    else if (meaning !== undefined) return apply(meaning, ownValue(), draft, place)
    else if (letter === 'F' || letter === 'T') {
      fail(
        place, `curl's flag -${letter} sends a form or an upload`, 'A2A has none; use --json or --data'
      )
    } else if (IGNORED_SHORT_WITH_VALUE.includes(letter)) {
      ownValue()
      return
    } else if (!IGNORED_SHORT.includes(letter)) unknown(`-${letter}`, place)
  }
}

function apply (meaning: Meaning, value: string, draft: Draft, place: CurlPlace): void {
  switch (meaning) {
    case 'request': draft.method = value; break
    case 'url': setUrl(value, draft, place); break
    case 'get': draft.get = true; break
    case 'head': draft.method ??= 'HEAD'; break
    case 'header': draft.headers.push(headerOf(value, place)); break
    case 'user-agent': draft.headers.push(['User-Agent', value]); break
    case 'referer': draft.headers.push(['Referer', value]); break
    case 'compressed': draft.headers.push(['Accept-Encoding', 'deflate, gzip']); break
    case 'oauth2-bearer': draft.headers.push(['Authorization', `Bearer ${value}`]); break
    case 'user':
      draft.headers.push(['Authorization', `Basic ${Buffer.from(value.includes(':') ? value : `${value}:`).toString('base64')}`])
      break
    case 'cookie':
      if (!value.includes('=')) fail(place, 'the cookies are in a file', "write --cookie 'NAME=VALUE'")
      draft.headers.push(['Cookie', value])
      break
    default: addData(meaning, value, draft, place)
  }
}

/** Appends data as curl does: several values are joined with `&`, those of `--json` without it. */
function addData (meaning: Meaning, value: string, draft: Draft, place: CurlPlace): void {
  if (meaning === 'json') draft.json = true
  else if (draft.data.length > 0) draft.data.push(Buffer.from('&'))
  if (meaning === 'data-raw' || !value.startsWith('@')) {
    draft.data.push(Buffer.from(value))
    return
  }
  const bytes = contentOf(value.slice(1), place)
  // Without --data-binary and --json, curl removes line ends and NUL characters of files.
  draft.data.push(meaning === 'data-binary' || meaning === 'json'
    ? bytes
    : Buffer.from(bytes.filter(byte => byte !== 10 && byte !== 13 && byte !== 0)))
}

function contentOf (path: string, place: CurlPlace): Buffer {
  if (path === '-') {
    return place.input === null
      ? fail(place, 'the body is the standard input of curl', 'write the body into the command, or name its file')
      : Buffer.from(place.input)
  }
  try {
    return place.read(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'does not exist' : 'cannot be read'
    return place.pasted === true
      ? fail(place, `the file of the body, ${path}, ${why}`, 'its path is relative to the working directory')
      : fail(place, `the file of the body ${why}`, 'its path is relative to the recording')
  }
}

/** @returns a value of null for `Name:`, which removes curl's own header */
function headerOf (text: string, place: CurlPlace): [string, string | null] {
  const [, name = '', mark = '', value = ''] = /^([^:;]+)([:;])([^]*)$/.exec(text) ?? []
  if (name === '' || text.startsWith('@')) return fail(place, "a value of curl's flag --header is not a header", "write 'Name: value'")
  if (mark === ';') return [name.trim(), '']
  return [name.trim(), value.trim() === '' ? null : value.trim()]
}

function setUrl (url: string, draft: Draft, place: CurlPlace): void {
  if (draft.url !== null) fail(place, 'the command names several URLs', 'give one; a value with spaces needs quotes')
  draft.url = url
}

function finished (draft: Draft, place: CurlPlace): RecordedRequest {
  const { url, data, json, get } = draft
  if (url === null) return fail(place, 'the curl command names no URL', 'paste the whole command')
  const sends = data.length > 0
  const content = Buffer.concat(data)
  const own: [string, string][] = [
    ...(sends && !get ? [['Content-Type', json ? 'application/json' : 'application/x-www-form-urlencoded'] as [string, string]] : []),
    ['Accept', json ? 'application/json' : '*/*']
  ]
  const stated = draft.headers.map(([name]) => name.toLowerCase())
  return requestOf(
    {
      name: null,
      line: place.line,
      method: draft.method ?? (sends && !get ? 'POST' : 'GET'),
      url: sends && get ? `${url}${url.includes('?') ? '&' : '?'}${content.toString()}` : url,
      headers: [
        ...draft.headers.flatMap(([name, value]) => value === null ? [] : [name, value]),
        ...own.filter(([name]) => !stated.includes(name.toLowerCase())).flat()
      ],
      body: get ? Buffer.alloc(0) : content,
      response: null
    },
    place.file
  )
}

function unknown (flag: string, place: CurlPlace): never {
  const [name = ''] = flag.slice(2).split('=')
  if (place.ownFlags?.includes(name) === true) {
    fail(place, `--${name} is a flag of explain, but stands behind "curl"`, `write "a2a-gateway explain --${name} ... curl ..."`)
  }
  return fail(place, `curl's flag ${flag} is not supported`, 'remove it if the request stays the same without it')
}

function fail ({ file, line }: CurlPlace, what: string, remedy: string): never {
  throw new RecordingError(file, line, what, remedy)
}
