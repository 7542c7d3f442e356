import type { Reply, Request } from './state.ts'

/** A call in words. */
export function saidOf(message: Request | Reply | null): string {
  if (message === null) return 'it throws'
  return 'owner' in message.body ? requestSaid(message as Request) : replySaid(message as Reply)
}

function requestSaid({ verb, body }: Request): string {
  switch (verb) {
    case 'claim':
      return `${body.owner}'s ask ${body.claimId} (not after ${body.notAfter})`
    case 'renew':
      return `${body.owner}'s renewal of ${body.leases.map(({ fence }) => `fence ${fence}`).join(' and ')}`
    case 'settle':
      return `${body.owner}'s settle under ${body.items.map(item => `fence ${item.fence} (${item.kind === 'run' ? item.end.kind : `plan: ${item.plan.then.kind}`})`).join(' and ')}`
  }
}

function replySaid(reply: Reply): string {
  switch (reply.verb) {
    case 'claim':
      if (reply.body.grants.length === 0) return 'nothing'
      return reply.body.grants
        .map(({ row }) => {
          const of = row.lease?.mayStart ? `${row.open?.scheduledAt}, attempt ${row.open?.attempt}` : 'to be planned'
          return `fence ${row.fence} until ${row.dueAt} (${of})`
        })
        .join(' and ')
    case 'renew':
      return reply.body.leases.map(({ state, dueAt }) => (state === 'held' ? `until ${dueAt}` : state)).join(' and ')
    case 'settle':
      return reply.body.results.map(({ kind }) => kind).join(' and ')
  }
}
