import { afterEach, expect, test } from 'vitest'
import { evenRandom, HandClock } from '../../test/kit/hand-clock.ts'
import type { Events } from '../domain/events.ts'
import type { Handler } from '../execution/context.ts'
import { MemoryDatabase, memory } from '../store/memory/index.ts'
import type { RunView, Store } from '../store/store.ts'
import type { JobOptions } from './job-options.ts'
import { Onetick, type OnetickOptions } from './onetick.ts'

/** Replicas of one release on one clock and one database; time passes by hand. */
class Fleet {
  readonly clock: HandClock = new HandClock()
  readonly database: MemoryDatabase = new MemoryDatabase()
  readonly store: Store = memory({ database: this.database, now: () => Math.floor(this.clock.now()) })
  readonly random = evenRandom()
  readonly replicas: Onetick[] = []

  async start(
    options: JobOptions,
    handler: Handler,
    of: OnetickOptions = {},
    wrap: (store: Store) => Store = store => store,
  ): Promise<Onetick> {
    const store = wrap(memory({ database: this.database, now: () => Math.floor(this.clock.now()) }))
    const replica = new Onetick({
      store,
      clock: this.clock,
      random: this.random,
      lease: '3s',
      replica: `r${this.replicas.length + 1}`,
      ...of,
    })
    replica.job('job', options, handler)
    this.replicas.push(replica)
    await this.during(replica.start())
    return replica
  }

  /** Lets time pass until the promise is done. */
  async during<T>(promise: Promise<T>): Promise<T> {
    let isDone = false
    const done = promise.finally(() => {
      isDone = true
    })
    done.catch(() => undefined)
    for (let i = 0; i < 5000 && !isDone; i++) await this.clock.pass(10)
    return done
  }

  async ledger(): Promise<RunView[]> {
    return [...(await this.store.read('runs', { limit: 1000 })).runs].reverse()
  }

  sleep(ms: number): Promise<void> {
    return new Promise(resolve => this.clock.after(ms, resolve))
  }
}

let fleet = new Fleet()
afterEach(async () => {
  await fleet.during(Promise.all(fleet.replicas.map(replica => replica.stop())))
  fleet = new Fleet()
})

function heard<K extends keyof Events>(replica: Onetick, name: K): Events[K][] {
  const events: Events[K][] = []
  replica.on(name, event => {
    events.push(event)
  })
  return events
}

test('each occurrence is started within a few milliseconds of its instant, by one replica', async () => {
  const starts: number[] = []
  for (let i = 0; i < 3; i++) {
    const replica = await fleet.start({ schedule: 'every 1s' }, () => undefined)
    replica.on('started', ({ lateMs }) => starts.push(lateMs))
  }
  await fleet.clock.pass(10_000)
  expect(starts.length).toBeGreaterThanOrEqual(9)
  expect(Math.max(...starts)).toBeLessThanOrEqual(2)
  expect((await fleet.ledger()).map(line => line.end)).toEqual(starts.map(() => 'succeeded'))
})

test('a machine that was suspended in the quiet before an instant is on time within a poll', async () => {
  const replica = await fleet.start({ schedule: 'every 10s' }, () => undefined)
  const started = heard(replica, 'started')
  await fleet.clock.pass(10_500)
  fleet.clock.suspend(8000)
  await fleet.clock.pass(9000)
  expect(started.map(({ scheduledAt }) => scheduledAt % 100_000)).toEqual([10_000, 20_000])
  expect(started[1]?.lateMs).toBeLessThanOrEqual(500)
})

test('a handler that throws is tried again after its back-off, then failed; the next occurrence is unaffected', async () => {
  let calls = 0
  await fleet.start({ schedule: 'every 1m', retries: 2, backoff: '1s' }, () => {
    calls++
    if (calls < 4) throw new Error('no luck')
  })
  await fleet.clock.pass(130_000)
  const lines = await fleet.ledger()
  expect(lines.map(({ attempt, end, final }) => [attempt, end, final])).toEqual([
    [1, 'failed', false],
    [2, 'failed', false],
    [3, 'failed', true],
    [1, 'succeeded', true],
  ])
  expect(lines[0]?.error).toMatchObject({ name: 'Error', message: 'no luck' })
  expect((lines[1]?.startedAt ?? 0) - (lines[0]?.endedAt ?? 0)).toBeGreaterThanOrEqual(800)
})

test.each([
  'sync',
  null,
  undefined,
  7,
  new Proxy(
    {},
    {
      get: () => {
        throw new Error('unreadable')
      },
    },
  ),
])('whatever a handler throws (%#) ends in one verdict', async thrown => {
  await fleet.start({ schedule: 'every 1m' }, () => {
    throw thrown
  })
  await fleet.clock.pass(61_000)
  expect((await fleet.ledger()).map(line => line.end)).toEqual(['failed'])
})

