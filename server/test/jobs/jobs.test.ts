import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, many, maybeOne, one, type Pool, transact } from '../../src/db/index.ts'
import { queuePool } from '../../src/jobs/queue-pool.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { cloneDatabase } from '../support/database.ts'
import { type Running, startNode } from '../support/process.ts'

/** One API node, and workers that are started and killed, as separate processes on one database. */
let database: Awaited<ReturnType<typeof cloneDatabase>>
let db: Pool
let api: Running
const workers = new Map<string, Running>()
let started = 0

beforeAll(async () => {
  database = await cloneDatabase()
  db = connect({ url: database.url, max: 4, log: createLog('silent') })
  api = await startNode(environment('api'))
})
afterAll(async () => {
  await Promise.all([...workers.keys()].map((name) => stop(name)))
  await api.stop('SIGKILL')
  await db.destroy()
  await database.drop()
})

/** Each process names its connections, so that PostgreSQL knows which one holds a lock. */
const environment = (role: 'api' | 'worker', name: string = role) => ({
  ROLE: role,
  DATABASE_URL: `${database.url}&application_name=${name}`,
  RATE_LIMIT_PER_MINUTE: '0',
  LOG_LEVEL: 'error',
})

async function startWorker() {
  const name = `worker${++started}`
  workers.set(name, await startNode(environment('worker', name)))
}

/** Starts or stops workers until there are `count`; those of the previous test are kept. */
async function haveWorkers(count: number) {
  for (const name of [...workers.keys()].slice(count)) await stop(name)
  await Promise.all(times(count - workers.size, startWorker))
}

async function stop(name: string, signal: NodeJS.Signals = 'SIGKILL') {
  const worker = workers.get(name)!
  workers.delete(name)
  // Earlier output may be about jobs that were meant to fail.
  const said = worker.output().length
  return { code: await worker.stop(signal), output: worker.output().slice(said) }
}

let cookie = ''
const headersFor = (key: string) => ({ authorization: `Bearer ${key}` })

async function newProject() {
  const post = (path: string, body: object) =>
    fetch(`${api.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json', cookie }, body: JSON.stringify(body) })
  cookie ||= (await post('/auth/signup', { email: 'jobs@example.com', password: 'correct horse' })).headers
    .get('set-cookie')!
    .split(';')[0]!
  const { id, secret } = (await (await post('/users/@me/projects', { name: 'Jobs' })).json()) as { id: string; secret: string }
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${api.url}${path}`, {
      method,
      headers: { ...headersFor(secret), ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape, and a wrong guess fails where it is used
    return (await answer.json()) as any
  }
  return {
    id,
    call,
    async upload(csv: string): Promise<string> {
      const form = new FormData()
      form.set('file', new Blob([csv]), 'a.csv')
      const answer = await fetch(`${api.url}/contacts/import`, { method: 'POST', headers: headersFor(secret), body: form })
      return ((await answer.json()) as { jobId: string }).jobId
    },
    /** Everything an import writes, by address instead of id. */
    async state() {
      const contacts = await many(db, sql`select email, subscribed, data from contacts where project_id = ${id} order by email`)
      const events = await many(
        db,
        sql`select c.email, e.name, count(*)::int as n from events e left join contacts c on c.project_id = e.project_id and c.id = e.contact_id
            where e.project_id = ${id} group by 1, 2 order by 1, 2`,
      )
      const consents = await many(
        db,
        sql`select c.email, k.subscribed, k.source, count(*)::int as n from consents k join contacts c on c.project_id = k.project_id and c.id = k.contact_id
            where k.project_id = ${id} group by 1, 2, 3 order by 1, 2, 3`,
      )
      const fields = await many(db, sql`select key, type from contact_fields where project_id = ${id} order by key`)
      const counts = await one(
        db,
        sql`select coalesce(sum(total), 0)::int as total, coalesce(sum(subscribed), 0)::int as subscribed from (select total, subscribed from contact_counts where project_id = ${id} union all select total, subscribed from contact_count_deltas where project_id = ${id}) as c`,
      )
      const files = await one(db, sql`select count(*)::int as n from job_files where project_id = ${id}`)
      return { contacts, events, consents, fields, counts, files }
    },
  }
}
type Project = Awaited<ReturnType<typeof newProject>>

const times = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))
/** A busy machine may take that long to start a worker. */
const PATIENCE_MS = 150_000
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const statusOf = (project: Project, jobId: string, kind = 'import') => project.call('GET', `/contacts/${kind}/${jobId}`)

