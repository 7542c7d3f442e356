import { OnetickError } from '../domain/errors.ts'
import type { Json } from '../domain/json.ts'
import type {
  AcquireReply,
  AcquireRequest,
  ClaimReply,
  ClaimRequest,
  Command,
  ControlReply,
  DeclareReply,
  DeclareRequest,
  Held,
  Migration,
  Readings,
  RenewReply,
  RenewRequest,
  SettleReply,
  SettleRequest,
  Store,
  Wakeup,
} from '../store/store.ts'
import type { Chance } from './chance.ts'
import type { Host } from './host.ts'
import type { Server } from './server.ts'
import type { World } from './world.ts'

/** How the network treats calls just now. */
export interface Weather {
  readonly latencyMs: readonly [number, number]
  readonly dropRequest: number
  readonly dropReply: number
  /** A request that arrives long after its sender gave it up. */
  readonly late: number
  readonly duplicate: number
}

export const fine: Weather = { latencyMs: [0.2, 3], dropRequest: 0, dropReply: 0, late: 0, duplicate: 0 }

export interface LinkEvents {
  readonly onLost: (what: 'request' | 'reply') => void
  readonly onLate: () => void
  readonly onClaimed: (reply: ClaimReply, sentAtMs: number) => void
  /** The network repeats the claim of this id. */
  readonly onRepeated: (claimId: string) => void
  readonly onSettled: (request: SettleRequest, reply: SettleReply) => void
}

/** A replica's way to the store. Request and reply travel by themselves: each may be slow, lost, or come twice. */
export class Link implements Store {
  readonly kind: string = 'simulated'
  readonly location: string = 'sim:'
  weather: Weather = fine
  /** Deaf: what it sends arrives, what it is answered does not. */
  state: 'open' | 'cut' | 'blackhole' | 'deaf' = 'open'
  readonly #of: { world: World; chance: Chance; host: Host; server: Server; store: Store; limitMs: number; events: LinkEvents }
  readonly #wakeups: Set<Wakeup> = new Set()

  constructor(of: { world: World; chance: Chance; host: Host; server: Server; store: Store; limitMs: number; events: LinkEvents }) {
    this.#of = of
  }

  /** Nothing gets lost or is slow. */
  get isClear(): boolean {
    return this.state === 'open' && this.weather === fine && this.#of.server.isUp
  }

