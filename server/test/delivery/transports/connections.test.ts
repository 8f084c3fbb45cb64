import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { many } from '../../../src/db/index.ts'
import { createClaim } from '../../../src/delivery/outbox/claim.ts'
import { createContents } from '../../../src/delivery/outbox/contents/content.ts'
import { PRIORITIES } from '../../../src/delivery/outbox/streams/stream-of.ts'
import { CONNECTIONS } from '../../../src/delivery/sender/limits/slots.ts'
import { createSecondGate } from '../../../src/delivery/sender/second-gate.ts'
import { newId } from '../../../src/lib/id.ts'
import { addresses, useSmtpSending } from '../../support/delivery/smtp-sending.ts'

const { sink, sterna, startLocalWorker, send, inState, rowsOf } = useSmtpSending()

/** Hundreds of replies that take their time, on a busy machine. */
const LONG_MS = 120_000

/** Queues emails of a campaign to addresses that begin with `how`. */
async function queueBulk(how: string, count: number) {
  const [pattern] = await send(addresses('ok', 1))
  const rows = await many(
    sterna.db,
    sql<{ id: string }>`
      with pattern as (update emails set state = 'cancelled' where id = ${pattern} returning *)
      insert into emails (project_id, id, content_id, contact_id, to_address, source_type, message_id, lane, stream_id)
      select project_id, gen_random_uuid(), content_id, contact_id, ${how} || '+' || n || '@example.com', 'CAMPAIGN', gen_random_uuid() || '@shop.example',
        1, content_id
      from pattern, generate_series(1, ${count}::int) as n returning id
    `,
  )
  return rows.map(({ id }) => id)
}

const connectionsOf = (how: string) => {
  const messages = sink.messages.filter(({ recipients }) => recipients[0]!.startsWith(`${how}+`))
  return new Set(messages.map(({ connection }) => connection)).size
}

test('a receiver that takes its time gets bulk emails over as many connections as the default or SMTP_CONNECTIONS allow', async () => {
  await startLocalWorker()
  await inState(await queueBulk('d200', 4 * CONNECTIONS), 'sent', LONG_MS)
  expect(connectionsOf('d200')).toBe(CONNECTIONS)
})

test('SMTP_CONNECTIONS limits the connections', async () => {
  await startLocalWorker({ SMTP_CONNECTIONS: '3' })
  await inState(await queueBulk('d20', 40), 'sent', LONG_MS)
  expect(connectionsOf('d20')).toBe(3)
})

test('a relay that refuses more connections is asked for fewer: all emails arrive, and few of them wait', async () => {
  let refused = 0
  // The connection that is asked for counts too.
  sink.script.greeting = () => (sink.openConnections() > 5 && ++refused ? '421 4.7.0 Too many connections' : undefined)
  await startLocalWorker()
  const ids = await queueBulk('d50', 100)
  await inState(ids, 'sent', LONG_MS)
  sink.script.greeting = () => undefined
  const attempts = (await rowsOf(ids)).reduce((sum, row) => sum + row.attempts, 0)
  // At first as many as there are slots; then only those by which the worker finds out whether more are allowed again.
  expect(attempts - ids.length).toBeLessThan(2 * CONNECTIONS)
  // Not equal on a slow machine: while no connection is open, emails that waited for one fail with the one that was refused.
  expect(attempts - ids.length).toBeGreaterThanOrEqual(refused)
  expect(refused).toBeGreaterThan(0)
})

test('the second gate asks once for all emails that leave together, and stops those that may not', async () => {
  const worker = 7_001
  await sql`insert into senders (worker, lease_until) values (${worker}, 'infinity')`.execute(sterna.db)
  const ids = await queueBulk('ok', 30)
  const claimed = await createClaim(sterna.db, worker)(PRIORITIES.bulk, { limit: 30, except: [] })
  expect(claimed).toHaveLength(30)
  const batches: number[] = []
  const contents = createContents(sterna.db)
  const passAgain = createSecondGate(sterna.db, (emails) => {
    batches.push(emails.length)
    return contents.find(emails)
  })
  const gone = claimed.find(({ id }) => id === ids[7])!
  gone.contactId = newId()
  const ends = await Promise.all(claimed.map(passAgain))
  expect(batches).toEqual([30])
  expect(ends.filter(Boolean)).toMatchObject([{ id: gone.id, state: 'skipped' }])
})
