// One replica of `onetick dev`: a process of its own, so that it can be killed like one.
import type { Handler } from '../../execution/context.ts'
import { parent } from '../../platform/processes.ts'
import type { Onetick } from '../../scheduler/onetick.ts'
import { loadConfig } from '../config.ts'
import { failureOf } from '../failure.ts'
import { settingsOnly } from '../settings.ts'
import { listen } from '../told.ts'
import { hushSqliteWarning } from '../warnings.ts'
import type { FromReplica, Orders, ToReplica } from './messages.ts'

let onetick: Onetick | null = null

hushSqliteWarning()

// where Ctrl-C reaches all processes, it is still the parent that says when to stop
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => void stop())
parent.onMessage(message => {
  const order = message as ToReplica
  if (order.kind === 'run') void run(order.orders)
  else void stop()
})
parent.onGone(() => void stop())

async function run(orders: Orders): Promise<void> {
  try {
    onetick = await configured(orders)
    listen(onetick, told => void tell({ kind: 'told', told }))
    await tell({ kind: 'named', replicaId: onetick.replicaId })
    await onetick.start()
    await tell({ kind: 'up' })
  } catch (error) {
    const failure = failureOf(error)
    await tell({ kind: 'cannotStart', failure })
    process.exit(failure.exit)
  }
}

async function configured({ config, store, namespace, label, schedule, lease, heartbeat }: Orders): Promise<Onetick> {
  const loaded = await loadConfig(config, error => process.stderr.write(`${failureOf(error).message}\n`))
  if (loaded.kind === 'settings') throw settingsOnly(config)
  const overrides = { namespace, replica: label, lease, heartbeat, role: 'all', migrate: false } as const
  return loaded.onetick.configured({ ...overrides, ...(store === null ? {} : { store }) }, schedule ?? undefined, watched)
}

/** Tells of each return before the store hears of it: a count that does not depend on the ledger. */
function watched(handler: Handler): Handler {
  return async context => {
    let threw = true
    try {
      const result = await handler(context)
      threw = false
      return result
    } finally {
      const { job, cause, scheduledAt, attempt, fence } = context
      void tell({ kind: 'returned', threw, job, cause, scheduledAt: scheduledAt.getTime(), attempt, fence })
    }
  }
}

function tell(message: FromReplica): Promise<void> {
  return parent.send(message)
}

async function stop(): Promise<void> {
  await onetick?.stop().catch(() => undefined)
  process.exit(0)
}
