// A PostgreSQL server that does not let us in: what a user who starts Onetick against it is told.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Events } from '../../src/domain/events.ts'
import { Onetick } from '../../src/scheduler/onetick.ts'
import { chosenStores } from '../servers/chosen.ts'
import { type PostgresServer, startPostgres } from '../servers/postgres.ts'

const secret = 's3cret-word'

describe.skipIf(!chosenStores.includes('postgres'))('a PostgreSQL server', () => {
  let server: PostgresServer
  let rules = ''

  beforeAll(async () => {
    // of its own: who is let in is a setting of the whole server
    server = await startPostgres({ fsync: false })
    rules = join(server.dataDir, 'pg_hba.conf')
    await asAdmin(`create role app login password '${secret}'`, 'create role idle')
    writeFileSync(rules, `host all app all scram-sha-256\n${readFileSync(rules, 'utf8')}`)
    await asAdmin('select pg_reload_conf()')
  })

  afterAll(() => server?.stop())

  const urlOf = (credentials: string, database = 'postgres'): string => `postgres://${credentials}@127.0.0.1:${server.port}/${database}`

  test.each([
    ['the wrong password', `app:${secret}x`, 'postgres', /password authentication failed.*Correct the user or the password/],
    ['no password', 'app', 'postgres', /password must be a .*Put the password into the URL/],
    ['a user that is not there', `nobody:${secret}`, 'postgres', /role "nobody" does not exist.*Name a user that exists/],
    ['a user that may not log in', `idle:${secret}`, 'postgres', /not permitted to log in.*Name a user that exists and may log in/],
    ['a database that is not there', `app:${secret}`, 'nothing', /database "nothing" does not exist.*Create the database/],
  ])('that is given %s is asked again, and a warning says what to do', async (_title, credentials, database, says) => {
    const [warned, onetick] = [warnings(), new Onetick({ store: urlOf(credentials, database) })]
    await onetick.start()
    await expect.poll(() => warned.texts()).toHaveLength(1)
    await onetick.stop()
    const [text] = warned.end()
    expect(text).toMatch(/^migrate: ONETICK_STORE_UNREACHABLE: postgres:\/\/[a-z]+@127\.0\.0\.1:\d+\/\w+: /)
    expect(text).toMatch(says)
    expect(text).toMatch(/ Onetick keeps trying\. /)
    expect(text).not.toContain(secret)
  })

  test('whose password is put right while it is asked is worked with from then on', async () => {
    await asAdmin("alter role app password 'another'")
    const onetick = new Onetick({ store: urlOf(`app:${secret}`), migrate: true })
    const [failed, recovered]: [Events['storeFailed'][], Events['storeRecovered'][]] = [[], []]
    onetick.on('storeFailed', event => failed.push(event))
    onetick.on('storeRecovered', event => recovered.push(event))
    await asAdmin('grant create on schema public to app')
    await onetick.start()
    expect(failed[0]).toMatchObject({ during: 'migrate', code: 'ONETICK_STORE_UNREACHABLE' })
    expect(JSON.stringify(failed)).not.toContain(secret)
    await asAdmin(`alter role app password '${secret}'`)
    await expect.poll(() => recovered.length, { timeout: 10_000 }).toBe(1)
    await onetick.stop()
  })

  test('that lets us make no tables ends the start at once', async () => {
    await asAdmin('create database closed', 'revoke create on schema public from public, app')
    await asAdmin('alter database closed owner to postgres')
    const onetick = new Onetick({ store: urlOf(`app:${secret}`, 'closed') })
    await expect(onetick.start()).rejects.toThrow(/^ONETICK_STORE_UNFIT: .*permission denied.*migrate --sql/)
    await onetick.stop()
  })

  async function asAdmin(...statements: readonly string[]): Promise<void> {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
    } finally {
      await client.end()
    }
  }
})

/** What Onetick warns of, until the end. */
function warnings(): { texts(): readonly string[]; end(): readonly string[] } {
  const heard: string[] = []
  const listener = ({ name, message }: Error): void => void (name === 'OnetickWarning' && heard.push(message))
  process.on('warning', listener)
  return {
    texts: () => heard,
    end: () => {
      process.off('warning', listener)
      return heard
    },
  }
}
