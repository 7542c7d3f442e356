import type { Clock } from '../../domain/clock.ts'
import { type Child, type Ending, startNode } from '../../platform/processes.ts'
import type { FromReplica, Orders, ToReplica } from './messages.ts'

export interface FleetOptions {
  readonly clock: Clock
  /** One for each replica; the label tells them apart. */
  readonly orders: readonly Orders[]
  readonly onMessage: (label: string, message: FromReplica) => void
  readonly onLine: (label: string, line: string) => void
  /** `wasAsked`: by `stop`; else it was killed, by us or by itself. */
  readonly onEnded: (label: string, ending: Ending, wasAsked: boolean) => void
}

/** How long a replica that has ended is away: longer than its lease, so that it is another that takes over. */
const restartMs = 4000

interface Member {
  readonly orders: Orders
  child: Child
  isUp: boolean
}

/** Replicas as processes of this machine. One that ends is started again, until all are stopped. */
export class Fleet {
  readonly #of: FleetOptions
  readonly #members: Map<string, Member> = new Map()
  #isStopping = false
  #onStopping: () => void = () => undefined
  readonly #stopping: Promise<void> = new Promise(resolve => {
    this.#onStopping = resolve
  })

  constructor(of: FleetOptions) {
    this.#of = of
  }

  /** Those that can be killed. */
  get up(): readonly string[] {
    return [...this.#members.entries()].filter(([, { isUp }]) => isUp).map(([label]) => label)
  }

  /** The children are told of by `onMessage`. */
  start(): void {
    for (const orders of this.#of.orders) this.#start(orders)
  }

  kill(label: string): void {
    const member = this.#members.get(label)
    if (member === undefined) return
    member.isUp = false
    member.child.kill('SIGKILL')
  }

  /** All of them, by drain. Those that are not done in `limitMs` are killed. */
  async stop(limitMs: number): Promise<void> {
    this.#isStopping = true
    this.#onStopping()
    for (const { child } of this.#members.values()) send(child, { kind: 'stop' })
    const cancel = this.#of.clock.after(limitMs, () => {
      for (const { child } of this.#members.values()) child.kill('SIGKILL')
    })
    await Promise.all([...this.#members.values()].map(({ child }) => child.ended))
    cancel()
  }

  #start(orders: Orders): void {
    const { label } = orders
    const child = startNode(new URL('./replica.js', import.meta.url), {
      onMessage: message => this.#heard(label, message as FromReplica),
      onLine: line => this.#of.onLine(label, line),
    })
    this.#members.set(label, { orders, child, isUp: false })
    send(child, { kind: 'run', orders })
    void child.ended.then(ending => this.#ended(orders, ending))
  }

  #heard(label: string, message: FromReplica): void {
    const member = this.#members.get(label)
    if (message.kind === 'up' && member !== undefined) member.isUp = true
    this.#of.onMessage(label, message)
  }

  #ended(orders: Orders, ending: Ending): void {
    const member = this.#members.get(orders.label)
    if (member !== undefined) member.isUp = false
    this.#of.onEnded(orders.label, ending, this.#isStopping && ending.code === 0)
    if (this.#isStopping) return
    const cancel = this.#of.clock.after(restartMs, () => {
      if (!this.#isStopping) this.#start(orders)
    })
    void this.#stopping.then(cancel)
  }
}

function send(child: Child, message: ToReplica): void {
  child.send(message)
}
