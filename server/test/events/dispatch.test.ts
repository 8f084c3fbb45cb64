import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect, many, one, type Pool, transact } from '../../src/db/index.ts'
import {
  countStuckReactions,
  dueProjectsSql,
  lockReactions,
  type Reaction,
  type ReactionHandler,
  startDispatcher,
} from '../../src/events/dispatch.ts'
import { listenTo, reactToContacts, reactToProject, type Topic } from '../../src/events/listen.ts'
import { recordEvents } from '../../src/events/record.ts'
import { NIL_ID, newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { HOUR } from '../../src/lib/text/units.ts'
import { cloneDatabase } from '../support/database.ts'
import { until } from '../support/eventually.ts'
import { times } from '../support/times.ts'

const log = createLog('silent')
let database: Awaited<ReturnType<typeof cloneDatabase>>
let db: Pool
const stops: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  database = await cloneDatabase({ isPatient: false })
  db = connect({ url: database.url, max: 20, log })
})
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()))
  await sql`truncate reactions, listeners`.execute(db)
})
afterAll(async () => {
  await db.destroy()
  await database.drop()
})

/** Projects that a dispatcher works on at once, as in dispatch.ts. */
const UNDER_WAY = 4

type Batch = { projectId: string; reactions: Reaction[] }
type Options = { isHeld?: () => boolean; pollMs?: number; handlers?: Record<string, ReactionHandler>; pool?: Pool }

/** Starts a dispatcher whose handler of the kind `test` notes the batches that it was given. */
async function start(handle: ReactionHandler = async () => {}, { isHeld = () => true, pollMs, handlers, pool = db }: Options = {}) {
  const batches: Batch[] = []
  const test: ReactionHandler = async (tx, batch) => {
    await handle(tx, batch)
    batches.push(batch)
  }
  const dispatcher = await startDispatcher({
    db: pool,
    url: database.url,
    log,
    isHeld,
    handlers: { test, ...handlers },
    ...(pollMs === undefined ? {} : { pollMs }),
  })
  stops.push(() => dispatcher.stop())
  return { ...dispatcher, batches, contacts: () => batches.flatMap(({ reactions }) => reactions.map(({ contactId }) => contactId)) }
}

const listen = (projectId: string, topics: Topic[] = ['contact'], listener = 'test:1') =>
  transact(db, (tx) => listenTo(tx, { projectId, listener }, topics))

async function newProject(topics: Topic[] = ['contact']) {
  const projectId: string = randomUUID()
  await listen(projectId, topics)
  return projectId
}

/** Returns the contacts in the order of their reactions. */
async function react(projectId: string, count = 1, topics: Topic[] = ['contact']) {
  const ids = times(count, () => newId())
  await transact(db, (tx) => reactToContacts(tx, projectId, ids, topics))
  return ids
}

const rowsOf = (projectId: string) =>
  many(
    db,
    sql<{ contactId: string; attempts: number; waitSeconds: number }>`
      select contact_id as "contactId", attempts, extract(epoch from due_at - now())::float8 as "waitSeconds"
      from reactions where project_id = ${projectId} order by due_at
    `,
  )
const untilEmpty = (projectId: string) => until('no reaction is left', async () => !(await rowsOf(projectId)).length)
const makeDue = (projectId: string) => sql`update reactions set due_at = now() where project_id = ${projectId}`.execute(db)

