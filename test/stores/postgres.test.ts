import pg from 'pg'
import { afterAll, describe, inject } from 'vitest'
import { postgres } from '../../src/store/postgres/index.ts'
import { conformance, type EmptyDatabase } from '../conformance/index.ts'
import { chosenStores } from '../servers/chosen.ts'

const schema = 'onetick_conformance'

describe.skipIf(!chosenStores.includes('postgres'))('PostgreSQL', () => {
  const url = inject('postgresUrl') ?? ''
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  const migrated = prepare()

  afterAll(() => pool.end())

  conformance({
    name: 'postgres',
    capabilities: { transactions: true, renewsInTransaction: true },
    open: async options => {
      await migrated
      return postgres({ ...options, url, schema, poolSize: 2 })
    },
    empty: async () => emptySchema(),
    lockProbe: async ({ id }) => {
      try {
        await pool.query(`select from ${schema}.onetick_jobs where id = $1 for update nowait`, [id])
        return true
      } catch (error) {
        if (error instanceof pg.DatabaseError && error.code === '55P03') return false
        throw error
      }
    },
    effects: async () => {
      const table = `${schema}.effects_${Math.random().toString(36).slice(2)}`
      await pool.query(`create table ${table} (n bigint generated always as identity, text text)`)
      return {
        write: async (connection, text) => {
          await (connection as pg.PoolClient).query(`insert into ${table} (text) values ($1)`, [text])
        },
        read: async () => (await pool.query<{ text: string }>(`select text from ${table} order by n`)).rows.map(row => row.text),
      }
    },
  })

  async function prepare(): Promise<void> {
    if (url === '') return
    await pool.query(`drop schema if exists ${schema} cascade`)
    const store = postgres({ url, schema })
    await store.migrate('apply')
    await store.close()
  }

  function emptySchema(): EmptyDatabase {
    const name = `onetick_empty_${Math.random().toString(36).slice(2)}`
    return {
      open: async () => postgres({ url, schema: name, poolSize: 2 }),
      remove: async () => {
        await pool.query(`drop schema if exists ${name} cascade`)
      },
    }
  }
})
