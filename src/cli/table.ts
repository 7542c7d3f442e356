import { cut, padded, widthOf } from './text.ts'

export interface Column<Row> {
  readonly title: string
  readonly text: (row: Row) => string
  readonly align?: 'left' | 'right'
  /** Longer texts are cut; `--json` has them whole. */
  readonly atMost?: number
}

export interface LaidOut {
  readonly head: string
  readonly rows: readonly string[]
}

const gap = '  '

/** Aligned columns without lines; the last column is not padded. Texts must be printable. */
export function layOut<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): LaidOut {
  const cells = rows.map(row => columns.map(({ text, atMost = 80 }) => cut(text(row), atMost)))
  const widths = columns.map(({ title }, at) => Math.max(widthOf(title), ...cells.map(line => widthOf(line[at] ?? ''))))
  const joined = (line: readonly string[]): string =>
    line
      .map((cell, at) => padded(cell, widths[at] ?? 0, columns[at]?.align))
      .join(gap)
      .trimEnd()
  return { head: joined(columns.map(({ title }) => title)), rows: cells.map(joined) }
}