describe('the dispatcher', () => {
  test('hands a batch to the handler as a whole, with the listeners of its kind', async () => {
    const projectId = await newProject(['contact', 'event:bought', 'field:plan'])
    await listen(projectId, ['contact:data.plan', 'contact'], 'test:2')
    await listen(projectId, ['contact'], 'other:3')
    const [first] = await react(projectId, 1, ['contact', 'contact:data.plan'])
    const [second] = await react(projectId, 1, ['contact:data.plan'])
    await transact(db, (tx) => reactToProject(tx, projectId, ['field:plan', 'events-deleted:bought']))
    const [eventId] = await transact(db, (tx) => recordEvents(tx, [{ projectId, name: 'bought', contactId: first! }]))
    const others: Batch[] = []
    const { batches } = await start(undefined, { handlers: { other: async (_, batch) => void others.push(batch) } })
    await untilEmpty(projectId)

    const id = expect.any(String)
    const none = { eventId: null, eventName: null }
    expect(batches).toHaveLength(1)
    expect(batches[0]!.projectId).toBe(projectId)
    expect(
      batches[0]!.reactions.map((reaction) => ({
        ...reaction,
        topics: reaction.topics.toSorted(),
        listeners: reaction.listeners.toSorted(),
      })),
    ).toEqual([
      { id, contactId: first, ...none, topics: ['contact', 'contact:data.plan'], listeners: ['test:1', 'test:2'] },
      { id, contactId: second, ...none, topics: ['contact:data.plan'], listeners: ['test:2'] },
      { id, contactId: null, ...none, topics: ['field:plan'], listeners: ['test:1'] },
      { id: eventId, contactId: first, eventId, eventName: 'bought', topics: ['event:bought'], listeners: ['test:1'] },
    ])
    expect(others).toEqual([{ projectId, reactions: [expect.objectContaining({ contactId: first, listeners: ['other:3'] })] }])
  })

  test('writes and removes in one transaction', async () => {
    const projectId = await newProject(['contact', 'segment:x'])
    const ids = await react(projectId, 3)
    const { batches } = await start(async (tx, { reactions }) => {
      if (reactions[0]!.topics.includes('contact')) await reactToContacts(tx, projectId, [NIL_ID], ['segment:x'])
    })
    await untilEmpty(projectId)
    expect(batches.map(({ reactions }) => reactions.map(({ contactId }) => contactId).sort())).toEqual([ids.sort(), [NIL_ID]])
  })

  test('removes reactions whose listeners are gone', async () => {
    const projectId = await newProject()
    await react(projectId, 3)
    await listen(projectId, [])
    const { batches } = await start()
    await untilEmpty(projectId)
    expect(batches).toEqual([])
  })

  test('leaves reactions to newer nodes if it does not know the kind of a listener', async () => {
    const [projectId, other] = [await newProject(), await newProject()]
    await listen(projectId, ['contact'], 'unknown:1')
    const [contact] = await react(projectId)
    const { contacts } = await start()
    await react(other)
    await untilEmpty(other)
    expect(await rowsOf(projectId)).toMatchObject([{ contactId: contact, attempts: 0 }])
    expect(contacts()).not.toContain(contact)
    const newer = await start(undefined, { handlers: { unknown: async () => {} } })
    await untilEmpty(projectId)
    expect(newer.contacts()).toEqual([contact])
  })

  test('is woken by a reaction and does not wait for its next poll', async () => {
    const projectId = await newProject()
    const { contacts } = await start(undefined, { pollMs: HOUR })
    for (let round = 0; round < 3; round++) {
      const [contact] = await react(projectId)
      await untilEmpty(projectId)
      expect(contacts().at(-1)).toBe(contact)
    }
  })

  test('finds a reaction by polling if the notification was lost', async () => {
    const projectId = await newProject()
    const { contacts } = await start()
    await sql`insert into reactions (project_id, id, contact_id, topics) values (${projectId}, ${newId()}, ${NIL_ID}, '{contact}')`.execute(
      db,
    )
    await untilEmpty(projectId)
    expect(contacts()).toEqual([NIL_ID])
  })

  test('claims nothing while this process counts as dead', async () => {
    const projectId = await newProject()
    let held = false
    const idle = await start(undefined, { isHeld: () => held, pollMs: 20 })
    const ids = await react(projectId, 2)
    const living = await start()
    await untilEmpty(projectId)
    expect([idle.contacts(), living.contacts().sort()]).toEqual([[], ids.sort()])
    await living.stop()
    const more = await react(projectId, 2)
    held = true
    await untilEmpty(projectId)
    expect(idle.contacts().sort()).toEqual(more.sort())
  })

  test('ends its batch when it is stopped, and claims no more', async () => {
    const projectId = await newProject()
    await react(projectId, 1_200)
    let entered = () => {}
    const inside = new Promise<void>((resolve) => (entered = resolve))
    const { stop, contacts } = await start(async (tx) => {
      entered()
      await sql`select pg_sleep(0.1)`.execute(tx)
    })
    await inside
    await stop()
    expect(contacts()).toHaveLength(500)
    expect(await rowsOf(projectId)).toHaveLength(700)
    await react(projectId)
    expect(await rowsOf(projectId)).toHaveLength(701)
  })
})

