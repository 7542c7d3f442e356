import type { PostgresFitness } from '../../store/fitness.ts'
import { printable } from '../text.ts'
import { lengthText } from '../times.ts'
import { type Check, fail, ok, unknown, warn } from './check.ts'

export function postgresChecks(fitness: PostgresFitness): Check[] {
  const version = printable(fitness.settings['server_version'] ?? '')
  return [
    ok('version', `PostgreSQL ${version}; 12 and later are supported.`),
    rights(fitness),
    ...durability(fitness),
    isolation(fitness),
    timeouts(fitness),
    connections(fitness),
    encryption(fitness),
    pooler(fitness),
  ]
}

function rights({ missingRights, user, schema }: PostgresFitness): Check {
  const name = printable(user)
  if (missingRights.length > 0) {
    const remedy = `Let somebody with the rights run what 'npx onetick migrate --sql' prints, with the grants to ${name}.`
    return fail('rights', `${name} lacks ${grouped(missingRights)}.`, remedy)
  }
  return schema.found === 0
    ? unknown('rights', `What ${name} may do shows once the tables are there.`)
    : ok('rights', `${name} may read and write all of Onetick's tables.`)
}

/** `select, insert on a, b` */
function grouped(missing: readonly string[]): string {
  const byTable = new Map<string, string[]>()
  for (const text of missing) {
    const [right = '', table = ''] = printable(text).split(' on ')
    byTable.set(table, [...(byTable.get(table) ?? []), right])
  }
  const byRights = new Map<string, string[]>()
  for (const [table, of] of byTable) byRights.set(of.join(', '), [...(byRights.get(of.join(', ')) ?? []), table])
  return [...byRights].map(([of, tables]) => `${of} on ${tables.join(', ')}`).join('; ')
}

function durability({ settings, standbys }: PostgresFitness): Check[] {
  const checks: Check[] = []
  if (settings['fsync'] === 'off') {
    const text = 'fsync is off: after a crash the server may have forgotten leases and verdicts, and runs happen twice.'
    checks.push(fail('durability', text, 'Set fsync = on in postgresql.conf.'))
  }
  if (settings['full_page_writes'] === 'off') {
    const text = 'full_page_writes is off: a crash may damage the tables.'
    checks.push(warn('durability', text, 'Set full_page_writes = on, unless the file system never tears a page.'))
  }
  if (standbys > 0 && settings['synchronous_standby_names'] === '') {
    const text = 'Its standbys follow asynchronously: one that is promoted may lack the last leases and verdicts, and runs happen twice.'
    checks.push(warn('failover', text, 'Set synchronous_standby_names, or accept it for that moment.'))
  }
  return checks.length > 0 ? checks : [ok('durability', 'What the server has confirmed survives its crash.')]
}

function isolation({ settings, user }: PostgresFitness): Check {
  const level = settings['default_transaction_isolation'] ?? 'read committed'
  if (level === 'read committed') return ok('isolation', 'read committed.')
  const text = `Transactions of this user are ${level}: calls that meet are undone and repeated, which takes longer.`
  return warn('isolation', text, `Run: alter role "${printable(user)}" set default_transaction_isolation = 'read committed'`)
}

/** Those that cut off what a call may take. */
const cutting = ['statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout'] as const
/** A replica's poll, and more: a connection is to outlive the pause between two calls. */
const shortestIdleMs = 60_000

function timeouts({ settings, callTimeoutMs, user }: PostgresFitness): Check {
  const limitOf = (name: string): number => Number(settings[name] ?? 0)
  // Onetick itself sets the statement's to just below the call's
  const short = cutting.filter(name => limitOf(name) > 0 && limitOf(name) < callTimeoutMs * 0.9)
  if (short.length > 0) {
    const told = short.map(name => `${name} (${lengthText(limitOf(name))})`).join(' and ')
    const text = `The server cuts calls off before their own time-out of ${lengthText(callTimeoutMs)}: ${told}.`
    return warn('timeouts', text, `Run: alter role "${printable(user)}" set ${short[0]} = ${Math.ceil(callTimeoutMs)}`)
  }
  const idleMs = limitOf('idle_session_timeout')
  if (idleMs > 0 && idleMs < shortestIdleMs) {
    const text = `idle_session_timeout (${lengthText(idleMs)}) ends connections between two calls, and the one that listens for wake-ups.`
    return warn('timeouts', text, `Run: alter role "${printable(user)}" set idle_session_timeout = 0`)
  }
  return ok('timeouts', `None of the server's is shorter than a call's (${lengthText(callTimeoutMs)}).`)
}

/** Of those that the server takes. */
const crowded = 0.8

function connections({ settings, connections: used }: PostgresFitness): Check {
  const most = Number(settings['max_connections'] ?? 0)
  const text = `${used} of ${most} are taken; a replica takes up to 6.`
  if (most === 0 || used < most * crowded) return ok('connections', text)
  return warn('connections', text, 'Raise max_connections, or let the apps keep smaller pools.')
}

function encryption({ isEncrypted, isLocal }: PostgresFitness): Check {
  if (isEncrypted) return ok('tls', 'The connection is encrypted.')
  if (isLocal) return ok('tls', "Not encrypted, on the server's own host.")
  const text = 'The connection to another host is not encrypted: password and data can be read on the way.'
  return warn('tls', text, 'Add sslmode=verify-full to the URL, and ssl = on at the server.')
}

function pooler({ pooler: found }: PostgresFitness): Check {
  const direct = "Name the server itself, or the pooler's port with pool_mode = session."
  switch (found) {
    case 'transaction': {
      const text =
        'A pooler in transaction mode stands between: calls work, but wake-ups do not arrive, and replicas find what is asked for by polling.'
      return warn('pooler', text, direct)
    }
    case 'settings':
      return warn(
        'pooler',
        "A pooler that takes no settings stands between: plans and the statement time-out are the server's own.",
        direct,
      )
    case 'none':
      return ok('pooler', 'No sign of one: two connections have a server process each.')
    case null:
      return unknown('pooler', 'There were no two connections to be had at once, by which one shows.')
  }
}
