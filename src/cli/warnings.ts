/**
 * Node 22 warns whoever opens its SQLite that this is an experiment. It is we who chose it, and the one who reads the
 * command's output can do nothing about it. Other warnings are told as ever.
 */
export function hushSqliteWarning(): void {
  const others = process.listeners('warning')
  process.removeAllListeners('warning')
  process.on('warning', warning => {
    if (warning.name === 'ExperimentalWarning' && warning.message.startsWith('SQLite ')) return
    for (const tell of others) tell(warning)
  })
}
