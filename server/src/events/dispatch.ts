import { sql } from 'kysely'
import { isLockTimeout } from '../db/errors/sql-state.ts'
import { type Db, many, maybeOne, one, type Pool, type Tx, transact } from '../db/index.ts'
import { listenForNotifications } from '../db/notifications.ts'
import { prepared } from '../db/prepared.ts'
import { lock, tryLock } from '../ledger/locks.ts'
import { inTurnSql } from '../ledger/owner-sql.ts'
import { type LoopDeps, type LoopOutcome, startProjectLoop } from '../ledger/project-loop.ts'
import { skipScanCte } from '../ledger/skip-scan.ts'
import { createCache } from '../lib/collections/cache.ts'
import { groupBy } from '../lib/collections/group-by.ts'
import { backoffSql } from '../lib/concurrency/backoff.ts'
import { crash } from '../lib/crash-point.ts'
import type { WaitingWork } from '../lib/fair/work-slots.ts'
import { createRareWarning } from '../lib/process/rare-warning.ts'
import { HOUR, SECOND } from '../lib/text/units.ts'
import { REACTIONS_CHANNEL } from './listen.ts'

/** One event or change that listeners wait for. Without contact and event it concerns the whole project. */
export type Reaction = {
  id: string
  contactId: string | null
  eventId: string | null
  eventName: string | null
  topics: string[]
  /** Listeners of the handler's kind, as `<kind>:<id>`. */
  listeners: string[]
}

/**
 * Applies reactions of one project in the transaction that removes them, so each has its effect exactly once. It looks at the present
 * state, because order is not kept. It may be called again after a failure, with fewer or other reactions.
 */
export type ReactionHandler = (tx: Tx, batch: { projectId: string; reactions: Reaction[] }) => Promise<void>

type Deps = LoopDeps & { db: Pool; url: string; handlers: Record<string, ReactionHandler>; pollMs?: number }

/** Projects that one process works on at a time, besides one of an owner that has none of them. */
const LANES = 3
/** Reactions of one project before it is the next one's turn. */
const BATCH = 500
/** Poll interval for reactions that are due again, and for lost notifications. */
const POLL_MS = 500
/** Wait after a notification, so that reactions of a busy project are handled together. */
const GATHER_MS = 30
/** Rest of a project that another process works on. */
const LOCKED_REST_MS = 50
/** Rest of a project with a listener that only nodes of a newer version know. */
const FOREIGN_REST_MS = 5_000
/** After this long a locked project is waited for: a computation that locks it page by page leaves only short gaps. */
const LOCKED_TOO_LONG_MS = 250
/** Projects of which it is remembered that they were locked. */
const MAX_LOCKED = 1_000
/** Bounds of the fall-back to single rows, after which the project rests. */
const MAX_FAILURES = 20
const ONE_BY_ONE_MS = 5_000

/** Hands reactions to the handlers of their listeners, project by project. Any number of processes may run it. */
export async function startDispatcher({ db, url, log, isHeld, handlers, pollMs = POLL_MS, isDue }: Deps) {
  const warn = createRareWarning(log)
  const lockedSince = createCache<string, number>({ maxEntries: MAX_LOCKED })
  let gathering: NodeJS.Timeout | undefined
  let stopped = false

  /** Handles one batch. */
  async function visitProject(projectId: string): Promise<LoopOutcome> {
    const mustWait = performance.now() - (lockedSince.get(projectId) ?? Number.POSITIVE_INFINITY) > LOCKED_TOO_LONG_MS
    let claimed: Claimed[] = []
    try {
      const outcome = await transact(db, async (tx) => {
        if (mustWait) await lockReactions(tx, projectId)
        else if (!(await tryLock(tx, 'reactions', projectId))) return 'locked'
        claimed = await claim(tx, projectId)
        return apply(tx, projectId, claimed)
      })
      if (outcome === 'locked') return leaveLocked(projectId)
      if (outcome === 'foreign') return leaveToNewerNodes(projectId)
    } catch (err) {
      if (!claimed.length && mustWait && isLockTimeout(err)) return leaveLocked(projectId)
      if (!claimed.length) throw err
      return (await applyOneByOne(projectId, claimed, err)) ? 'done' : 'failed'
    }
    lockedSince.delete(projectId)
    return claimed.length === BATCH ? 'more' : 'done'
  }

  function leaveLocked(projectId: string) {
    if (!lockedSince.has(projectId)) lockedSince.set(projectId, performance.now())
    return { restMs: LOCKED_REST_MS }
  }

  function leaveToNewerNodes(projectId: string) {
    warn({ projectId }, 'left reactions to nodes of a newer version, which know their listeners')
    return { restMs: FOREIGN_REST_MS }
  }

  /** A row that fails alone is due again later; it does not hold up the others. Returns whether all were tried. */
  async function applyOneByOne(projectId: string, claimed: Claimed[], reason: unknown): Promise<boolean> {
    if (claimed.length === 1) {
      await postpone(projectId, claimed[0]!, reason)
      return true
    }
    const deadline = performance.now() + ONE_BY_ONE_MS
    let failures = 0
    for (const { id } of claimed) {
      if (stopped || failures === MAX_FAILURES || performance.now() > deadline) return false
      let row: Claimed | undefined
      try {
        const outcome = await transact(db, async (tx) => {
          if (!(await tryLock(tx, 'reactions', projectId))) return 'locked'
          row = await claimOne(tx, projectId, id)
          return apply(tx, projectId, row ? [row] : [])
        })
        if (outcome !== 'applied') return false
      } catch (err) {
        if (!row) throw err
        failures++
        await postpone(projectId, row, err)
      }
    }
    return true
  }

  async function postpone(projectId: string, { id, attempts }: Claimed, err: unknown) {
    warn({ err, projectId, reaction: id, attempts: attempts + 1 }, 'could not handle a reaction; it is tried again later')
    await transact(db, (tx) => postponeReaction(tx, projectId, id))
  }

  /** Calls the handlers and removes the rows; nothing of both if a listener is of a kind that this version does not know. */
  async function apply(tx: Tx, projectId: string, claimed: Claimed[]): Promise<'applied' | 'foreign'> {
    if (!claimed.length) return 'applied'
    const { listeners, listenersOf } = await readListeners(tx, projectId, claimed)
    if (!listeners.every((listener) => Object.hasOwn(handlers, kindOf(listener)))) return 'foreign'
    for (const [kind, handle] of Object.entries(handlers)) {
      const reactions = claimed.flatMap(({ attempts: _, ...reaction }) => {
        const own = listenersOf(reaction, kind)
        return own.length ? [{ ...reaction, listeners: own }] : []
      })
      if (reactions.length) await handle(tx, { projectId, reactions })
    }
    await removeReactions(tx, projectId, claimed)
    crash('reactions-applied')
    return 'applied'
  }

  const loop = startProjectLoop({
    name: 'handle reactions',
    log,
    isHeld,
    pollMs,
    isDue,
    slots: LANES,
    find: (except) => many(db, dueProjectsSql(except)),
    work: ({ projectId }) => visitProject(projectId),
  })
  function gather() {
    gathering ??= setTimeout(() => {
      gathering = undefined
      loop.wake()
    }, GATHER_MS)
  }
  const notifications = listenForNotifications({ url, channel: REACTIONS_CHANNEL, onNotified: gather, log })
  return {
    /** Stops claiming, and waits for the batches in progress. */
    async stop() {
      stopped = true
      clearTimeout(gathering)
      await Promise.all([loop.stop(), notifications.stop()])
    },
  }
}

