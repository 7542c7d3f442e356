// One PostgreSQL for the whole run of the project `real`; a test takes its address with inject('postgresUrl').
import type { TestProject } from 'vitest/node'
import { chosenStores } from './chosen.ts'
import { startPostgres } from './postgres.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Null where ONETICK_TEST_STORES leaves PostgreSQL out. pg_stat_statements is loaded on the private server. */
    postgresUrl: string | null
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!chosenStores.includes('postgres')) {
    project.provide('postgresUrl', null)
    return undefined
  }
  const named = process.env['ONETICK_TEST_POSTGRES_URL']
  if (named !== undefined && named !== '') {
    project.provide('postgresUrl', named)
    return undefined
  }
  const server = await startPostgres({ preload: ['pg_stat_statements'] })
  project.provide('postgresUrl', server.url)
  return () => server.stop()
}