const openJob = (project: Project, jobId: string) =>
  maybeOne(db, sql`select 1 from jobs where project_id = ${project.id} and id = ${jobId} and finished_at is null`)

/** Reads the row meanwhile: a request every few milliseconds would take the API node as much time as the job takes the worker. */
async function finished(project: Project, jobId: string, kind = 'import') {
  await expect.poll(() => openJob(project, jobId), { timeout: PATIENCE_MS, interval: 25 }).toBeUndefined()
  return statusOf(project, jobId, kind)
}

/** The worker that is writing contacts: its transaction holds the lock. */
async function writer() {
  const row = await maybeOne(
    db,
    sql<{ name: string }>`
      select a.application_name as name from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.relation = 'contacts'::regclass and l.mode = 'RowExclusiveLock' and a.application_name like 'worker%'
    `,
  )
  return row && workers.has(row.name) ? row.name : undefined
}

/** The worker that runs the job, as soon as one does; undefined when the job is done. */
async function nextWriter(project: Project, jobId: string) {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await pause(3)) {
    const name = await writer()
    if (name) return name
    if (!(await openJob(project, jobId))) return undefined
  }
  throw new Error('no worker took the job')
}

/** Makes each chunk of an import take longer by this, on any machine: half of it before its contacts are written, half after. */
async function slowDown(seconds: number, work: () => Promise<void>) {
  await sql`
    create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(${sql.lit(seconds / 2)}); return null; end $$;
    create trigger slow_before before insert on contacts for each statement execute function slow();
    create trigger slow_after after insert on contacts for each statement execute function slow()
  `.execute(db)
  await work().finally(() => sql`drop trigger slow_before on contacts; drop trigger slow_after on contacts; drop function slow`.execute(db))
}

/** Rows in a row for one address: few contacts fill many chunks. */
const ROWS_OF_A_CONTACT = 5

/** New and known addresses, subscribed and not, duplicates, data, and bad rows: the effect of each round is visible in the end. */
const fileOf = (round: number, rows: number) =>
  [
    'email,subscribed,round,plan,score',
    ...times(rows, (n) => {
      const who = (Math.floor(n / ROWS_OF_A_CONTACT) * 7 + round * 101) % (rows / ROWS_OF_A_CONTACT + 100)
      if (n % 97 === 0) return `bad row ${n},yes,${round},x,1`
      return `c${who}@example.com,${['yes', 'no', ''][(n + round) % 3]},${round},${n % 2 ? `plan ${n}` : ''},${n}`
    }),
  ].join('\n')

const resultsOf = ({ state, progress, failedReason, result }: Record<string, unknown>) => ({ state, progress, failedReason, result })

// Tests that need more workers come first: each start takes a second.

describe('a worker that is asked to stop', () => {
  test('exits cleanly in the middle of an import, which ends as if nothing had happened', async () => {
    const [project, clean] = [await newProject(), await newProject()]
    const file = fileOf(1, 3_000)
    await haveWorkers(2)
    const cleanJob = await clean.upload(file)
    const expected = await finished(clean, cleanJob)

    await slowDown(0.3, async () => {
      const jobId = await project.upload(file)
      const worker = await nextWriter(project, jobId)
      const asked = performance.now()
      expect(await stop(worker!, 'SIGTERM')).toEqual({ code: 0, output: '' })
      expect(performance.now() - asked).toBeLessThan(20_000)
      expect(resultsOf(await finished(project, jobId))).toEqual(resultsOf(expected))
    })
    expect(await project.state()).toEqual(await clean.state())
  })
})

