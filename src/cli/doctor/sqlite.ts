import type { SqliteFitness } from '../../store/fitness.ts'
import { printable } from '../text.ts'
import { type Check, fail, ok, unknown, warn } from './check.ts'

export function sqliteChecks(fitness: SqliteFitness): Check[] {
  const { version, isThere } = fitness
  return [
    ...(version === null ? [] : [ok('version', `SQLite ${printable(version)}.`)]),
    ...(isThere ? [journal(fitness)] : []),
    synchronous(fitness),
    fileSystem(fitness),
    space(fitness),
  ]
}

function journal({ journalMode, schema }: SqliteFitness): Check {
  if (journalMode === 'wal') return ok('journal', 'A write-ahead log: readers and the writer do not wait for each other.')
  const text = `The journal mode is ${printable(journalMode ?? 'not known')}; `
  if (schema.found === 0) return ok('journal', `${text}migrate makes it wal.`)
  return warn(
    'journal',
    `${text}replicas set it to wal when they start.`,
    'Find out who changes it: readers and the writer wait for each other.',
  )
}

function synchronous({ synchronous: level }: SqliteFitness): Check {
  if (level === 'full') return ok('durability', 'synchronous is full: what was confirmed survives a loss of power.')
  const text = 'synchronous is normal: a loss of power may undo the last leases and verdicts, and runs happen twice.'
  return warn('durability', text, "Leave out synchronous: 'normal', unless that is worth the speed.")
}

const network =
  /^(nfs|nfs4|cifs|smb|smb2|smb3|smbfs|ncpfs|afs|9p|ceph|glusterfs|lustre|gpfs|ocfs2|gfs2|beegfs|fuse\.(sshfs|glusterfs|s3fs|rclone|gcsfuse|ceph|juicefs|davfs).*)$/
const passing: Readonly<Record<string, string>> = {
  tmpfs: 'The file lies in memory, and is gone when the host restarts.',
  ramfs: 'The file lies in memory, and is gone when the host restarts.',
  overlay: "The file lies in a container's own layer, and is gone with the container; other containers do not see it.",
}

export function fileSystem({ fileSystem: found }: Pick<SqliteFitness, 'fileSystem'>): Check {
  if (found === null) return unknown('file system', 'This host does not say what kind the file lies on. It must be a local disk.')
  const { type, mountedAt } = found
  const place = `${printable(type)}, mounted at ${printable(mountedAt)}`
  if (network.test(type)) {
    return fail(
      'file system',
      `The file lies on a network file system (${place}), whose locks do not hold.`,
      'Use a local disk, or PostgreSQL.',
    )
  }
  const warning = passing[type]
  if (warning !== undefined) return warn('file system', `${warning} (${place})`, 'Name a file on a local disk or a volume.')
  return ok('file system', `${place}.`)
}

const lowBytes = 100_000_000

function space({ freeBytes }: SqliteFitness): Check {
  if (freeBytes === null) return unknown('disk', 'How much room is left could not be found out.')
  const text = `${Math.round(freeBytes / 1_000_000).toLocaleString('en')} MB are free.`
  return freeBytes < lowBytes ? warn('disk', text, 'Make room: on a full disk nothing is claimed.') : ok('disk', text)
}
