import { MemoryDatabase, memory } from '../../src/store/memory/index.ts'
import { conformance } from '../conformance/index.ts'
import { VirtualTime } from '../conformance/virtual-time.ts'

const capabilities = { transactions: false, renewsInTransaction: false }

const database = new MemoryDatabase()
conformance({ name: 'memory', capabilities, open: async options => memory({ ...options, database }) })

// the same in a time that only passes when everybody waits: no test may count on time passing by itself
const time = new VirtualTime(Date.UTC(2030, 0, 1))
const elsewhere = new MemoryDatabase()
conformance({
  name: 'memory, in virtual time,',
  capabilities,
  sleep: ms => time.sleep(ms),
  open: async options => memory({ ...options, database: elsewhere, now: () => time.now() }),
})
