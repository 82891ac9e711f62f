/**
 * Texts of the kinds that language models send. The share of escapes decides how fast JSON is read, so each kind has the share of real
 * text: test/bench/bodies.test.ts checks the shares. A fixed seed makes the same bytes in each run.
 */
import { Random } from '../random.js'

export type TextKind = 'text' | 'markdown' | 'json' | 'chinese'

/** @returns a text that takes exactly `bytes` bytes as JSON, without its quotes */
export function textOf (kind: TextKind, bytes: number): string {
  if (kind === 'text') return prose(bytes)
  const random = new Random(7)
  const pieces: string[] = []
  for (let left = bytes; ;) {
    const piece = PIECES[kind](random)
    const cost = Buffer.byteLength(JSON.stringify(piece)) - 2
    if (cost > left) return pieces.join('') + 'x'.repeat(left)
    left -= cost
    pieces.push(piece)
  }
}

/** Lines of text, some with characters beyond ASCII. */
function prose (bytes: number): string {
  const line = 'Please order these – and say “when”: the first shelf is empty since Monday.\n'
  const cost = Buffer.byteLength(JSON.stringify(line)) - 2
  return line.repeat(Math.floor(bytes / cost)) + 'x'.repeat(bytes % cost)
}

const PIECES: Readonly<Record<Exclude<TextKind, 'text'>, (random: Random) => string>> = {
  markdown: random => random.of(BLOCKS)(random),
  json: random => `${JSON.stringify(record(random))}\n`,
  chinese: random => `${random.of(CHINESE)}${random.below(6) === 0 ? '\n\n' : ''}`
}

const NAMES = ['order', 'shelf', 'price', 'stock', 'client', 'total', 'index', 'batch', 'status', 'parcel'] as const
const SENTENCES = [
  'The function reads the list once and keeps the newest entry of each shelf. ',
  'Note that `null` is **not** the same as a missing member here. ',
  'Run the command below first, then look at the last line of its output. ',
  'If the total differs, the batch was counted twice; see the table above. '
] as const

/** Each block is one construct of Markdown. Code has many quotes and short lines, prose few. */
const BLOCKS: ReadonlyArray<(random: Random) => string> = [
  random => `\n## The ${random.of(NAMES)} of step ${random.below(90)}\n\n`,
  random => `${random.of(SENTENCES)}${random.of(SENTENCES)}\n`,
  random => `- **${random.of(NAMES)}**: "${random.of(NAMES)}" or "${random.of(NAMES)}"\n`,
  random => `\n| ${random.of(NAMES)} | ${random.of(NAMES)} |\n|---|---|\n| "${random.below(900)}" | ${random.of(NAMES)} |\n\n`,
  random => `\`\`\`ts
const ${random.of(NAMES)} = new Map([["${random.of(NAMES)}", "${random.below(900)}"]])
for (const one of list) {
\tif (one.kind === "${random.of(NAMES)}") {
\t\tconsole.log("${random.of(NAMES)}:\\t" + one.id)
\t}
}
\`\`\`\n`,
  random => `\`\`\`json
{
  "${random.of(NAMES)}": "${random.of(NAMES)}",
  "${random.of(NAMES)}": ["${random.below(900)}", "C:\\\\${random.of(NAMES)}"],
  "count": ${random.below(900)}
}
\`\`\`\n`,
  random => `\`\`\`sh
curl -H "accept: text/plain" "http://localhost/${random.of(NAMES)}" | grep "${random.of(NAMES)}"
\`\`\`\n`
]

/** A record of a tool's output, with short names and values. */
const record = (random: Random): object => ({
  id: `a${random.below(900)}`,
  sku: `B-${random.below(90)}`,
  [random.of(NAMES)]: random.of(NAMES),
  unit: random.of(['kg', 'm', 'pc']),
  n: String(random.below(900)),
  at: `${10 + random.below(13)}:${10 + random.below(49)}`
})

const CHINESE = [
  '请在星期一之前补齐第一层货架上的商品，并告诉我们预计的到货时间。',
  '仓库目前还有三百二十箱，但其中一部分已经被其他客户预订。',
  '如果价格发生变化，系统会在下单之前再次向您确认，您可以随时取消。',
  '根据上周的统计，“标准”包装的需求增加了百分之十二。'
] as const
