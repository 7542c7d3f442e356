import type { JobRow } from '../../domain/job.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { SettleItem } from '../../store/store.ts'
import type { Call, Claiming, Hold, Replica, Reply, Request, State } from './state.ts'

/**
 * States that cannot be told apart by anything that may happen have one key: the replicas may change places, of fences only
 * the order counts, of owners and ids only who is who; what is over and can change nothing is left out.
 */
export function keyOf(state: State): string {
  const keyed = new Keyed(state)
  const [a, b] = state.replicas.map(replica => keyed.replica(replica)) as [string, string]
  if (a < b) return `${keyed.rest(['A', 'B'])}|${a}|${b}`
  if (b < a) return `${keyed.rest(['B', 'A'])}|${b}|${a}`
  const [rest] = [keyed.rest(['A', 'B']), keyed.rest(['B', 'A'])].sort()
  return `${rest}|${a}|${b}`
}

class Keyed {
  readonly #state: State
  readonly #fences: readonly number[]
  /** As which of the two an owner is written down. */
  #order: readonly string[] = []

  constructor(state: State) {
    this.#state = state
    this.#fences = fencesOf(state)
  }

  /** What the replicas do not know. */
  rest(order: readonly string[]): string {
    const { now, store, strays, faultsLeft, witness } = this.#state
    this.#order = order
    let text = `${now};${faultsLeft}${witness.isPlain ? 'p' : ''}`
    for (const row of store.rows) text += `;${this.#row(row)}`
    for (const { end, scheduledAt, untilAt, fence, final } of store.lines) {
      // a lost lease is a line for people: nothing looks it up
      if (end !== 'leaseLost') text += `;${scheduledAt}-${untilAt},${this.#fence(fence)}${final ? '!' : ''}`
    }
    const late = strays.map(request => this.#request(request))
    for (const request of late.length > 1 ? late.sort() : late) text += `~${request}`
    for (const { rowId, fence, owner, until, isOver } of witness.leases) {
      text += `*${this.#id(rowId)},${this.#fence(fence)}${isOver ? '' : `${this.#owner(owner)},${until}`}`
    }
    for (const { scheduledAt, count, fence } of witness.starts) text += `*${scheduledAt},${count},${this.#fence(fence)}`
    return text
  }

  /** The same for either: whose it is, is written down relative to it. */
  replica({ name, condition, claims, askedAt, ask, beatAt, beat, holds }: Replica): string {
    this.#order = [name]
    let text = condition === 'up' ? '' : condition
    if (askedAt === this.#state.now) text += '.'
    text += this.#claims(claims, ask !== null || holds.some(({ stage }) => stage === 'planning'))
    if (ask !== null) text += `?${this.#call(ask)}`
    if (beatAt !== null) text += `h${beatAt}`
    if (beat !== null) text += `h${this.#call(beat)}`
    for (const hold of holds) text += `(${this.#hold(hold)})`
    return text
  }

  #row({ id, nextAt, afterAt, open, lease, busy, dueAt, fence }: JobRow): string {
    let text = `${this.#id(id)},${nextAt},${afterAt},${dueAt},${this.#fence(fence)}`
    if (open !== null) text += `o${open.scheduledAt},${open.attempt},${open.failures}${open.openedAt < nextAt ? '<' : ''}`
    if (lease !== null) text += `l${this.#owner(lease.owner)}${this.#claimId(lease.claimId)}${lease.mayStart ? 's' : ''}`
    // not a quiet range that the cursor has passed
    if (busy !== null && nextAt <= busy.until) text += `b${busy.from},${busy.until}`
    return text
  }

  /** What was told under an id that is not used again, and an instant that has passed, no longer count. */
  #claims({ unsureUntil, unsureBefore, told }: Claiming, isInUse: boolean): string {
    if (unsureUntil === null && !isInUse) return ''
    const until = (instant: Instant | null): string => (instant === null ? '' : `${Math.max(instant, this.#state.now - 1)}`)
    let text = `u${until(unsureUntil)}v${until(unsureBefore)}`
    for (const { rowId, fence } of told) text += `t${this.#id(rowId)},${this.#fence(fence)}`
    return text
  }

  #hold({ row, deadlineMs, isLost, abortReason, stage, seen, seenAt, startedAt, waiting, hasFailed, settle }: Hold): string {
    const { id, fence, nextAt, afterAt, open } = row
    let text = `${this.#id(id)},${this.#fence(fence)},${nextAt},${afterAt}${isLost ? 'x' : ''}`
    if (open !== null) text += `o${open.scheduledAt},${open.failures}`
    // how far its lease is trusted no longer counts once the run has ended
    if (stage !== 'settling') text += `,${deadlineMs}${abortReason === null ? '' : 'a'}`
    if (stage === 'planning') text += `p${this.#row(seen.row)},${seenAt}`
    if (stage === 'running') text += `r${startedAt}`
    if (hasFailed) text += 'f'
    if (waiting !== null) text += `w${this.#item(waiting)}`
    return settle === null ? text : text + this.#call(settle)
  }

