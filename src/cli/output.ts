import { styleText } from 'node:util'
import type { Failure } from './failure.ts'
import { type Column, layOut } from './table.ts'

export type Tone = 'good' | 'bad' | 'notice' | 'quiet' | 'strong' | 'plain'

const styles = { good: 'green', bad: 'red', notice: 'yellow', quiet: 'dim', strong: 'bold' } as const

export interface OutputOptions {
  readonly json: boolean
  readonly quiet: boolean
  /** False: `--no-color`. */
  readonly color: boolean
}

/** What a command says: results on stdout, errors on stderr. Colour is never the only sign. */
export class Output {
  readonly isJson: boolean
  readonly isQuiet: boolean
  readonly #isColourful: boolean

  constructor({ json, quiet, color }: OutputOptions) {
    this.isJson = json
    this.isQuiet = quiet
    this.#isColourful = color && !json && isColourful(process.stdout)
  }

  line(text = ''): void {
    process.stdout.write(`${text}\n`)
  }

  /** One document, or one line of many. */
  json(value: unknown, layout: 'document' | 'line' = 'document'): void {
    this.line(JSON.stringify(value, null, layout === 'document' ? 2 : 0))
  }

  /** Said to people who have time to read: not with --quiet, not with --json. */
  hint(text: string): void {
    if (!this.isQuiet && !this.isJson) this.line(text)
  }

  table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], toneOf: (row: Row) => Tone = () => 'plain'): void {
    const laid = layOut(columns, rows)
    if (!this.isQuiet) this.line(this.paint('strong', laid.head))
    for (const [at, text] of laid.rows.entries()) this.line(this.paint(toneOf(rows[at] as Row), text))
  }

  paint(tone: Tone, text: string): string {
    return tone === 'plain' || !this.#isColourful || text === '' ? text : styleText(styles[tone], text)
  }

  fail({ code, message, stack }: Failure): void {
    if (this.isJson) process.stderr.write(`${JSON.stringify({ error: { code, message } })}\n`)
    else process.stderr.write(`${stack ?? message}\n`)
  }
}

function isColourful(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR, TERM } = process.env
  return stream.isTTY === true && (NO_COLOR === undefined || NO_COLOR === '') && TERM !== 'dumb'
}
