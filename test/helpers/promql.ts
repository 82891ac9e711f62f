/**
 * Finds the metrics and labels in a PromQL expression. The parser knows enough of the grammar to distinguish them from functions, keywords,
 * durations and texts.
 */

export interface Names {
  /** The labels in the selectors of each metric. */
  readonly metrics: ReadonlyMap<string, ReadonlySet<string>>
  /** Labels after `by`, `without`, `on`, `ignoring` and `group_*`. */
  readonly grouping: ReadonlySet<string>
}

const GROUPING = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right'])
const KEYWORDS = new Set([...GROUPING, 'and', 'or', 'unless', 'offset', 'bool', 'atan2', 'inf', 'nan'])
const TOKEN =
  /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|\[[^\]]*\]|#.*|[a-zA-Z_:][\w:]*|\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:ms|[smhdwy])?|[=!<>~]+|[(){},+\-*/%^]|\s+/y

/** @throws Error for unknown syntax */
export function namesOf (expression: string): Names {
  const tokens = tokensOf(expression)
  const metrics = new Map<string, Set<string>>()
  const grouping = new Set<string>()
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as string
    if (token === '{') throw new Error(`a selector without a metric's name: ${expression}`)
    if (!/^[a-zA-Z_:]/.test(token)) continue
    const next = tokens[i + 1]
    if (GROUPING.has(token) && next === '(') {
      const end = tokens.indexOf(')', i)
      for (const label of tokens.slice(i + 2, end)) if (label !== ',') grouping.add(label)
      i = end
    } else if (!KEYWORDS.has(token.toLowerCase()) && next !== '(' && !GROUPING.has(next ?? '')) {
      const labels = metrics.get(token) ?? new Set<string>()
      metrics.set(token, labels)
      if (next !== '{') continue
      const end = tokens.indexOf('}', i)
      for (let at = i + 2; at < end; at += 4) labels.add(tokens[at] as string)
      i = end
    }
  }
  return { metrics, grouping }
}

function tokensOf (expression: string): string[] {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < expression.length) {
    const at = TOKEN.lastIndex
    const found = TOKEN.exec(expression)
    if (found === null) throw new Error(`not understood from here on: ${expression.slice(at)}`)
    if (!/^[\s#[]/.test(found[0])) tokens.push(found[0])
  }
  return tokens
}
