import { type SqliteFitness, timed } from '../fitness.ts'
import type { Database } from './database.ts'
import { fileSystemOf, freeBytesOf } from './file-system.ts'
import { versionOf } from './migration.ts'
import { unfitPlace } from './place.ts'
import { schemaVersion } from './schema.ts'

/** For `onetick doctor`: looks at the file as it is, and makes none. */
export async function fitnessOf(database: Database): Promise<SqliteFitness> {
  const { path, synchronous, clock } = database
  const place = unfitPlace(path)
  const seen =
    place !== null
      ? null
      : await database.look(connection => ({
          version: connection.get<{ version: string }>('select sqlite_version() as version')?.version ?? null,
          journalMode: connection.get<{ journal_mode: string }>('pragma journal_mode')?.journal_mode ?? null,
          schema: versionOf(connection),
        }))
  // without a file its clock is this host's all the same
  const times = await timed(clock, async () =>
    seen === null ? clock.now() : ((await database.look(connection => connection.now())) ?? clock.now()),
  )
  const refusals =
    place === null ? [] : [{ what: place.message.slice(`${place.code}: ${path}: `.length, -1 - place.remedy.length), remedy: place.remedy }]
  return {
    ...{ kind: 'sqlite', ...times, refusals, schema: { found: seen?.schema ?? 0, wanted: schemaVersion } },
    ...{ isThere: seen !== null, version: seen?.version ?? null, journalMode: seen?.journalMode ?? null, synchronous },
    ...{ fileSystem: fileSystemOf(path), freeBytes: freeBytesOf(path) },
  }
}
