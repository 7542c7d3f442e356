import { inUnits } from '../../domain/duration.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { Output, Tone } from '../output.ts'
import { layOut } from '../table.ts'
import { oneLine, padded, printable, widthOf, withoutPasswords } from '../text.ts'
import { iso, lengthText, type Times } from '../times.ts'
import { jsonOf, type Told } from '../told.ts'
import { lineOf, nameOf, type ToldLine, textOf } from '../told-line.ts'
import type { Audit, Tally } from './audit.ts'
import type { DevPlan } from './plan.ts'

/** What an audit is about. */
export interface AuditOf {
  readonly from: Instant
  readonly until: Instant
  readonly kills: number
  /** The command that shows each attempt. */
  readonly look: string
}

/** What `onetick dev` shows: a header, a line for what happens, an audit. */
export class Screen {
  readonly #out: Output
  readonly #times: Times
  readonly #jobWidth: number
  readonly #replicaWidth: number
  /** The latest instant that a claim was shown for: each new one begins a block of its own. */
  #latest: Instant = Number.NEGATIVE_INFINITY

  constructor(out: Output, times: Times, plan: DevPlan) {
    this.#out = out
    this.#times = times
    this.#jobWidth = Math.max(0, ...plan.own.declared.map(({ name }) => widthOf(printable(name))))
    this.#replicaWidth = Math.max(...plan.labels.map(label => label.length))
  }

  header(plan: DevPlan, location: string): void {
    const { labels, killEveryMs, leaseMs } = plan
    const kills =
      killEveryMs === 0
        ? 'none (--kill-every 0)'
        : `one replica every ${inUnits(killEveryMs)}; another takes over when its lease of ${inUnits(leaseMs)} has run out`
    const rows = [
      ['replicas', `${labels.join('  ')}   (processes of this machine; nothing listens on these ports)`],
      ...plan.jobs.map(({ names, schedule }, at) => [at === 0 ? 'jobs' : '', `${names.map(oneLine).join('  ')}   ${schedule}`]),
      ['store', printable(location)],
      ['kills', kills],
    ].map(([title = '', text = '']) => `  ${this.#out.paint('quiet', padded(title, 10))}${text}`)
    this.#out.hint(
      [
        this.#out.paint('strong', 'onetick dev: every tick, one replica'),
        '',
        ...rows,
        '',
        `  Each occurrence is run by one of them. Ctrl-C stops and prints the audit. Times in ${this.#times.zone}.`,
        '',
      ].join('\n'),
    )
  }

  told(label: string, told: Told): void {
    if (this.#out.isJson) {
      this.#out.json({ replica: label, ...jsonOf(told) }, 'line')
      return
    }
    const line = lineOf(told, nameOf)
    if (told.name === 'started' && told.event.scheduledAt > this.#latest) {
      if (this.#latest > 0) this.#out.hint('')
      this.#latest = told.event.scheduledAt
    }
    this.#line(label, line)
  }

  /** Of the process, not of its jobs. */
  process(
    label: string,
    at: Instant,
    what: { readonly event: string; readonly sign: string; readonly word: string; readonly tone: Tone; readonly note: string },
  ): void {
    const { event, note, ...looks } = what
    if (this.#out.isJson) this.#out.json({ replica: label, event, at: iso(at), note }, 'line')
    else this.#line(label, { ...looks, note, at, job: '', scheduledAt: null })
  }

  /** What a handler printed. */
  printed(label: string, at: Instant, text: string): void {
    const line = printable(withoutPasswords(text))
    if (this.#out.isJson) this.#out.json({ replica: label, event: 'printed', at: iso(at), line }, 'line')
    else this.#line(label, { at, sign: '│', word: 'says', tone: 'quiet', job: '', scheduledAt: null, note: line })
  }

  note(text: string): void {
    this.#out.hint(text)
  }

  audit({ jobs, all, isClean }: Audit, of: AuditOf): void {
    const { from, until, kills } = of
    if (this.#out.isJson) {
      this.#out.json({ event: 'audit', clean: isClean, from: iso(from), until: iso(until), forMs: until - from, kills, all, jobs }, 'line')
      return
    }
    const shown = columns.filter(({ always, what }) => always || all[what] > 0)
    const rows = jobs.length > 1 ? [...jobs, { ...all, name: 'all' }] : jobs
    const laid = layOut(
      [
        { title: 'job', text: row => printable(row.name), atMost: 32 },
        ...shown.map(({ what, title }) => ({ title, text: (row: Audit['jobs'][number]) => String(row[what]), align: 'right' as const })),
      ],
      rows,
    )
    this.#out.hint(`\n${this.#out.paint('strong', `Audit of ${lengthText(until - from)}, ${killsText(kills)}`)}`)
    this.#out.hint(`What came due until the stop at ${this.#times.clock(until)}; what came due later is not counted.\n`)
    this.#out.hint(`  ${this.#out.paint('quiet', laid.head)}`)
    for (const row of laid.rows) this.#out.hint(`  ${row}`)
    this.#out.hint('')
    this.#out.line(shown.map(({ what, title }) => `${title} ${all[what]}`).join(' · '))
    this.#out.line(this.#out.paint(isClean ? 'good' : 'bad', verdictOf(all, isClean)))
    if (all.repeated > 0) this.#out.hint(repeatedText)
    if (all.unfinished > 0) this.#out.hint(unfinishedText)
    if (all.waiting > 0) this.#out.hint(waitingText)
    this.#out.hint(`\nEach attempt: ${of.look}`)
  }

  #line(label: string, line: ToldLine): void {
    if (this.#out.isQuiet) return
    const layout = {
      times: this.#times,
      jobWidth: this.#jobWidth,
      replica: padded(label, this.#replicaWidth),
      paint: (tone: Tone, text: string) => this.#out.paint(tone, text),
    }
    this.#out.line(textOf({ ...line, note: oneLine(line.note) }, layout))
  }
}

const columns: readonly { readonly what: keyof Tally; readonly title: string; readonly always?: true }[] = [
  { what: 'due', title: 'due', always: true },
  { what: 'ran', title: 'ran', always: true },
  { what: 'failed', title: 'failed' },
  { what: 'skipped', title: 'skipped' },
  { what: 'superseded', title: 'superseded' },
  { what: 'unfinished', title: 'unfinished' },
  { what: 'waiting', title: 'waiting' },
  { what: 'twice', title: 'twice', always: true },
  { what: 'missed', title: 'missed', always: true },
  { what: 'takenOver', title: 'taken over', always: true },
  { what: 'repeated', title: 'repeated' },
]

const repeatedText =
  'Repeated: the kill came after the work was done and before the store heard of it. That no lock can prevent; fence and transactions can.'
const unfinishedText = 'Unfinished: stopped with their replica. Another start would go on with them.'
const waitingText =
  'Waiting: due, and not begun before the replicas stopped, as the run before still had the job. Another start would see to them.'

function verdictOf({ due, ran, repeated }: Tally, isClean: boolean): string {
  if (!isClean) return '✗ What ran is not what was due.'
  if (due === 0) return '✓ Nothing was due yet.'
  return ran === due && repeated === 0 ? '✓ Each occurrence ran once.' : '✓ Nothing ran twice, and nothing was missed.'
}

function killsText(kills: number): string {
  return kills === 1 ? 'one replica killed' : `${kills === 0 ? 'no' : kills} replicas killed`
}
