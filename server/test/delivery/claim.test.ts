import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, one } from '../../src/db/index.ts'
import { newId } from '../../src/lib/id.ts'
import { addresses, useSmtpSending } from '../support/delivery/smtp-sending.ts'
import { until } from '../support/eventually.ts'

/** Emails of the campaign that were being sent or built; at most those of a worker, and of a claim that has begun. */
const MAY_GO_FIRST = { usually: 100, ever: 2 * 192 }
/** Connections that emails of campaigns may take: most of those of a worker. */
const BULK_CONNECTIONS = 34

const { sink, sterna, newProject, workers, startWorker, startLocalWorker, send, inState, copiesOf } = useSmtpSending()

describe('claiming', () => {
  test('begins as soon as an email is queued, not at the next poll', async () => {
    await startLocalWorker({}, { pollMs: 600_000 })
    // The first claims come at its start; in the end there are none without a signal.
    for (let round = 0; round < 5; round++) await inState(await send(addresses('ok', 2)), 'sent')
  })

  test('reads no rows of emails that were sent', async () => {
    const [pattern] = await send(addresses('ok', 1))
    const campaign = await many(
      sterna.db,
      sql<{ id: string }>`
        insert into emails (project_id, id, content_id, contact_id, to_address, source_type, message_id, lane, stream_id)
        select project_id, gen_random_uuid(), content_id, contact_id, to_address, 'CAMPAIGN', gen_random_uuid() || '@shop.example', 1, content_id
        from emails, generate_series(1, 1000) where id = ${pattern} returning id
      `,
    )
    const ids = campaign.map(({ id }) => id)
    // Statistics from a time when all emails were queued: then the primary key looks as good to the planner.
    await sql`delete from emails where id <> all(${ids}::uuid[])`.execute(sterna.db)
    await sql`alter table emails set (autovacuum_enabled = off)`.execute(sterna.db)
    await sql`vacuum full analyze emails`.execute(sterna.db)
    // Not the index of held emails: a timer reads it, so that a slow machine reads it more often.
    const walked = async () => {
      const { read } = await one(
        sterna.db,
        sql<{ read: number }>`
          select sum(idx_tup_read)::int as read from pg_stat_user_indexes
          where relname = 'emails' and indexrelname not in ('emails_queue', 'emails_held')
        `,
      )
      return read
    }
    const arrived = sink.messages.length
    const before = await walked()
    const worker = await startWorker()
    // Not by polling the rows: that may read their index.
    await until('all have arrived', () => sink.messages.length >= arrived + ids.length, 60_000)
    workers.pop()
    await worker.stop('SIGTERM') // by then all are settled, and its reads are in the statistics
    expect(((await walked()) - before) / ids.length).toBeLessThan(10)
    await inState(ids, 'sent')
  })

  test('serves the emails of one project during a campaign of another, also while all of its connections wait', async () => {
    const domain = `${newId()}.example`
    const other = await newProject(domain)
    const [pattern] = await send(addresses('ok', 1))
    await sql`update emails set state = 'cancelled' where id = ${pattern}`.execute(sterna.db)
    await sql`
      insert into emails (project_id, id, content_id, contact_id, to_address, source_type, message_id, lane, stream_id)
      select project_id, gen_random_uuid(), content_id, contact_id, 'bulk+' || n || '@example.com', 'CAMPAIGN', gen_random_uuid() || '@shop.example', 1,
        content_id
      from emails, generate_series(1, 6000) as n where id = ${pattern}
    `.execute(sterna.db)
    const isBulk = (address: string) => address.startsWith('bulk+')
    const bulk = () => sink.messages.filter(({ recipients }) => isBulk(recipients[0]!)).length
    let waiting = 0
    let open = () => {}
    const opened = new Promise<undefined>((resolve) => (open = () => resolve(undefined)))
    sink.script.RCPT = (address) => {
      if (!isBulk(address)) return undefined
      waiting++
      return opened
    }
    await startLocalWorker()
    await until('the campaign has all connections that it may take', () => waiting >= BULK_CONNECTIONS)
    for (let round = 0; round < 10; round++) {
      const [id] = await send(addresses('ok', 1), { from: `hi@${domain}`, key: other.sk })
      await until('it arrives', () => copiesOf(id!).length)
    }
    expect(bulk()).toBe(0)
    open()
    await until('the campaign goes on', () => bulk() > 200)
    const before: number[] = []
    for (let round = 0; round < 10; round++) {
      const [id] = await send(addresses('ok', 1), { from: `hi@${domain}`, key: other.sk })
      const accepted = sink.messages.length
      await until('it arrives', () => copiesOf(id!).length)
      before.push(Math.max(0, sink.messages.findIndex((email) => email.id === id) - accepted))
    }
    before.sort((a, b) => a - b)
    expect(bulk()).toBeLessThan(6_000)
    expect(before[5], `the rounds: ${before}`).toBeLessThanOrEqual(MAY_GO_FIRST.usually)
    expect(before[9]).toBeLessThanOrEqual(MAY_GO_FIRST.ever)
  })
})
