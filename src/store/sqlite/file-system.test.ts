import { expect, test } from 'vitest'
import { mountOf } from './file-system.ts'

const mounts = `overlay / overlay rw 0 0
/dev/sda1 /data ext4 rw 0 0
server:/share /data/my\\040share nfs4 rw 0 0
tmpfs /data/my\\040share/over tmpfs rw 0 0
/dev/sdb1 /data/my\\040share/over xfs rw 0 0
`

test.each([
  ['/', 'overlay', '/'],
  ['/database', 'overlay', '/'],
  ['/data', 'ext4', '/data'],
  ['/data/a/b', 'ext4', '/data'],
  ['/data/my share/db', 'nfs4', '/data/my share'],
  ['/data/my share/over', 'xfs', '/data/my share/over'],
])('%s lies on the mount nearest above it, the last of several', (directory, type, mountedAt) => {
  expect(mountOf(directory, mounts)).toEqual({ type, mountedAt })
})
