import { readFileSync } from 'node:fs'

/** The configuration of PgBouncer in deploy/, as settings by section. Values in the line of a database are left together. */
export function readPgBouncerIni() {
  const sections: Record<string, Record<string, string>> = {}
  let section: Record<string, string> = {}
  for (const line of readFileSync(new URL('../../../deploy/pgbouncer.ini', import.meta.url), 'utf8').split('\n')) {
    const [, name] = /^\[(\w+)\]$/.exec(line) ?? []
    const [, key, value = ''] = /^(\w+)\s*=\s*(.*)$/.exec(line) ?? []
    if (name) {
      section = {}
      sections[name] = section
    } else if (key) section[key] = value
  }
  return sections
}

/** The settings that decide how a pooler behaves, for the pooler of the tests. */
export function poolerOptionsOfIni() {
  const { databases, pgbouncer } = readPgBouncerIni()
  return {
    mode: pgbouncer!.pool_mode as 'transaction',
    ignores: pgbouncer!.ignore_startup_parameters!.split(',').map((name) => name.trim()),
    tracksStatements: Number(pgbouncer!.max_prepared_statements) > 0,
    connectQuery: /connect_query='([^']*)'/.exec(databases!.sterna!)![1]!,
  }
}
