import { one, type Pool } from '../db/index.ts'
import type { Database } from '../db/open.ts'
import { keepsPreparedStatements } from '../db/pooler.ts'
import { withClient } from '../db/with-client.ts'
import type { Config } from '../lib/config.ts'
import { explainBudget, readConnectionBudget } from '../nodes/connection-budget.ts'
import { type Check, ok, warn } from './check.ts'

/** Settings without which an acknowledged email can be lost, or tables grow for ever. */
const NEEDED = { fsync: 'on', full_page_writes: 'on', autovacuum: 'on' } as const

type Settings = Record<keyof typeof NEEDED | 'synchronous_commit', string>

/** The settings of the server, as this connection has them, and whether its connections suffice. */
export async function checkDatabaseSettings(config: Config, db: Pool): Promise<Check[]> {
  const settings = await one<Settings>(db)`
    select current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
      current_setting('autovacuum') as autovacuum, current_setting('synchronous_commit') as synchronous_commit
  `
  const budget = await readConnectionBudget(db, config)
  const tooMany = explainBudget(budget)
  return [
    describeSettings(settings),
    ...(await checkStandbys(db)),
    tooMany ? warn('connections', tooMany) : ok('connections', `at most ${budget.needed} of ${budget.available}`),
  ]
}

type Standbys = { standbys: number; isAwaited: boolean }

/** A commit that no standby has is lost when the primary is. */
async function checkStandbys(db: Pool): Promise<Check[]> {
  const { standbys, isAwaited } = await one<Standbys>(db)`
    select (select count(*)::int from pg_stat_replication) as standbys,
      current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') not in ('off', 'local') as "isAwaited"
  `
  if (!standbys) return []
  if (isAwaited) return [ok('standby', 'commits wait for a standby')]
  const problem = 'a standby exists and commits do not wait for it: a failover can lose accepted emails, and holds those that wait'
  return [warn('standby', `${problem}; set synchronous_standby_names, or the synchronous mode of what manages the servers`)]
}

/** Settings of a connection through a pooler in transaction mode, which statements outside of transactions depend on. */
export async function checkPooler({ pooledUrl }: Database): Promise<Check[]> {
  if (!pooledUrl) return []
  const names = (await keepsPreparedStatements(pooledUrl)) ? 'with' : 'without'
  const limit = await withClient(pooledUrl, 'sterna-doctor', async (client) => (await client.query('show statement_timeout')).rows[0])
  const found = `transaction mode, ${names} prepared statements`
  if (limit.statement_timeout !== '0') return [ok('pooler', `${found}, statements end after ${limit.statement_timeout}`)]
  return [
    warn('pooler', `${found}, and statements outside of transactions have no time limit; add connect_query: see deploy/pgbouncer.ini`),
  ]
}

export function describeSettings(settings: Settings): Check {
  const wrong = (Object.keys(NEEDED) as (keyof typeof NEEDED)[]).filter((name) => settings[name] !== NEEDED[name])
  const problems = wrong.map((name) => `${name} is ${settings[name]}, and must be ${NEEDED[name]}`)
  if (settings.synchronous_commit === 'off') problems.push('synchronous_commit is off, so a crash loses emails that were accepted')
  return problems.length ? warn('database settings', problems.join('; ')) : ok('database settings', 'commits are durable')
}