test('what comes due while the job runs is skipped, and each skip has its line', async () => {
  await fleet.start({ schedule: 'every 1s' }, () => fleet.sleep(2500))
  await fleet.clock.pass(4_900)
  const [ran, skipped] = await fleet.ledger()
  expect(ran).toMatchObject({ end: 'succeeded' })
  expect(skipped).toMatchObject({ end: 'skipped', reason: 'overlap', count: 2 })
})

test('with overlap queue the latest of what came due meanwhile runs afterwards', async () => {
  const ran: number[] = []
  await fleet.start({ schedule: 'every 1s', overlap: 'queue' }, ({ scheduledAt }) => {
    ran.push(scheduledAt.getTime() / 1000)
    return fleet.sleep(2500)
  })
  await fleet.clock.pass(4_000)
  expect(ran).toHaveLength(2)
  expect((ran[1] ?? 0) - (ran[0] ?? 0)).toBe(2)
  expect((await fleet.ledger())[1]).toMatchObject({ end: 'superseded', reason: 'misfire', count: 1 })
})

test('with overlap replace a run makes way for the next occurrence', async () => {
  const aborted: string[] = []
  await fleet.start({ schedule: 'every 1s', overlap: 'replace' }, ({ signal }) => {
    return new Promise<void>(resolve => {
      signal.addEventListener('abort', () => {
        aborted.push((signal.reason as { code: string }).code)
        resolve()
      })
    })
  })
  await fleet.clock.pass(4_500)
  expect(aborted.length).toBeGreaterThanOrEqual(3)
  expect(new Set(aborted)).toEqual(new Set(['ONETICK_RUN_SUPERSEDED']))
  expect((await fleet.ledger()).every(line => line.end === 'superseded' && line.count === 1)).toBe(true)
})

test('with overlap allow occurrences run side by side, on one replica too', async () => {
  let [running, most] = [0, 0]
  await fleet.start({ schedule: 'every 1s', overlap: 'allow' }, async () => {
    most = Math.max(most, ++running)
    await fleet.sleep(3500)
    running--
  })
  await fleet.clock.pass(12_000)
  expect(most).toBe(4)
  const ends = await fleet.ledger()
  expect(ends.length).toBeGreaterThanOrEqual(7)
  expect(ends.every(line => line.end === 'succeeded')).toBe(true)
})

test('no more runs at a time than the replica has room for, and the rest waits for it', async () => {
  let [running, most] = [0, 0]
  const onetick = new Onetick({ store: fleet.store, clock: fleet.clock, random: fleet.random, lease: '3s', concurrency: 2 })
  for (let i = 0; i < 7; i++) {
    onetick.job(`job ${i}`, { schedule: 'every 1m' }, async () => {
      most = Math.max(most, ++running)
      await fleet.sleep(500)
      running--
    })
  }
  fleet.replicas.push(onetick)
  await fleet.during(onetick.start())
  await fleet.clock.pass(64_000)
  expect(most).toBe(2)
  expect(await fleet.ledger()).toHaveLength(7)
})

test('a claim whose reply was lost is found again by its id, long before its lease expires', async () => {
  let isLost = false
  const replica = await fleet.start(
    { schedule: 'every 10s' },
    () => undefined,
    {},
    store =>
      dropReply(store, 'claim', reply => {
        const drops = !isLost && reply.grants.length > 0
        isLost ||= drops
        return drops
      }),
  )
  const started = heard(replica, 'started')
  await fleet.clock.pass(14_000)
  expect(isLost).toBe(true)
  expect(started[0]?.attempt).toBe(1)
  expect(started[0]?.lateMs).toBeLessThan(2 * 500)
})

test('a settle whose reply was lost is settled once', async () => {
  let isLost = false
  await fleet.start(
    { schedule: 'every 10s' },
    () => undefined,
    {},
    store =>
      dropReply(store, 'settle', () => {
        const drops = !isLost
        isLost = true
        return drops
      }),
  )
  await fleet.clock.pass(14_000)
  expect((await fleet.ledger()).map(line => line.end)).toEqual(['succeeded'])
})

test('a stopping replica waits for what runs and claims nothing more', async () => {
  const replica = await fleet.start({ schedule: 'every 1s' }, () => fleet.sleep(5000))
  const started = heard(replica, 'started')
  await fleet.clock.pass(1500)
  await fleet.during(replica.stop())
  expect(started).toHaveLength(1)
  expect((await fleet.ledger()).map(line => line.end)).toEqual(['succeeded'])
})