describe('a reaction that cannot be handled', () => {
  test('is tried alone and then later, and does not hold up the others', async () => {
    const [projectId, other] = [await newProject(), await newProject()]
    const ids = await react(projectId, 20)
    const poison = ids[7]!
    const { contacts, batches } = await start(async (_, { reactions }) => {
      if (reactions.some(({ contactId }) => contactId === poison)) throw new Error('poison')
    })
    await until('only one is left', async () => (await rowsOf(projectId)).length === 1)
    expect(contacts().sort()).toEqual(ids.filter((id) => id !== poison).sort())
    expect(batches.every(({ reactions }) => reactions.length === 1)).toBe(true)
    await until('it was postponed', async () => (await rowsOf(projectId))[0]!.attempts > 0)
    const [contact] = await react(other)
    const [neighbour] = await react(projectId)
    await untilEmpty(other)
    await until('its neighbour is handled', async () => contacts().includes(neighbour!) && (await rowsOf(projectId)).length === 1)
    expect(contacts()).toContain(contact)
    expect(await rowsOf(projectId)).toMatchObject([{ contactId: poison }])
  })

  test('leaves nothing that its handler wrote', async () => {
    const projectId = await newProject(['contact', 'segment:x'])
    await react(projectId)
    await start(async (tx) => {
      await reactToContacts(tx, projectId, [NIL_ID], ['segment:x'])
      throw new Error('fails after it wrote')
    })
    const row = await until('it was postponed', async () => (await rowsOf(projectId)).find(({ attempts }) => attempts > 0))
    expect(row.contactId).not.toBe(NIL_ID)
    expect(await rowsOf(projectId)).toHaveLength(1)
  })

  test.each([
    [0, 1],
    [1, 2],
    [2, 4],
    [5, 32],
    [11, 2_048],
    [12, 3_600],
    [40, 3_600],
  ])('after %i failures is due again in %i s', async (attempts, seconds) => {
    const projectId = await newProject()
    await react(projectId)
    await sql`update reactions set attempts = ${attempts} where project_id = ${projectId}`.execute(db)
    const { stop } = await start(() => Promise.reject(new Error('fails')))
    const row = await until('it was postponed', async () => (await rowsOf(projectId)).find((each) => each.attempts > attempts))
    await stop()
    const { wait } = await one(
      db,
      sql<{ wait: number }>`select extract(epoch from due_at - now())::float8 as wait from reactions where project_id = ${projectId}`,
    )
    expect(row.attempts).toBe(attempts + 1)
    // The time of a statement is a little older than what it sees.
    expect(row.waitSeconds).toBeLessThanOrEqual(seconds + 0.5)
    expect(row.waitSeconds).toBeGreaterThan(seconds - 20)
    expect(wait).toBeLessThanOrEqual(seconds)
  })

  test('is handled as soon as it can be', async () => {
    const projectId = await newProject()
    const ids = await react(projectId, 2)
    let isBroken = true
    const { contacts } = await start(async () => {
      if (isBroken) throw new Error('broken')
    })
    await until('both failed', async () => (await rowsOf(projectId)).every(({ attempts }) => attempts > 0))
    isBroken = false
    await makeDue(projectId)
    await untilEmpty(projectId)
    expect(contacts().sort()).toEqual(ids.sort())
  })

  test('shows in the figures of the doctor', async () => {
    const projectId = await newProject()
    await react(projectId, 3)
    expect(await countStuckReactions(db)).toEqual({ overdue: 0, failing: 0 })
    await sql`update reactions set due_at = now() - interval '6 minutes' where project_id = ${projectId}`.execute(db)
    expect(await countStuckReactions(db)).toEqual({ overdue: 3, failing: 0 })
    await sql`update reactions set due_at = now() + interval '6 minutes', attempts = 3 where project_id = ${projectId}`.execute(db)
    expect(await countStuckReactions(db)).toEqual({ overdue: 0, failing: 3 })
  })
})

