// Three replicas with the same three jobs, each every minute: every replica declares them, one of them runs each occurrence.
// npx onetick dev --config examples/three-replicas/onetick.config.mjs --every 5s
import { setTimeout as sleep } from 'node:timers/promises'
import { Onetick } from 'onetick'

const onetick = new Onetick()

// an occurrence that comes due while a run is being taken over waits for its turn, instead of being skipped
const everyMinute = { schedule: '* * * * *', overlap: 'queue', misfire: 'all' }

onetick.job('A', everyMinute, async ({ signal }) => {
  await sleep(200, undefined, { signal })
})

onetick.job('B', everyMinute, async ({ signal }) => {
  await sleep(900, undefined, { signal })
})

onetick.job('N', everyMinute, async ({ signal, checkpoint, lastCheckpoint }) => {
  // three steps; whoever takes over goes on behind the last one that was done
  for (let step = Number(lastCheckpoint ?? 0); step < 3; step++) {
    await sleep(700, undefined, { signal })
    await checkpoint(step + 1)
  }
})

export default onetick
