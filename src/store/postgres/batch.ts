import type { PlanSettlement, RunSettlement, SettleItem } from '../store.ts'

/** Items in one statement, at most. */
const batchLimit = 1000

/** An item and its place in the request. */
export interface Placed<Item> {
  readonly item: Item
  readonly index: number
}

export interface Batch {
  /** Without an occurrence. */
  readonly leases: Placed<RunSettlement>[]
  readonly runs: Placed<RunSettlement>[]
  readonly plans: Placed<PlanSettlement>[]
}

/** What may go together: no row twice, so that items of one row follow each other. */
export function batchesOf(items: readonly SettleItem[]): readonly Batch[] {
  let batch: Batch = { leases: [], runs: [], plans: [] }
  const batches = [batch]
  const rows = new Set<number>()
  for (const [index, item] of items.entries()) {
    if (rows.has(item.rowId) || rows.size >= batchLimit) {
      batch = { leases: [], runs: [], plans: [] }
      batches.push(batch)
      rows.clear()
    }
    rows.add(item.rowId)
    if (item.kind === 'plan') batch.plans.push({ item, index })
    else batch[item.occurrence === null ? 'leases' : 'runs'].push({ item, index })
  }
  // I6: rows are locked in the order of their ids
  for (const { leases, runs, plans } of batches)
    for (const items of [leases, runs, plans]) items.sort((a, b) => a.item.rowId - b.item.rowId)
  return batches
}