describe('a worker that is killed', () => {
  test('at any moment of an import changes nothing about what the import does', { timeout: 240_000 }, async () => {
    const [project, clean] = [await newProject(), await newProject()]
    await haveWorkers(2)
    // Contacts to subscribe and unsubscribe, so that a change recorded twice is noticed.
    const known = fileOf(-1, 4_000)
    for (const each of [project, clean]) await finished(each, await each.upload(known))
    const KILLS = 2
    // More chunks than one job of the queue works on.
    const file = fileOf(0, 11_000)
    const restarts: Promise<void>[] = []
    let kills = 0

    let jobId = ''
    // Eleven chunks take longer than the pauses before all kills.
    await slowDown(0.3, async () => {
      jobId = await project.upload(file)
      for (; kills < KILLS; kills++) {
        const victim = await nextWriter(project, jobId)
        if (!victim) break
        // Before or after it writes, while it commits, or in the next chunk.
        await pause(Math.random() * 300)
        await stop(victim, 'SIGKILL')
        restarts.push(startWorker())
      }
    })
    expect(kills).toBe(KILLS)
    await finished(project, jobId)
    await Promise.all(restarts)

    const cleanJob = await clean.upload(file)
    expect(resultsOf(await statusOf(project, jobId))).toEqual(resultsOf(await finished(clean, cleanJob)))
    const [after, expected] = [await project.state(), await clean.state()]
    expect(after.contacts.length).toBeGreaterThan(2_000)
    expect(after.events.length).toBeGreaterThan(500)
    expect(after.files).toEqual({ n: 0 })
    expect(after).toEqual(expected)
  })

  test('leaves its job to another, which continues within 2 s', async () => {
    const project = await newProject()
    await haveWorkers(2)
    await slowDown(0.3, async () => {
      const jobId = await project.upload(fileOf(0, 3_000))
      await pause(Math.random() * 200)
      const victim = (await nextWriter(project, jobId))!
      await stop(victim, 'SIGKILL')
      const killed = performance.now()
      expect(await nextWriter(project, jobId)).toBeDefined()
      // 2 s is the promise; the rest is for a machine that several test files share.
      expect(performance.now() - killed).toBeLessThan(20_000)
      expect((await finished(project, jobId)).result.totalRows).toBe(3_000)
    })
  })

  test('during the last attempt of its job leaves the job failed, with a reason', async () => {
    const project = await newProject()
    await haveWorkers(2)
    await slowDown(0.3, async () => {
      const jobId = await project.upload(fileOf(0, 3_000))
      const victim = (await nextWriter(project, jobId))!
      // As if this were the last of its attempts.
      await sql`update graphile_worker._private_jobs set attempts = max_attempts where payload ->> 'jobId' = ${jobId}`.execute(db)
      await stop(victim, 'SIGKILL')
      await expect.poll(() => statusOf(project, jobId)).toMatchObject(GIVEN_UP)
      expect((await project.state()).files).toEqual({ n: 0 })
    })
  })

  test('as the last one leaves its job to the next that starts', async () => {
    const project = await newProject()
    await haveWorkers(1)
    let imported = ''
    await slowDown(0.3, async () => {
      imported = await project.upload(fileOf(0, 3_000))
      await stop((await nextWriter(project, imported))!, 'SIGKILL')
    })
    const { jobId } = await project.call('POST', '/contacts/bulk-delete', { contactIds: times(1_000, () => randomUUID()) })
    expect((await statusOf(project, jobId, 'bulk')).state).toBe('waiting')
    await startWorker()
    expect((await finished(project, imported)).result.totalRows).toBe(3_000)
    expect((await finished(project, jobId, 'bulk')).result).toMatchObject({ totalRequested: 1_000, failureCount: 1_000 })
  })
})

/** The status of a job that the queue has given up. */
const GIVEN_UP = { state: 'failed', failedReason: expect.stringMatching(/./), finishedAt: expect.any(String) }