  async claim(request: ClaimRequest): Promise<ClaimReply> {
    const sentAtMs = this.#of.world.nowMs
    return this.#call(
      store => store.claim(request),
      reply => this.#of.events.onClaimed(reply, sentAtMs),
      () => this.#of.events.onRepeated(request.claimId),
    )
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.#call(store => store.acquire(request))
  }

  renew(request: RenewRequest): Promise<RenewReply> {
    return this.#call(store => store.renew(request))
  }

  settle(request: SettleRequest): Promise<SettleReply> {
    return this.#call(
      store => store.settle(request),
      reply => this.#of.events.onSettled(request, reply),
    )
  }

  transaction<T>(held: Held, body: (connection: unknown) => Promise<T>): Promise<T> {
    return this.#call(store => store.transaction(held, body))
  }

  declare(request: DeclareRequest): Promise<DeclareReply> {
    return this.#call(store => store.declare(request))
  }

  control(command: Command): Promise<ControlReply> {
    return this.#call(store => store.control(command))
  }

  checkpoint(held: Held, value: Json): Promise<boolean> {
    return this.#call(store => store.checkpoint(held, value))
  }

  read<K extends keyof Readings>(kind: K, filter: Readings[K]['filter']): Promise<Readings[K]['answer']> {
    return this.#call(store => store.read(kind, filter))
  }

  migrate(mode: 'plan' | 'apply'): Promise<Migration> {
    return this.#call(store => store.migrate(mode))
  }

  async wake(listener: () => void): Promise<Wakeup> {
    const { world, chance, host, server, store } = this.#of
    // a live connection loses no notification; one that was down tells of a missed one when it is back
    const deliver = (): void => {
      if (this.state === 'open' && server.isUp) world.after(this.#delayMs(), () => host.deliver(listener))
      else world.after(chance.between(100, 400), deliver)
    }
    const wakeup = await store.wake(deliver)
    const mine: Wakeup = {
      live: () => this.state === 'open' && server.isUp && wakeup.live(),
      close: () => {
        this.#wakeups.delete(mine)
        return wakeup.close()
      },
    }
    this.#wakeups.add(mine)
    return mine
  }

  async close(): Promise<void> {
    for (const wakeup of [...this.#wakeups]) await wakeup.close()
  }

  #delayMs(): number {
    const [from, until] = this.weather.latencyMs
    return this.#of.chance.between(from, until)
  }

  #call<T>(
    apply: (store: Store) => Promise<T>,
    onReply: (reply: T) => void = () => undefined,
    onRepeat: () => void = () => undefined,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      // a process that stands still between reading its clock and sending sends when it goes on
      this.#of.host.deliver(() => this.#send(apply, { onReply, onRepeat, resolve, reject }))
    })
  }

  #send<T>(
    apply: (store: Store) => Promise<T>,
    of: { onReply: (reply: T) => void; onRepeat: () => void; resolve: (reply: T) => void; reject: (error: unknown) => void },
  ): void {
    const { onReply, onRepeat, resolve, reject } = of
    const { world, chance, host, limitMs, events } = this.#of
    let isOver = false
    const answer = (reply: T): void => {
      host.deliver(() => {
        if (isOver) return
        cancelLimit()
        onReply(reply)
        // the process may have been stopped or killed at just this point
        host.deliver(() => resolve(reply))
      })
    }
    const fail = (error: unknown): void =>
      host.deliver(() => {
        cancelLimit()
        reject(error)
      })
    // as a client library does, also where the caller does not watch the time
    const cancelLimit = host.clock.after(limitMs, () => {
      isOver = true
      reject(new OnetickError('ONETICK_STORE_TIMEOUT', 'No answer in time.'))
    })
    if (this.state === 'cut') {
      world.after(0.1, () => fail(unreachable()))
      return
    }
    const isLate = chance.yes(this.weather.late)
    const delayMs = this.#delayMs() + (isLate ? chance.between(limitMs * 0.9, limitMs * 12) : 0)
    if (isLate) events.onLate()
    if (chance.yes(this.weather.dropRequest)) {
      events.onLost('request')
      return
    }
    world.after(delayMs, () => this.#arrive(apply, answer, fail))
    if (chance.yes(this.weather.duplicate)) {
      onRepeat()
      world.after(delayMs + chance.between(limitMs * 1.1, limitMs * 6), () =>
        this.#arrive(
          apply,
          () => undefined,
          () => undefined,
        ),
      )
    }
  }

  #arrive<T>(apply: (store: Store) => Promise<T>, answer: (reply: T) => void, fail: (error: unknown) => void): void {
    const { world, chance, server, store, events } = this.#of
    if (this.state === 'blackhole') return events.onLost('request')
    if (this.state === 'cut' || !server.isUp) return fail(unreachable())
    const back = (deliver: () => void): void => {
      if (chance.yes(this.weather.dropReply)) return events.onLost('reply')
      world.after(this.#delayMs(), () => {
        if (this.state === 'blackhole' || this.state === 'deaf') events.onLost('reply')
        else if (this.state === 'cut' || !server.isUp) {
          events.onLost('reply')
          fail(unreachable())
        } else deliver()
      })
    }
    apply(store).then(
      reply => back(() => answer(reply)),
      error => back(() => fail(error)),
    )
  }
}

function unreachable(): OnetickError {
  return new OnetickError('ONETICK_STORE_UNREACHABLE', 'The store cannot be reached.')
}