test('what does not end within the drain is aborted, handed back, and starts elsewhere at once', async () => {
  const heed: Handler = ({ signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  const first = await fleet.start({ schedule: 'every 10s' }, heed)
  const second = await fleet.start({ schedule: 'every 10s' }, () => undefined, { concurrency: 5 })
  const starts = [...fleet.replicas].map(replica => heard(replica, 'started'))
  await fleet.clock.pass(11_000)
  const [holder, other] = starts[0]?.length === 1 ? [first, starts[1]] : [second, starts[0]]
  if (holder === first) {
    await fleet.during(first.stop({ drainTimeout: '100ms' }))
    await fleet.clock.pass(600)
    expect(other?.[0]).toMatchObject({ attempt: 2 })
    expect((await fleet.ledger()).map(line => line.end)).toEqual(['handedBack', 'succeeded'])
  }
})

test('a lease is never let go while its handler still runs here', async () => {
  const replica = await fleet.start({ schedule: 'every 10s' }, () => new Promise(() => undefined))
  await fleet.clock.pass(11_000)
  await fleet.during(replica.stop({ drainTimeout: '100ms' }))
  const { jobs } = await fleet.store.read('jobs', {})
  expect(jobs[0]?.lease?.owner).toBe(replica.replicaId)
  expect(await fleet.ledger()).toEqual([])
})

test('a triggered run starts at once on a worker, also when a client asked for it', async () => {
  const worker = await fleet.start({}, () => undefined)
  const client = await fleet.start({}, () => undefined, { role: 'client' })
  const [onWorker, onClient] = [heard(worker, 'started'), heard(client, 'started')]
  await client.trigger('job', { id: 'once' })
  await client.trigger('job', { id: 'once' })
  await fleet.clock.pass(1000)
  expect(onWorker).toMatchObject([{ cause: 'once' }])
  expect(onClient).toEqual([])
})

test('a failure that nobody listens to becomes a warning, once a kind', async () => {
  const warnings: string[] = []
  const onWarning = (warning: Error & { code?: string }): void => void warnings.push(warning.code ?? '')
  process.on('warning', onWarning)
  await fleet.start({ schedule: 'every 1s' }, () => {
    throw new Error('no luck')
  })
  await fleet.clock.pass(5000)
  process.off('warning', onWarning)
  expect(warnings.filter(code => code === 'ONETICK_RUN_FAILED')).toHaveLength(1)
})

test('signals are heeded from start to stop and not beyond', async () => {
  const before = process.listenerCount('SIGTERM')
  const onetick = new Onetick({ store: 'memory:' })
  await onetick.start({ signals: true })
  expect(process.listenerCount('SIGTERM')).toBe(before + 1)
  await onetick.stop()
  expect(process.listenerCount('SIGTERM')).toBe(before)
})

test('start is idempotent, and a stopped instance says so', async () => {
  const replica = await fleet.start({ schedule: 'every 1s' }, () => undefined)
  await Promise.all([replica.start(), replica.start()])
  await fleet.during(replica.stop())
  await expect(replica.start()).rejects.toThrow('ONETICK_STOPPED')
})

test('a one-off that has had its time is refused while new and kept where the store knows it', async () => {
  const at = new Date(Math.ceil(fleet.clock.now() / 1000) * 1000 + 5000).toISOString()
  const first = await fleet.start({ schedule: at }, () => undefined)
  await fleet.clock.pass(10_000)
  await fleet.during(first.stop())
  const again = await fleet.start({ schedule: at }, () => undefined)
  await fleet.clock.pass(10_000)
  expect(await fleet.ledger()).toHaveLength(1)
  await fleet.during(again.stop())
  const late = new Onetick({ store: memory({ now: () => fleet.clock.now() }), clock: fleet.clock, random: fleet.random })
  const failed = heard(late, 'declareFailed')
  late.job('new', { schedule: at }, () => undefined)
  fleet.replicas.push(late)
  await fleet.during(late.start())
  expect(failed[0]?.error.message).toContain('ONETICK_SCHEDULE_NEVER')
})

/** Carries the call out and loses its answer. */
function dropReply<K extends 'claim' | 'settle'>(
  store: Store,
  verb: K,
  isDropped: (reply: Awaited<ReturnType<Store[K]>>) => boolean,
): Store {
  return new Proxy(store, {
    get: (target, property) => {
      const value = Reflect.get(target, property, target) as unknown
      if (typeof value !== 'function') return value
      return async (...args: unknown[]) => {
        const reply = (await Reflect.apply(value, target, args)) as never
        return property === verb && isDropped(reply) ? new Promise(() => undefined) : reply
      }
    },
  })
}
