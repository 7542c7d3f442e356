import type { Command } from 'commander'
import type { LeaseView } from '../../store/store.ts'
import { acting, type Session } from '../session.ts'
import { printable } from '../text.ts'
import { awayText, iso } from '../times.ts'
import { emptyStore } from './empty.ts'

export function leases(program: Command): void {
  program.command('leases').description('Who holds what: the lease state, a line a job.').addHelpText('after', help).action(acting(show))
}

const help = `
The columns are those of the view cron_with_leases. Where nobody holds a job, owner is the last holder and
expiredAt the time it let go.

Example:
  onetick leases --store sqlite:./onetick.db

JSON: { now, leases: [{ jobId, owner, acquiredAt, expiredAt, held, fence }] }`

async function show(session: Session): Promise<number> {
  const { out, times } = session
  const { now, leases: found } = await session.read('leases', {})
  if (out.isJson) {
    out.json({
      now: iso(now),
      leases: found.map(({ jobId, owner, acquiredAt, expiredAt, held, fence }) => {
        return { jobId, owner, acquiredAt: iso(acquiredAt), expiredAt: iso(expiredAt), held, fence }
      }),
    })
    return 0
  }
  if (found.length === 0) await emptyStore(session)
  else {
    out.table(
      [
        { title: 'jobId', text: lease => printable(lease.jobId), atMost: 40 },
        { title: 'owner', text: lease => printable(lease.owner ?? '–') },
        { title: 'acquiredAt', text: lease => times.full(lease.acquiredAt) },
        { title: 'expiredAt', text: lease => times.full(lease.expiredAt) },
        { title: 'held', text: lease => stateOf(lease, now) },
      ],
      found,
      lease => (lease.held ? 'plain' : 'quiet'),
    )
    out.hint(`\nTimes in ${times.zone}.`)
  }
  return 0
}

function stateOf({ held, expiredAt, acquiredAt }: LeaseView, now: number): string {
  if (!held) return acquiredAt === null ? 'never' : 'free'
  if (expiredAt === null) return 'held'
  return expiredAt > now ? `held, runs out ${awayText(expiredAt, now)}` : `ran out ${awayText(expiredAt, now)}`
}