  #call({ request, sentAt, at, reply, servedAt }: Call): string {
    const text = `${sentAt}${servedAt === this.#state.now ? '.' : ''}`
    if (at === 'request') return text + this.#request(request)
    return reply === null ? `${text}L` : text + this.#reply(reply)
  }

  #request({ verb, body }: Request): string {
    let text = `${verb}${this.#owner(body.owner)}`
    switch (verb) {
      case 'claim':
        text += `${this.#claimId(body.claimId)},${body.notAfter},${body.limit}`
        for (const id of body.except) text += `,${this.#id(id)}`
        return text
      case 'renew':
        for (const { rowId, fence } of body.leases) text += `,${this.#id(rowId)},${this.#fence(fence)}`
        return text
      case 'settle':
        for (const item of body.items) text += this.#item(item)
        return text
    }
  }

  #item(item: SettleItem): string {
    const of = `,${this.#id(item.rowId)},${this.#fence(item.fence)}`
    if (item.kind === 'run') return `${of}${item.end.kind}${item.end.successor?.nextAt}`
    const { seen, lines, then, cursor } = item.plan
    const judged = lines.map(({ end, scheduledAt, untilAt }) => `${end}${scheduledAt}-${untilAt}`)
    const opens = then.kind === 'open' ? then.scheduledAt : ''
    return `${of}${this.#claimId(item.claimId)}P${seen.nextAt},${seen.open?.scheduledAt},${then.kind}${opens},${cursor?.nextAt},${judged}`
  }

  #reply({ verb, body }: Reply): string {
    let text = `${verb}${body.now}`
    switch (verb) {
      case 'claim':
        for (const { row } of body.grants) text += `[${this.#row(row)}]`
        return text
      case 'renew':
        for (const { rowId, fence, state, dueAt } of body.leases) text += `,${this.#id(rowId)},${this.#fence(fence)}${state}${dueAt}`
        return text
      case 'settle':
        for (const result of body.results) text += `${result.kind}${'grant' in result ? `[${this.#row(result.grant.row)}]` : ''}`
        return text
    }
  }

  #fence(fence: number): number {
    return this.#fences.indexOf(fence)
  }

  /** Extra rows are called by the fence that planned them. */
  #id(id: number): number {
    return id === 1 ? -1 : this.#fence(id)
  }

  /** Which replica, and how many lives ago. */
  #owner(owner: string): string {
    const { name, life } = partsOf(owner)
    return `${this.#order.indexOf(name)}.${this.#of(name).life - life}`
  }

  /** How many ids ago; under an earlier life, all that it was. */
  #claimId(claimId: string | null): string {
    if (claimId === null) return ''
    const { name, life, id } = partsOf(claimId)
    const replica = this.#of(name)
    return `#${this.#order.indexOf(name)}.${replica.life - life}.${life === replica.life ? replica.claims.id - id : id}`
  }

  #of(name: string): Replica {
    const [a, b] = this.#state.replicas
    return name === a.name ? a : b
  }
}

interface Parts {
  readonly name: string
  readonly life: number
  readonly id: number
}

const parsed: Map<string, Parts> = new Map()

/** Of an owner, or of a claim id: `A0`, `A0.1`. */
function partsOf(text: string): Parts {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const [owner = '', id = 0] = text.split('.')
  const parts = { name: owner.slice(0, 1), life: Number(owner.slice(1)), id: Number(id) }
  parsed.set(text, parts)
  return parts
}

/** All that are to be told apart, in order. */
function fencesOf({ store, replicas, strays, witness }: State): number[] {
  const fences: number[] = []
  const add = (fence: number): void => {
    if (!fences.includes(fence)) fences.push(fence)
  }
  const addRow = ({ fence, parent }: JobRow): void => {
    add(fence)
    if (parent !== null) add(parent.fence)
  }
  const addRequest = ({ verb, body }: Request): void => {
    if (verb === 'renew') for (const { fence } of body.leases) add(fence)
    if (verb === 'settle') for (const { fence } of body.items) add(fence)
  }
  for (const row of store.rows) addRow(row)
  for (const { fence } of store.lines) add(fence)
  for (const { fence, rowId } of witness.leases) {
    add(fence)
    if (rowId !== 1) add(rowId)
  }
  for (const { fence } of witness.starts) add(fence)
  for (const request of strays) addRequest(request)
  for (const { ask, beat, holds, claims } of replicas) {
    for (const { fence } of claims.told) add(fence)
    if (beat !== null) addRequest(beat.request)
    for (const { row, seen, settle } of holds) {
      addRow(row)
      addRow(seen.row)
      if (settle !== null) addRequest(settle.request)
      if (settle?.reply?.verb === 'settle') for (const result of settle.reply.body.results) if ('grant' in result) addRow(result.grant.row)
    }
    if (ask?.reply?.verb === 'claim') for (const { row } of ask.reply.body.grants) addRow(row)
  }
  return fences.sort((a, b) => a - b)
}
