import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A database file of its own for each `onetick dev`: the last one's is removed, unless that one still runs. */
export function freshDatabase(folder: string): string {
  const home = join(folder, '.onetick')
  mkdirSync(home, { recursive: true })
  // whatever is in here is nobody's work
  writeFileSync(join(home, '.gitignore'), '*\n')
  const owner = join(home, 'dev.pid')
  const name = existsSync(owner) && isAlive(Number(readFileSync(owner, 'utf8'))) ? `dev-${process.pid}.db` : 'dev.db'
  if (name === 'dev.db') writeFileSync(owner, String(process.pid))
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(join(home, name + suffix), { force: true })
  return `./.onetick/${name}`
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid < 1 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