const kindOf = (listener: string) => listener.slice(0, Math.max(0, listener.indexOf(':')))

/**
 * Serialises everything that re-checks listeners of a project, until the transaction ends. Take it before any row lock: the handlers lock
 * rows while they hold it. It waits no longer than the `lock_timeout` of the pool.
 */
export const lockReactions = (tx: Tx, projectId: string) => lock(tx, 'reactions', projectId)

/** Projects with reactions that are due, by the earliest one of each. */
export const dueProjectsSql = (except: string[]) => sql<WaitingWork>`
  with recursive ${skipScanCte('pending', {
    table: 'reactions',
    by: ['project_id'],
    columns: [sql`due_at`],
    order: ['project_id', 'due_at'],
    where: sql`true`,
  })}
  select project_id as "projectId", project_id as key, owner
  from (${inTurnSql(sql`select * from pending where due_at <= now() and project_id <> all(${except}::uuid[])`)}) as found
`

type Claimed = Omit<Reaction, 'listeners'> & { attempts: number }

const CLAIM = prepared<Claimed>`
  select id, contact_id as "contactId", event_id as "eventId", event_name as "eventName", attempts, topics
  from reactions where due_at <= now()`

/** Needs no row locks: the lock of the project keeps other dispatchers out. */
const claim = (tx: Tx, projectId: string) => many<Claimed>(tx)`${CLAIM} and project_id = ${projectId} order by due_at, id limit ${BATCH}`

const claimOne = (tx: Tx, projectId: string, id: string) => maybeOne<Claimed>(tx)`${CLAIM} and project_id = ${projectId} and id = ${id}`

/** Reads the listeners of all these reactions, and returns a lookup of those of one and a kind. Reactions with the same topics share the result. */
async function readListeners(tx: Tx, projectId: string, claimed: Claimed[]) {
  const topics = [...new Set(claimed.flatMap((reaction) => reaction.topics))]
  const rows = await many(
    tx,
    prepared<{ topic: string; listener: string }>`
    select topic, listener from listeners where project_id = ${projectId} and topic = any(${topics}::text[])
  `,
  )
  const known = new Map<string, Map<string, string[]>>()
  const listenersOf = ({ topics }: Pick<Claimed, 'topics'>, kind: string) => {
    const key = JSON.stringify(topics)
    const found =
      known.get(key) ?? groupBy(new Set(rows.filter(({ topic }) => topics.includes(topic)).map(({ listener }) => listener)), kindOf)
    known.set(key, found)
    return found.get(kind) ?? []
  }
  return { listeners: [...new Set(rows.map(({ listener }) => listener))], listenersOf }
}

const removeReactions = (tx: Tx, projectId: string, claimed: Claimed[]) =>
  prepared`delete from reactions where project_id = ${projectId} and id = any(${claimed.map(({ id }) => id)}::uuid[])`.execute(tx)

const postponeReaction = (tx: Tx, projectId: string, id: string) =>
  sql`
    update reactions set
      attempts = attempts + 1,
      due_at = now() + ${backoffSql(sql`attempts`, { first: SECOND, longest: HOUR })}
    where project_id = ${projectId} and id = ${id}
  `.execute(tx)

/** Reactions that nothing has handled for this long are a sign of trouble. */
const OVERDUE_MINUTES = 5
const MAX_OVERDUE = 10_000

/** For the doctor: reactions that wait although they are due, and reactions that failed and are tried again; both counted up to a bound. */
export const countStuckReactions = (db: Db) =>
  one<{ overdue: number; failing: number }>(db)`
    select
      (select count(*)::int from (
        select from reactions where due_at < now() - make_interval(mins => ${OVERDUE_MINUTES}) limit ${MAX_OVERDUE}) as o) as overdue,
      (select count(*)::int from (select from reactions where attempts > 0 limit ${MAX_OVERDUE}) as f) as failing
  `