describe('jobs', () => {
  test('that throw until the queue gives up are failed, with a reason', async () => {
    const project = await newProject()
    await haveWorkers(2)
    const jobId = randomUUID()
    await sql`insert into jobs (project_id, id, type, input) values (${project.id}, ${jobId}, 'bulk-delete', '{}')`.execute(db)
    await sql`select graphile_worker.add_job('contacts.bulk', ${JSON.stringify({ projectId: project.id, jobId })}::json, max_attempts := 1)`.execute(
      db,
    )
    await expect.poll(() => statusOf(project, jobId, 'bulk')).toMatchObject(GIVEN_UP)
    // The message of an unexpected error belongs in the log: it may contain SQL or personal data.
    expect((await statusOf(project, jobId, 'bulk')).failedReason).not.toMatch(/operator|undefined|select/)
  })

  test('that take long stay with their worker', async () => {
    const project = await newProject()
    await haveWorkers(2)
    await slowDown(1.1, async () => {
      const jobId = await project.upload(fileOf(0, 2_000))
      const attempts = new Set<number>()
      await expect
        .poll(
          async () => {
            const rows = await many(
              db,
              sql<{ attempts: number }>`select attempts from graphile_worker._private_jobs where payload ->> 'jobId' = ${jobId}`,
            )
            for (const row of rows) attempts.add(row.attempts)
            return (await statusOf(project, jobId)).state
          },
          { interval: 100 },
        )
        .toBe('completed')
      expect(Math.max(...attempts)).toBe(1)
    })
  })

  test('that several workers hold at once run once', async () => {
    const project = await newProject()
    await haveWorkers(2)
    const orderAgain = (name: string, jobId: string) =>
      sql`select graphile_worker.add_job(${name}, ${JSON.stringify({ projectId: project.id, jobId })}::json) from generate_series(1, 6)`.execute(
        db,
      )

    const imports = await Promise.all([0, 1].map((round) => project.upload(fileOf(round, 4_000))))
    for (const jobId of imports) await orderAgain('contacts.import', jobId)
    const [first, second] = await Promise.all(imports.map((jobId) => finished(project, jobId)))
    expect([first.result.totalRows, second.result.totalRows]).toEqual([4_000, 4_000])
    expect([first, second].map(({ result }) => result.successCount + result.failureCount)).toEqual([4_000, 4_000])
    const { contacts, counts, events, consents } = await project.state()
    expect(first.result.createdCount + second.result.createdCount).toBe(contacts.length)
    expect(counts).toMatchObject({ total: contacts.length })
    const sum = (rows: unknown[]) => (rows as { n: number }[]).reduce((total, { n }) => total + n, 0)
    expect(sum(events)).toBe(sum(consents))

    const ids = (await many(db, sql<{ id: string }>`select id from contacts where project_id = ${project.id} order by id limit 500`)).map(
      ({ id }) => id,
    )
    const { jobId } = await project.call('POST', '/contacts/bulk-delete', { contactIds: ids })
    await orderAgain('contacts.bulk', jobId)
    expect((await finished(project, jobId, 'bulk')).result).toMatchObject({ totalRequested: 500, successCount: 500, failureCount: 0 })
    expect((await project.call('GET', '/contacts')).total).toBe(contacts.length - 500)
    // Nothing is left in the queue to do it again.
    await expect
      .poll(() => many(db, sql`select 1 from graphile_worker._private_jobs where payload ->> 'projectId' = ${project.id}`))
      .toEqual([])
  })

  test('whose end could not be noted run again, and their worker goes on', async () => {
    const project = await newProject()
    await haveWorkers(1)
    const [worker] = [...workers.values()]
    const said = worker!.output().length
    // Ends the connection of the queue when it removes the first job.
    await sql`
      create sequence notes;
      create function lose_note() returns trigger language plpgsql as $$ begin
        if nextval('notes') = 1 then perform pg_terminate_backend(pg_backend_pid()), pg_sleep(10); end if;
        return old;
      end $$;
      create trigger lose_note before delete on graphile_worker._private_jobs for each row execute function lose_note()
    `.execute(db)
    const jobId = await project.upload(fileOf(0, 100))
    const result = await finished(project, jobId)
    expect(result.state).toBe('completed')
    await expect
      .poll(() => many(db, sql`select 1 from graphile_worker._private_jobs where payload ->> 'projectId' = ${project.id}`))
      .toEqual([])
    expect(await statusOf(project, jobId)).toEqual(result)
    expect([worker!.child.exitCode, worker!.output().slice(said)]).toEqual([null, expect.stringContaining('the database was away')])
    await sql`drop trigger lose_note on graphile_worker._private_jobs; drop function lose_note; drop sequence notes`.execute(db)
  })

  test('whose row is locked for a moment are completed', async () => {
    const project = await newProject()
    await haveWorkers(1)
    await slowDown(0.3, async () => {
      const jobId = await project.upload(fileOf(0, 3_000))
      await nextWriter(project, jobId)
      await transact(db, async (tx) => {
        // Waits for the chunk being written and delays the next, as a second worker that comes too late does.
        await sql`select 1 from jobs where id = ${jobId} for update`.execute(tx)
        await pause(300)
      })
      await expect.poll(async () => (await statusOf(project, jobId)).state).toBe('completed')
      expect((await statusOf(project, jobId)).result.totalRows).toBe(3_000)
    })
  })
})

