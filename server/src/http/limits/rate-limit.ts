import { sql } from 'kysely'
import { isMissingReference } from '../../db/errors/sql-state.ts'
import { one, type Pool } from '../../db/index.ts'
import { fail } from '../../lib/errors/errors.ts'
import { countPresent } from '../../nodes/presence.ts'

/** A lease is this fraction of the limit: all nodes together hold at most 5 % of it unspent. */
const SHARES = 20
const COUNT_NODES_EVERY_MS = 5_000
const MAX_LEASES = 1_000
const MAX_WINDOWS = 10_000

export type RateState = { allowed: boolean; limit: number; remaining: number; resetSeconds: number }
type Window = { endsAt: number; left: number; leased: number; leasing: Promise<void> | undefined }
type Lease = { granted: number; leased: number; remainingMs: number }

/**
 * At most `limit` requests per project in 60 s of database time, over all nodes. Nodes lease shares and count them down in
 * memory: 20 statements a minute for a project at its limit, however many requests it makes.
 */
export function createRateLimiter(db: Pool, limit: number) {
  const windows = new Map<string, Window>()
  let nodes = 1
  let nodesCountedAt = Number.NEGATIVE_INFINITY

  async function countNodes() {
    if (performance.now() - nodesCountedAt < COUNT_NODES_EVERY_MS) return
    nodesCountedAt = performance.now()
    nodes = Math.max(1, await countPresent(db, 'api'))
  }

  async function lease(projectId: string, window: Window) {
    await countNodes()
    const share = Math.max(1, Math.floor(limit / (SHARES * nodes)))
    const got = await leaseShare(db, { projectId, share, limit }).catch((err) =>
      // The key may be cached here although its project was deleted.
      isMissingReference(err) ? fail('INVALID_API_KEY') : Promise.reject(err),
    )
    const endsAt = performance.now() + got.remainingMs
    // The rest of an earlier window does not carry over.
    const sameWindow = Math.abs(endsAt - window.endsAt) < 1_000
    window.left = (sameWindow ? window.left : 0) + got.granted
    window.leased = got.leased
    window.endsAt = endsAt
  }

  /** Concurrent requests share one lease. */
  async function refill(projectId: string, window: Window) {
    window.leasing ??= lease(projectId, window).finally(() => {
      window.leasing = undefined
    })
    await window.leasing
  }

  async function take(projectId: string): Promise<RateState> {
    if (windows.size > MAX_WINDOWS) dropEnded(windows)
    const window = windows.get(projectId) ?? { endsAt: 0, left: 0, leased: 0, leasing: undefined }
    windows.set(projectId, window)

    // Concurrent requests may have used up a lease, so this repeats.
    for (let tries = 0; tries < MAX_LEASES; tries++) {
      const over = performance.now() >= window.endsAt
      if (!over && window.left > 0) {
        window.left--
        return describe(window, true)
      }
      if (!over && window.leased >= limit) break
      await refill(projectId, window)
    }
    return describe(window, false)
  }

  /** Undoes `take` for a request that was refused by another limit. */
  function giveBack(projectId: string): RateState | undefined {
    const window = windows.get(projectId)
    if (!window || performance.now() >= window.endsAt) return undefined
    window.left++
    return describe(window, true)
  }

  const describe = (window: Window, allowed: boolean): RateState => ({
    allowed,
    limit,
    remaining: Math.max(0, window.left + limit - window.leased),
    resetSeconds: Math.max(1, Math.ceil((window.endsAt - performance.now()) / 1000)),
  })

  return { take, giveBack }
}

/** Also when the clock of the database was set back: otherwise the window would last until that time has come again. */
const IS_OVER = sql`(w.started_at <= now() - interval '60 s' or w.started_at > now() + interval '5 s')`

const leaseShare = (db: Pool, { projectId, share, limit }: { projectId: string; share: number; limit: number }) =>
  one<Lease>(db)`
    insert into rate_windows as w (project_id, started_at, leased, granted)
    values (${projectId}, now(), ${share}, ${share})
    on conflict (project_id) do update set
      started_at = case when ${IS_OVER} then now() else w.started_at end,
      granted = case when ${IS_OVER} then ${share} else greatest(0, least(${share}::int, ${limit}::int - w.leased)) end,
      leased = case when ${IS_OVER} then ${share} else least(w.leased + ${share}::int, ${limit}::int) end
    returning granted, leased, (extract(epoch from started_at + interval '60 s' - now()) * 1000)::float8 as "remainingMs"
  `

const dropEnded = (windows: Map<string, Window>) => {
  for (const [projectId, window] of windows) if (window.endsAt < performance.now() && !window.leasing) windows.delete(projectId)
}
