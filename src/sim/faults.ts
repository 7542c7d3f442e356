import type { Chance } from './chance.ts'
import { fine, type Link } from './link.ts'
import { act, isPeoples } from './people.ts'
import type { Release, Replica } from './replica.ts'
import { type Fault, specOf } from './scenario.ts'
import type { Simulation } from './simulation.ts'

/** Does what the scenario has in store, again and again, until it is healed. */
export function wreak(sim: Simulation): void {
  const { scenario, chance, world } = sim
  const armed = scenario.faults.filter(fault => !isHook(fault))
  if (scenario.faults.includes('slow')) sim.setWeather({ ...fine, latencyMs: [0, chance.pick([50, 300, 1000])] })
  if (armed.length === 0) return
  const next = (): void => {
    world.after(-Math.log(1 - chance.next()) * scenario.faultEveryMs, () => {
      if (!sim.isChaos) return
      const fault = chance.pick(armed)
      if (isPeoples(fault)) act(sim, fault)
      else strike(sim, fault)
      next()
    })
  }
  next()
}

/** These strike where something happens, not at a time. */
function isHook(fault: Fault): boolean {
  return ['crashAtGrant', 'pauseAtGrant', 'deafAtGrant', 'crashAtEnd', 'pauseAtEnd', 'skew', 'drift', 'slow'].includes(fault)
}

function strike(sim: Simulation, fault: Fault): void {
  const { chance, world } = sim
  const replica = chance.pick([...sim.replicas]) as Replica | undefined
  sim.trace(`fault ${fault} at ${replica?.id ?? 'nobody'}`)
  switch (fault) {
    case 'crash':
      return restart(sim, replica, chance.between(50, 12_000))
    case 'crashAll': {
      const downMs = chance.yes(0.1) ? chance.between(60_000, 600_000) : chance.between(1000, 20_000)
      for (const each of [...sim.replicas]) restart(sim, each, downMs + chance.between(0, 500))
      return
    }
    case 'crashBeforeDue':
      return crashBeforeDue(sim, replica)
    case 'pause':
      return replica?.host.pause(chance.between(100, 2500))
    case 'pauseLong':
      return replica?.host.pause(chance.between(3000, 12_000))
    case 'stall':
      return replica?.host.pause(chance.between(20, 400))
    case 'suspend':
      if (replica === undefined) return
      sim.count('suspended')
      // its timers come as late as it slept long; in touch with the store again, it knows
      replica.hasAsked = false
      return replica.host.suspend(chance.between(50, 15_000))
    case 'wallStep':
      return replica?.host.stepWall(chance.pick([-3_600_000, -1000, 1000, 3_600_000]))
    case 'cut':
    case 'blackhole':
      sim.count(fault)
      for (const each of [...sim.replicas]) if (each === replica || chance.yes(0.15)) sever(sim, each.link, fault)
      return
    case 'lossy':
      return stormy(sim, { dropRequest: chance.pick([0, 0.1, 0.4]), dropReply: chance.pick([0.1, 0.4]) })
    case 'late':
      return stormy(sim, { late: chance.pick([0.05, 0.3]), duplicate: chance.pick([0, 0.3]), dropReply: chance.pick([0, 0.1]) })
    case 'storeRestart':
    case 'lostSuffix': {
      sim.count(fault)
      sim.server.isUp = false
      sim.observeAll()
      world.after(chance.between(50, 5000), () => {
        sim.server.isUp = true
        sim.observeAll()
      })
      if (fault === 'lostSuffix') loseSuffix(sim)
      return
    }
    case 'drain':
      if (replica !== undefined) replace(sim, replica, replica.release)
      return
    case 'scale':
      if (sim.replicas.size > 2 && chance.yes(0.5) && replica !== undefined) return drainNow(sim, replica)
      if (sim.replicas.size < 8) sim.launch(sim.newest)
      return
    case 'deploy':
    case 'rollback':
      return deploy(sim, fault)
  }
}

function restart(sim: Simulation, replica: Replica | undefined, downMs: number): void {
  if (replica === undefined || !sim.replicas.has(replica)) return
  const release = sim.chance.yes(0.7) ? replica.release : sim.newest
  void sim.crash(replica)
  sim.world.after(downMs, () => sim.isChaos && void sim.launch(release))
}

/** Five milliseconds before the next instant, when everybody has aimed. */
function crashBeforeDue(sim: Simulation, replica: Replica | undefined): void {
  const now = sim.server.now()
  const due = Math.min(...[...sim.server.book.rows.values()].map(row => row.dueAt).filter(dueAt => dueAt > now + 10))
  if (replica !== undefined && Number.isFinite(due) && due < now + 60_000) {
    sim.world.after(due - 5 - sim.world.nowMs, () => sim.isChaos && restart(sim, replica, 200))
  }
}

function sever(sim: Simulation, link: Link, how: 'cut' | 'blackhole'): void {
  link.state = how
  sim.observeAll()
  sim.world.after(sim.chance.pick([300, 1500, 6000, 12_000]) * sim.chance.between(0.5, 1), () => {
    link.state = 'open'
    sim.observeAll()
  })
}

function stormy(sim: Simulation, weather: Partial<Link['weather']>): void {
  const before = sim.weather
  sim.setWeather({ ...before, ...weather })
  sim.world.after(sim.chance.between(1000, 10_000), () => sim.isChaos && sim.setWeather(before))
}

/** The server comes back as it was a moment ago. */
function loseSuffix(sim: Simulation): void {
  const snapshot = sim.server.snapshot()
  sim.server.isUp = true
  sim.world.after(sim.chance.between(50, 3000), () => {
    sim.history.lostSuffix = true
    sim.server.restore(snapshot)
    sim.trace('the store lost what it had written since')
  })
}

function limits(chance: Chance): { drainMs: number; graceMs: number } {
  return { drainMs: chance.pick([0, 500, 4000]), graceMs: chance.pick([100, 1000, 4000]) }
}

function drainNow(sim: Simulation, replica: Replica): void {
  sim.drain(replica, limits(sim.chance)).catch(error => sim.unexpected(`stop of ${replica.id}`, error))
}

/** Drained or killed, and a new process in its place. */
function replace(sim: Simulation, replica: Replica, release: Release): void {
  const { chance } = sim
  if (chance.yes(0.3)) sim.launch(release)
  else sim.world.after(chance.between(10, 4000), () => sim.isChaos && void sim.launch(release))
  if (chance.yes(0.8)) drainNow(sim, replica)
  else void sim.crash(replica)
}

function deploy(sim: Simulation, kind: 'deploy' | 'rollback'): void {
  const { chance } = sim
  if (kind === 'deploy') sim.releases.push(edited(sim))
  else if (sim.releases.length > 1) sim.releases.push(sim.releases.at(-2) as Release)
  else return
  const release = sim.newest
  let afterMs = 0
  for (const replica of chance.shuffled([...sim.replicas])) {
    // some stay behind
    if (chance.yes(0.1)) continue
    sim.world.after(afterMs, () => sim.isChaos && sim.replicas.has(replica) && replace(sim, replica, release))
    afterMs += chance.between(10, 3000)
  }
}

/** The next release: one job's schedule or rules are others. */
function edited(sim: Simulation): Release {
  const { chance } = sim
  const changed = chance.pick(sim.newest)
  return sim.newest.map(spec => {
    if (spec !== changed) return spec
    const other = specOf(spec.name, chance, sim.server.now())
    if (other.options.schedule === undefined || chance.yes(0.3)) return other
    return { ...spec, options: { ...spec.options, schedule: other.options.schedule } }
  })
}