describe('several dispatchers', () => {
  test('handle every reaction once, and one batch of a project at a time', async () => {
    const pools = times(2, () => connect({ url: database.url, max: 5, log }))
    stops.push(...pools.map((pool) => () => pool.destroy()))
    const projects = await Promise.all(times(3, () => newProject()))
    const inside = new Map<string, number>()
    let most = 0
    const handle: ReactionHandler = async (tx, { projectId }) => {
      inside.set(projectId, (inside.get(projectId) ?? 0) + 1)
      most = Math.max(most, inside.get(projectId)!)
      await sql`select pg_sleep(0.002)`.execute(tx)
      inside.set(projectId, inside.get(projectId)! - 1)
    }
    const dispatchers = await Promise.all(pools.map((pool) => start(handle, { pool })))
    const ids = (await Promise.all(projects.flatMap((projectId) => times(20, () => react(projectId, 60))))).flat()
    for (const projectId of projects) await untilEmpty(projectId)
    const handled = dispatchers.flatMap(({ contacts }) => contacts())
    expect(handled.sort()).toEqual(ids.sort())
    expect(most).toBe(1)
    await Promise.all(stops.splice(2).map((stop) => stop()))
  })

  test('take over what a killed one was handling', async () => {
    const projectId = await newProject()
    const ids = await react(projectId, 5)
    let alive = true
    const killed = await start(
      async (tx) => {
        await sql`select pg_sleep(60)`.execute(tx)
      },
      { isHeld: () => alive },
    )
    const pid = await until('it is in its handler', async () => {
      const [row] = await many(
        db,
        sql<{ pid: number }>`select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
      )
      return row?.pid
    })
    alive = false
    const other = await start()
    await sql`select pg_terminate_backend(${pid})`.execute(db)
    await until('the other has handled all', () => other.contacts().length >= 5 || undefined)
    await untilEmpty(projectId)
    expect([killed.contacts(), other.contacts().sort()]).toEqual([[], ids.sort()])
  })

  test('go on after all connections were lost', async () => {
    const projectId = await newProject()
    const { contacts } = await start()
    await react(projectId)
    await untilEmpty(projectId)
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name like 'sterna%'
    `.execute(db)
    await until('a reaction can be written again', () => react(projectId).catch(() => undefined))
    await untilEmpty(projectId)
    expect(contacts()).toHaveLength(2)
  })
})

describe('projects', () => {
  test('with few reactions do not wait for one with many', async () => {
    const busy = await Promise.all(times(4, () => newProject()))
    const idle = await Promise.all(times(12, () => newProject()))
    for (const projectId of busy) await react(projectId, 2_000)
    for (const projectId of idle) await react(projectId)
    const { batches } = await start()
    for (const projectId of [...busy, ...idle]) await untilEmpty(projectId)
    const order = batches.map(({ projectId }) => projectId)
    // Every project began its first turn before any began its third. Turns are noted at their end: those under way then come later.
    const thirds = busy.map((projectId) => order.indexOf(projectId, order.indexOf(projectId, order.indexOf(projectId) + 1) + 1))
    const later = idle.filter((projectId) => order.indexOf(projectId) > Math.min(...thirds))
    expect(later.length).toBeLessThanOrEqual(UNDER_WAY)
  })

  test('whose handlers hang leave room for others', async () => {
    const hanging = await Promise.all(times(2, () => newProject()))
    const other = await newProject()
    for (const projectId of hanging) await react(projectId)
    let release = () => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const { contacts } = await start(async (_, { projectId }) => {
      if (hanging.includes(projectId)) await released
    })
    const ids = await react(other, 3)
    await untilEmpty(other)
    expect(contacts().sort()).toEqual(ids.sort())
    release()
    for (const projectId of hanging) await untilEmpty(projectId)
  })

  test('that something else locks page by page get their turn', async () => {
    const projectId = await newProject()
    const { contacts } = await start()
    let pages = 0
    let isOver = false
    const computing = (async () => {
      while (!isOver) {
        pages++
        await transact(db, async (tx) => {
          await lockReactions(tx, projectId)
          await sql`select pg_sleep(0.05)`.execute(tx)
        })
      }
    })()
    await until('the computation runs', () => pages > 2)
    const [contact] = await react(projectId)
    await until('the reaction is handled', () => contacts().includes(contact!))
    isOver = true
    await computing
  })

  test('with due reactions are found in a long queue without reading it', async () => {
    const [long, waiting, due] = [await newProject(), await newProject(), await newProject()].sort()
    await sql`
      insert into reactions (project_id, id, topics, due_at)
      select project, gen_random_uuid(), '{contact}', now() + interval '1 hour' + make_interval(secs => n)
      from unnest(${[long, waiting]}::uuid[]) as project, generate_series(1, 20000) as n
    `.execute(db)
    await react(due!)
    // Removes the index entries of reactions that earlier tests have handled.
    await sql`vacuum analyze reactions`.execute(db)
    const { 'QUERY PLAN': plan } = await one(
      db,
      sql<{
        'QUERY PLAN': [{ Plan: Record<string, number> }]
      }>`explain (analyze, buffers, format json) ${dueProjectsSql([])}`,
    )
    expect(plan[0].Plan['Actual Rows']).toBe(1)
    expect(plan[0].Plan['Shared Hit Blocks']! + plan[0].Plan['Shared Read Blocks']!).toBeLessThan(60)
  })
})
