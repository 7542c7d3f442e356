import { assertNever } from '../../domain/errors.ts'
import type { Seen } from '../../domain/plan.ts'
import type { Instant } from '../../domain/timetable.ts'
import { checkKeys } from '../commands.ts'
import type { Command, ControlReply } from '../store.ts'
import { cancelSql, skipNextSql } from './cancel.sql.ts'
import type { Database } from './database.ts'
import { lineParameters } from './line.ts'
import { json } from './parameter.ts'
import { askSql, pauseSql, resumeSql } from './pause.sql.ts'
import { leaveSql, pruneReplicasSql, pruneRunsSql } from './prune.sql.ts'
import { removeSql } from './remove.sql.ts'
import { type Statement, statement } from './tables.ts'

export function controlling(database: Database): (command: Command) => Promise<ControlReply> {
  const { tables, namespace, channel } = database
  const lockTimeout = String(database.lockTimeoutMs)
  const ask = statement('ask', askSql(tables))
  const pause = statement('pause', pauseSql(tables))
  const resume = statement('resume', resumeSql(tables))
  const cancel = statement('cancel', cancelSql(tables))
  const skipNext = statement('skip_next', skipNextSql(tables))
  const remove = statement('remove', removeSql(tables))
  const leave = statement('leave', leaveSql(tables))
  const prune = pruning(database)

  const change = async (by: Statement, name: string | number, ...values: readonly unknown[]): Promise<ControlReply> => {
    const [[now, isThere, isAsSeen, did] = []] = await database.query(by, [namespace, name, lockTimeout, ...values])
    const kind = isThere !== true ? 'unknown' : isAsSeen !== true ? 'stale' : did === true ? 'done' : 'none'
    return { now: now as Instant, kind }
  }

  return async command => {
    checkKeys(command)
    switch (command.kind) {
      case 'trigger':
        return change(ask, command.name, channel, command.id, 'manual', null, null, null)
      case 'backfill':
        return change(ask, command.name, channel, command.id, 'backfill', command.at, command.until, json(command.schedule))
      case 'pause':
        return change(pause, command.name, command.until, command.by, command.why)
      case 'resume':
        return change(resume, command.name, channel)
      case 'cancel':
        return change(cancel, command.rowId, channel)
      case 'skipNext':
        return change(skipNext, command.name, ...seenParameters(command.seen), command.cursor.nextAt, command.cursor.afterAt)
      case 'remove': {
        const lines = JSON.stringify(command.lines.map(lineParameters))
        return change(remove, command.name, channel, ...seenParameters(command.seen), lines, command.nextAt)
      }
      case 'leave': {
        const [[now] = []] = await database.query(leave, [namespace, command.replicaId])
        return { now: now as Instant, kind: 'done' }
      }
      case 'prune':
        return { now: await prune(command), kind: 'done' }
      default:
        return assertNever(command)
    }
  }
}

function seenParameters({ rev, asked, nextAt, open }: Seen): readonly unknown[] {
  return [rev, asked, nextAt, open?.cause ?? null, open?.scheduledAt ?? null]
}

/** A step of housekeeping: so many jobs looked at, and so many lines dropped, in one statement. */
const jobsAtOnce = 500
const linesAtOnce = 5000

function pruning(database: Database): (keep: { readonly keepMs: number; readonly keepLines: number }) => Promise<Instant> {
  const { tables, namespace } = database
  const pruneRuns = statement('prune_runs', pruneRunsSql(tables))
  const pruneReplicas = statement('prune_replicas', pruneReplicasSql(tables))
  return async ({ keepMs, keepLines }) => {
    for (let after = 0, jobs = jobsAtOnce; jobs === jobsAtOnce; ) {
      const [step = []] = await database.query(pruneRuns, [namespace, keepMs, keepLines, after, jobsAtOnce, linesAtOnce])
      const [last, looked, dropped] = step as [number | null, number, number]
      // a full step may have left lines of the same jobs
      if (dropped === linesAtOnce) continue
      after = last ?? after
      jobs = looked
    }
    const [[now] = []] = await database.query(pruneReplicas, [namespace, keepMs])
    return now as Instant
  }
}