test.skipIf(process.platform !== 'linux')('the largest import takes a worker less than 60 MB', async () => {
  const project = await newProject()
  await haveWorkers(1)
  await finished(project, await project.upload(fileOf(0, 2_000)))
  const [worker] = [...workers.values()]
  const residentMb = () => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${worker!.child.pid}/status`, 'utf8'))![1]) / 1024
  const before = residentMb()
  let most = before
  const file = ['email,note', ...times(12_000, (n) => `m${n}@example.com,${String(n).padEnd(392, 'x')}`)].join('\n')
  expect(file.length).toBeGreaterThan(4_900_000)
  expect(file.length).toBeLessThan(5 * 1024 * 1024)

  const jobId = await project.upload(file)
  const watch = async () => {
    most = Math.max(most, residentMb())
    return openJob(project, jobId)
  }
  await expect.poll(watch, { timeout: 60_000, interval: 20 }).toBeUndefined()

  expect((await statusOf(project, jobId)).result).toMatchObject({ totalRows: 12_000, createdCount: 12_000 })
  expect(most - before).toBeLessThan(60)
})

describe('a worker that lost its liveness connection', () => {
  test('is registered again when it is back', async () => {
    await haveWorkers(1)
    const known = () =>
      many(db, sql<{ id: string }>`select worker_id as id from job_workers order by 1`).then((rows) => rows.map(({ id }) => id))
    const alive = () =>
      many(
        db,
        sql<{ pid: number }>`
          select l.pid from pg_locks l join pg_stat_activity a on a.pid = l.pid and a.datname = current_database()
          where l.locktype = 'advisory' and l.classid = 7357004 and a.application_name like 'worker%'
        `,
      )
    // Entries of ended workers are swept away soon.
    await expect
      .poll(
        async () => new Set((await many(db, sql<{ key: number }>`select liveness_key as key from job_workers`)).map(({ key }) => key)).size,
      )
      .toBe(1)
    const before = await known()
    const [{ pid }] = (await alive()) as [{ pid: number }]
    await sql`select pg_terminate_backend(${pid})`.execute(db)
    await expect.poll(async () => (await alive()).filter((each) => each.pid !== pid).length).toBe(1)
    await expect.poll(known).toEqual(before)
  })
})

test('a connection that the queue releases twice breaks nothing, and can be used again', async () => {
  const pool = queuePool({ url: database.url, max: 1, log: createLog('silent') })
  const twice = () =>
    new Promise<void>((resolve, reject) => {
      pool.connect((err, _client, done) => {
        if (err) return reject(err)
        done()
        done()
        resolve()
      })
    })
  await twice()
  await twice()
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await pool.end()
})
