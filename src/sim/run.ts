import { check } from './checkers/all.ts'
import type { Counters } from './counters.ts'
import { wreak } from './faults.ts'
import type { History, Violation } from './history.ts'
import { fine } from './link.ts'
import { Simulation, type SimulationOptions } from './simulation.ts'

export interface Outcome {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly counters: Counters
  readonly history: History
  readonly steps: number
  readonly virtualMs: number
}

/** One seed: chaos, then everything is mended and nothing goes wrong any more, then the checkers. */
export async function simulate(options: SimulationOptions): Promise<Outcome> {
  const sim = new Simulation(options)
  const { scenario, world, history } = sim
  if (scenario.replicas === 1) sim.count('alone')
  for (let i = 0; i < scenario.replicas; i++) world.after(sim.chance.between(0, i === 0 ? 10 : 2000), () => void sim.launch(sim.newest))
  wreak(sim)
  await world.run(scenario.startsAtMs + scenario.chaosMs)
  await heal(sim)
  await world.run(world.nowMs + scenario.healMs)
  sim.end()
  const violations = options.mutant === undefined ? unexpected(sim) : []
  return {
    seed: options.seed,
    violations: [...violations, ...check(history)],
    counters: sim.counters,
    history,
    steps: world.steps,
    virtualMs: world.nowMs - scenario.startsAtMs,
  }
}

async function heal(sim: Simulation): Promise<void> {
  sim.trace('HEALED')
  sim.isChaos = false
  sim.server.isUp = true
  sim.setWeather(fine)
  for (const { link } of sim.replicas) link.state = 'open'
  const staying = [...sim.replicas].filter(({ isDraining }) => !isDraining).length
  for (let missing = Math.min(2, sim.scenario.replicas) - staying; missing > 0; missing--) sim.launch(sim.newest)
  sim.observeAll()
  for (const { name } of sim.newest) await sim.store.control({ kind: 'resume', name })
  sim.history.healedAt = sim.server.now()
}

function unexpected({ counters, server }: Simulation): Violation[] {
  return counters.unexpected.map(what => ({ promise: 'code', at: server.now(), what }))
}
