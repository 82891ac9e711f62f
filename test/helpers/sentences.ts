/** Finds the sentences in source files: all string literals and templates of two words or more. */
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { ROOT } from './paths.js'

export interface Sentence {
  /** Such as `src/config/checks/checks.ts:12`. */
  readonly place: string
  /** The text as in the source; `…` stands for a placeholder. */
  readonly text: string
  /** The texts between the placeholders, in order. */
  readonly pieces: readonly string[]
}

const TWO_WORDS = /[A-Za-z]{2,}[^A-Za-z\s]*\s+[^A-Za-z\s]*[A-Za-z]/

/**
 * Finds sentences by syntax, not by the names of the functions that take them, so that a sentence in a new helper is found too. The pieces
 * of a template are its fixed texts. Strings inside its placeholders are sentences of their own.
 * @param file path below the repository's root
 */
export function sentencesOf (file: string): Sentence[] {
  const path = join(ROOT, file)
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
  const found: Sentence[] = []
  const visit = (node: ts.Node): void => {
    const pieces = piecesOf(node)
    if (pieces !== null && TWO_WORDS.test(pieces.join('… '))) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart())
      found.push({
        place: `${relative(ROOT, path)}:${line + 1}`,
        text: pieces.join('…'),
        pieces
      })
    }
    const isWhole = pieces !== null && ts.isBinaryExpression(node)
    if (isWhole) placeholdersOf(node).forEach(visit)
    else if (!ts.isImportDeclaration(node) && !ts.isTypeNode(node)) ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** The sentences that none of the lines contains. */
export function unsaid (sentences: readonly Sentence[], lines: readonly string[]): string[] {
  const different = [...new Set(lines)]
  return sentences.filter(({ pieces }) => !different.some(line => contains(line, pieces))).map(({ place, text }) => `${place}: ${text}`)
}

function piecesOf (node: ts.Node): string[] | null {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text]
  if (ts.isTemplateExpression(node)) return [node.head.text, ...node.templateSpans.map(span => span.literal.text)]
  if (!isConcatenation(node)) return null
  const left = piecesOf(node.left)
  const right = piecesOf(node.right)
  if (left === null || right === null) return null
  // A text in several lines.
  return [...left.slice(0, -1), `${left.at(-1) ?? ''}${right[0] ?? ''}`, ...right.slice(1)]
}

function isConcatenation (node: ts.Node): node is ts.BinaryExpression {
  return ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken
}

/** The expressions in the placeholders of a text. */
function placeholdersOf (node: ts.Node): ts.Expression[] {
  if (ts.isTemplateExpression(node)) return node.templateSpans.map(span => span.expression)
  return isConcatenation(node) ? [node.left, node.right].flatMap(placeholdersOf) : []
}

/** True when the line has all pieces in their order, with any text between them. */
export function contains (line: string, pieces: readonly string[]): boolean {
  let at = 0
  for (const piece of pieces) {
    const found = line.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return true
}
