// A store in which things have happened: what `show` and `explain` tell of.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Grant, Store } from '../../src/store/store.ts'
import { aDeclaration, aReplica, heldBy, longMs, planOf, planSettlement, runSettlement, succeeded, threw } from '../conformance/requests.ts'
import { every } from '../conformance/rows.ts'

const tasks = ['mail', 'long', 'ticks']

/**
 * `mail` was asked for as order-1: `first` vanished, `second` threw, `third` succeeded. `long` was asked for and runs on `first`.
 * `ticks` was due many times before somebody looked. Nothing of `idle` has run.
 */
export async function liveIn(store: Store): Promise<void> {
  await store.migrate('apply')
  const { now } = await store.read('status', {})
  const named = (name: string) => ({ name, task: name })
  const jobs = [
    aDeclaration({ ...named('mail'), schedule: null, policy: { retries: 2 } }, now),
    aDeclaration({ ...named('long'), schedule: null }, now),
    aDeclaration({ ...named('ticks'), schedule: every(100) }, now),
    aDeclaration({ ...named('idle'), schedule: null }, now),
  ]
  await store.declare({ replica: aReplica({ id: 'first', role: 'all', tasks }), jobs, liveForMs: longMs, atRunTime: true })

  await store.control({ kind: 'trigger', name: 'mail', id: 'order-1' })
  await begin(store, 'first', 'mail', 300)
  await sleep(400)
  const thrown = await begin(store, 'second', 'mail')
  const error = {
    name: 'SmtpError',
    message: 'refused by postgres://app:s3cret@db\u001b[31m',
    stack: `SmtpError: refused\n    at send (/app/mail.js:7:3)`,
  }
  const logTail = '12:00 dialling\r\n12:01 \u001b[2Jforged password=s3cret'
  await end(store, thrown, { ...threw(thrown), error, logTail })
  const last = await begin(store, 'third', 'mail')
  await end(store, last, { ...succeeded(last), result: { sent: 1 } })

  await store.control({ kind: 'trigger', name: 'long', id: 'by hand' })
  const long = await begin(store, 'first', 'long')
  await store.checkpoint(heldBy(long), { page: 3, from: 'amqp://app:s3cret@mq' })

  const tick = await begin(store, 'second', 'ticks')
  await end(store, tick, succeeded(tick))
}

async function begin(store: Store, owner: string, task: string, ttlMs = longMs): Promise<Grant> {
  const presence = { running: 0, draining: false, clockOffsetMs: 0, loopLagMs: 0 }
  const { now } = await store.read('status', {})
  const asked = {
    owner,
    claimId: randomUUID(),
    tasks: [task],
    limit: 1,
    ttlMs,
    notAfter: now + longMs,
    except: [],
    liveForMs: longMs,
    presence,
  }
  const reply = await store.claim(asked)
  const [grant] = reply.grants
  if (grant === undefined) throw new Error(`nothing of ${task} is due`)
  if (grant.row.lease?.mayStart) return grant
  const settlement = { ...planSettlement(grant, planOf(grant, reply.now)), ttlMs }
  const { results } = await store.settle({ owner, items: [settlement] })
  const [result] = results
  if (result?.kind !== 'granted') throw new Error(`${task}: ${result?.kind}`)
  return result.grant
}

async function end(store: Store, grant: Grant, how: Parameters<typeof runSettlement>[1]): Promise<void> {
  const { owner, ...settlement } = runSettlement(grant, how)
  const { results } = await store.settle({ owner, items: [settlement] })
  if (results[0]?.kind !== 'settled') throw new Error(`not settled: ${results[0]?.kind}`)
}
