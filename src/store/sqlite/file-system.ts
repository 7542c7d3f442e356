import { readFileSync, realpathSync, statfsSync } from 'node:fs'
import { dirname, sep } from 'node:path'
import type { SqliteFitness } from '../fitness.ts'

/** Where a file lies, or would. Linux tells; null elsewhere. */
export function fileSystemOf(path: string): SqliteFitness['fileSystem'] {
  const directory = attempt(() => realpathSync(dirname(path)))
  const mounts = attempt(() => readFileSync('/proc/self/mounts', 'utf8'))
  return directory === null || mounts === null ? null : mountOf(directory, mounts)
}

/** The last mount of the longest path that holds the directory is the one in force. */
export function mountOf(directory: string, mounts: string): SqliteFitness['fileSystem'] {
  let found: SqliteFitness['fileSystem'] = null
  for (const line of mounts.split('\n')) {
    const [, place, type] = line.split(' ')
    if (place === undefined || type === undefined) continue
    const mountedAt = place.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
    const isAbove = directory === mountedAt || directory.startsWith(mountedAt === sep ? sep : mountedAt + sep)
    if (isAbove && mountedAt.length >= (found?.mountedAt.length ?? 0)) found = { type, mountedAt }
  }
  return found
}

/** What this user may still fill. */
export function freeBytesOf(path: string): number | null {
  return attempt(() => {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize
  })
}

function attempt<T>(look: () => T): T | null {
  try {
    return look()
  } catch {
    return null
  }
}
