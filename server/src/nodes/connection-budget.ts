import { type Pool, scalar } from '../db/index.ts'
import type { Config } from '../lib/config.ts'
import { listPresent } from './presence.ts'

/** Connections of a node besides its pool: for its presence, and one that is opened for a moment now and then. */
const BESIDES_POOL = 2
/** Further connections of a worker: its sender, its job queue, and the listener for notifications. */
const OF_WORKER = 6 + 6 + 1

export type ConnectionBudget = { needed: number; available: number; nodes: number; perNode: number }

/** Connections that all running nodes may need, if each has the settings of this one, and those that the server allows. A pooler keeps those of the pools for itself. */
export async function readConnectionBudget(db: Pool, { poolSize, directUrl, role }: Config): Promise<ConnectionBudget> {
  const nodes = Math.max(1, (await listPresent(db)).length)
  const available = await scalar<number>(db)`
    select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
  `
  const perNode = (directUrl ? 0 : poolSize) + BESIDES_POOL + (role === 'api' ? 0 : OF_WORKER)
  return { needed: nodes * perNode, available, nodes, perNode }
}

/** A sentence with the remedy; undefined when the connections suffice. */
export function explainBudget({ needed, available, nodes, perNode }: ConnectionBudget) {
  if (needed <= available) return undefined
  const sum = `${nodes} ${nodes === 1 ? 'node' : 'nodes'} × ${perNode} connections = ${needed}`
  return `${sum}, and the database server allows ${available}; lower DATABASE_POOL_SIZE or raise max_connections`
}
