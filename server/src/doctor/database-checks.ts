import { one, type Pool } from '../db/index.ts'
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
    tooMany ? warn('connections', tooMany) : ok('connections', `at most ${budget.needed} of ${budget.available}`),
  ]
}

export function describeSettings(settings: Settings): Check {
  const wrong = (Object.keys(NEEDED) as (keyof typeof NEEDED)[]).filter((name) => settings[name] !== NEEDED[name])
  const problems = wrong.map((name) => `${name} is ${settings[name]}, and must be ${NEEDED[name]}`)
  if (settings.synchronous_commit === 'off') problems.push('synchronous_commit is off, so a crash loses emails that were accepted')
  return problems.length ? warn('database settings', problems.join('; ')) : ok('database settings', 'commits are durable')
}
