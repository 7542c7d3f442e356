/** Seeds that once broke a promise, or raised a false alarm; they always run. */
export const corpus: readonly { readonly seed: number; readonly found: string }[] = [
  { seed: 753, found: 'S2: an extra row found by a repeated ask and granted again by its plan’s late reply started twice' },
  { seed: 1423, found: 'S2: the same' },
  { seed: 3873, found: 'L1: a replica in its quiet sleep heard nothing for 10 s once its wake-up channel was down' },
  { seed: 9, found: 'an edit after a skip ahead begins behind what was skipped' },
  { seed: 22, found: 'a plan made again later may open what came due meanwhile' },
  { seed: 369, found: 'a job’s own row and its extra row may carry equal fences' },
  { seed: 804, found: 'an extra row outlives the overlap policy that made it' },
  { seed: 1592, found: 'the last replica may still be draining when all is healed' },
  { seed: 2845, found: 'a claim that the network repeats may cost its row a lease' },
]

/** Each mutant, and a seed at which the promise it breaks is seen to break. */
export const caughtAt: Readonly<Record<string, number>> = {
  'settle ignores the fence': 5,
  'renew ignores the fence': 5,
  'expiry by the client’s clock': 4,
  'early expiry': 2,
  'fence not raised': 1,
  'no takeover': 2,
  'no catch-up': 4,
  'attempts are not counted': 2,
  'declare re-computes a due row': 6,
  'resume fires the past': 37,
  'no attempt id': 50,
  'no not_after on claims': 198,
  'no self-fencing': 5,
  'deadline counted from the reply': 59,
  'claims what its own handler runs': 792,
}
