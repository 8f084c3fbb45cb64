import pg from 'pg'
import { vi } from 'vitest'

/** A statement that ran. `settings`: of its connection and transaction, for the planner. */
export type Ran = { text: string; values: unknown[]; isPrepared: boolean; settings: Map<string, string> }

type Request = string | { text: string; values?: unknown[]; name?: string }

const IS_PLANNED = /^\s*(?:select|insert|update|delete|with)\b/
/** As they are set for a connection (db/index.ts), and for a transaction (keyed-plans.ts). */
const FOR_SESSION = /^set (\w+) = '(\w+)'$/
const FOR_TRANSACTION = /set_config\('(\w+)', '(\w+)', true\)/g
const PLANNER = /^(?:enable_\w+|plan_cache_mode)$/

/** Notes each statement that the process sends to PostgreSQL, once: from here on, until `stop`. */
export function noteStatements() {
  const ran = new Map<string, Ran>()
  const sessions = new WeakMap<object, Map<string, string>>()
  const transactions = new WeakMap<object, Map<string, string>>()

  function note(client: object, { text, values = [], name }: Exclude<Request, string>) {
    const session = sessions.get(client) ?? new Map<string, string>()
    sessions.set(client, session)
    const [, setting, value] = FOR_SESSION.exec(text) ?? []
    if (setting && PLANNER.test(setting)) session.set(setting, value!)
    if (text === 'begin') transactions.set(client, new Map())
    for (const [, key, local] of text.matchAll(FOR_TRANSACTION)) if (PLANNER.test(key!)) transactions.get(client)?.set(key!, local!)
    if (text === 'commit' || text === 'rollback') transactions.delete(client)
    if (!IS_PLANNED.test(text) || ran.has(text)) return
    ran.set(text, { text, values, isPrepared: name !== undefined, settings: new Map([...session, ...(transactions.get(client) ?? [])]) })
  }

  const send = pg.Client.prototype.query
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [request, values] = args as [Request | undefined, unknown[] | undefined]
    if (typeof request === 'string') note(this, { text: request, ...(Array.isArray(values) ? { values } : {}) })
    else if (typeof request?.text === 'string') note(this, request)
    return (send as (...given: unknown[]) => unknown).apply(this, args)
  } as never)
  return { statements: () => [...ran.values()], stop: () => spy.mockRestore() }
}

type Node = { 'Node Type': string; 'Relation Name'?: string; 'Index Name'?: string; Plans?: Node[] }
export type Plan = { scanned: string[]; indexes: string[] }

/** The plan of a statement: of a prepared one that for any parameters, as a connection keeps it. `scanned`: tables that are read as a whole. */
export async function planOf(client: pg.Client, { text, values, isPrepared, settings }: Ran): Promise<Plan> {
  await client.query('begin')
  try {
    for (const [name, value] of settings) await client.query(`set local ${name} = '${value}'`)
    if (!isPrepared) return summaryOf(await client.query({ text: `explain (format json) ${text}`, values }))
    await client.query(`set local plan_cache_mode = force_generic_plan; prepare examined as ${text}`)
    const nulls = values.length ? `(${values.map(() => 'null').join(', ')})` : ''
    return summaryOf(await client.query(`explain (format json) execute examined${nulls}`))
  } finally {
    await client.query('rollback; deallocate all')
  }
}

function summaryOf({ rows }: pg.QueryResult): Plan {
  const plan: Plan = { scanned: [], indexes: [] }
  const visit = (node: Node) => {
    if (node['Node Type'] === 'Seq Scan') plan.scanned.push(node['Relation Name']!)
    if (node['Index Name']) plan.indexes.push(node['Index Name'])
    for (const child of node.Plans ?? []) visit(child)
  }
  visit((rows[0] as { 'QUERY PLAN': [{ Plan: Node }] })['QUERY PLAN'][0].Plan)
  return plan
}
