import { type Duration, parseDuration } from '../../domain/duration.ts'
import { systemRandom } from '../../platform/system.ts'
import type { Onetick } from '../../scheduler/onetick.ts'
import { openStore } from '../../store/open.ts'
import { blaming, noJobs, shortPath } from '../config.ts'
import { usage } from '../failure.ts'
import { isStoreNamed, namedStore } from '../named-store.ts'
import { scheduleInWords } from '../schedule-in-words.ts'
import type { Session } from '../session.ts'
import { wholeNumber } from '../whole-number.ts'
import { freshDatabase } from './database.ts'
import type { Orders } from './messages.ts'

/** What `onetick dev` was asked for, read and checked. */
export interface DevPlan {
  readonly labels: readonly string[]
  readonly killEveryMs: number
  /** Null: until stopped. */
  readonly forMs: number | null
  readonly leaseMs: number
  /** Never started: declares what the replicas declare, and opens the store that they open. */
  readonly own: Onetick
  /** By their schedules, for people. */
  readonly jobs: readonly { readonly names: readonly string[]; readonly schedule: string }[]
  readonly orders: readonly Orders[]
  /** How to look at the store afterwards. */
  readonly look: string
}

export interface DevOptions {
  readonly replicas: string
  readonly basePort: string
  readonly killEvery: Duration
  readonly every?: string
  readonly for?: string
}

const mostReplicas = 20

/** Short, so that a takeover shows within four seconds. */
const lease = '3s'
const heartbeat = '1s'

export async function planOf(session: Session, options: DevOptions): Promise<DevPlan> {
  if (session.options.namespace !== undefined) {
    throw usage('dev takes no --namespace.', "It makes one of its own for each call, so that its jobs are nobody else's.")
  }
  const { path, onetick } = await session.exported()
  if (onetick.declared.length === 0) throw noJobs(shortPath(path))
  const labels = labelsOf(options)
  const killEveryMs = options.killEvery === '0' ? 0 : parseDuration('--kill-every', options.killEvery, { minMs: 1000 })
  const forMs = options.for === undefined ? null : parseDuration('--for', options.for)
  const schedule = options.every === undefined ? null : `every ${options.every}`
  if (options.every !== undefined) parseDuration('--every', options.every)
  const timing = { lease, heartbeat }
  // refuses a schedule that is none before anything is written
  onetick.configured(timing, schedule ?? undefined)
  const { store, namespace } = storeFor(session, path, onetick)
  const own = onetick.configured({ ...timing, namespace, ...(store === null ? {} : { store }) }, schedule ?? undefined)
  if (own.store.kind === 'memory') {
    throw usage(
      "A memory store is its process's own, so replicas would not see each other.",
      'Name a database: --store sqlite:./.onetick/dev.db',
    )
  }
  const { location } = own.store
  return {
    labels,
    killEveryMs,
    forMs,
    leaseMs: own.timing.leaseMs,
    own,
    jobs: jobsOf(own, options.every === undefined ? '' : ' (--every, instead of their own schedules)'),
    orders: labels.map(label => ({ config: path, store, namespace, label, schedule, ...timing })),
    look: `npx onetick runs --all --store ${store?.startsWith('sqlite:') ? store : location}${namespace === 'default' ? '' : ` --namespace ${namespace}`}`,
  }
}

function labelsOf({ replicas, basePort }: DevOptions): string[] {
  const count = wholeNumber('--replicas', replicas, { min: 1, max: mostReplicas })
  const first = wholeNumber('--base-port', basePort, { min: 1, max: 65_535 - count })
  return Array.from({ length: count }, (_, at) => String(first + at))
}

/** DATABASE_URL is not looked at: replicas that get killed have no business in the app's database unless somebody says so. */
function storeFor(session: Session, path: string, onetick: Onetick): { store: string | null; namespace: string } {
  const namespace = `dev-${systemRandom.id().slice(0, 8)}`
  const named = namedStore(session.options)
  if (named !== null) {
    blaming(named.by, () => openStore(named.url, {}))
    return { store: named.url, namespace }
  }
  if (!isStoreNamed(onetick)) return { store: `sqlite:${freshDatabase(process.cwd())}`, namespace: 'default' }
  if (blaming(shortPath(path), () => onetick.configured({ namespace }).store) === onetick.configured({ namespace: 'other' }).store) {
    throw usage('The config hands in an opened store, whose namespace dev cannot choose.', 'Name a store: --store sqlite:./.onetick/dev.db')
  }
  return { store: null, namespace }
}

/** Names that share a schedule, together. */
function jobsOf(own: Onetick, remark: string): DevPlan['jobs'] {
  const groups = new Map<string, string[]>()
  for (const { name, definition } of own.declared) {
    const words = scheduleInWords(definition.schedule)
    const schedule = `${words.charAt(0).toLowerCase()}${words.slice(1)}${definition.schedule === null ? '' : remark}`
    groups.set(schedule, [...(groups.get(schedule) ?? []), name])
  }
  return [...groups].map(([schedule, names]) => ({ schedule, names }))
}
