import { type RawBuilder, sql } from 'kysely'
import { one, type Pool, transact } from '../../src/db/index.ts'

type Plan = { 'Node Type': string; 'Actual Rows': number; 'Actual Loops': number; 'Rows Removed by Filter'?: number; Plans?: Plan[] }

type Explained = { 'QUERY PLAN': [{ Plan: Plan & { 'Shared Hit Blocks': number; 'Shared Read Blocks': number } }] }

/** Pages touched, and index entries and rows read from tables. */
export async function costOf(db: Pool, query: RawBuilder<unknown>) {
  // With a plan for any parameters, as a prepared statement has.
  const plan = await transact(db, async (tx) => {
    await sql`set local plan_cache_mode = force_generic_plan`.execute(tx)
    return (await one(tx, sql<Explained>`explain (analyze, buffers, format json) ${query}`))['QUERY PLAN']
  })
  const root = plan[0].Plan
  const scans = (node: Plan): number =>
    (/Scan/.test(node['Node Type']) && !/CTE|Function|Subquery/.test(node['Node Type'])
      ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
      : 0) + (node.Plans ?? []).reduce((sum, child) => sum + scans(child), 0)
  return { blocks: root['Shared Hit Blocks'] + root['Shared Read Blocks'], rows: scans(root) }
}
