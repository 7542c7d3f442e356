// Each example loads and is what its README says.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { root } from './house/files.ts'

test('three-replicas declares A, B and N, each every minute', async () => {
  const config = join(root, 'examples/three-replicas/onetick.config.mjs')
  const args = [join(root, 'dist/cli/main.js'), 'check', '--json', '--config', config]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
  const { jobs } = JSON.parse(stdout) as { jobs: { name: string; words: string }[] }
  expect(jobs.map(({ name, words }) => [name, words])).toEqual(['A', 'B', 'N'].map(name => [name, 'Every minute, UTC']))
})
