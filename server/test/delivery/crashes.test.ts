import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { settleByEvidence } from '../../src/delivery/outbox/outcomes/evidence.ts'
import { addresses, useSmtpSending } from '../support/delivery/smtp-sending.ts'
import { until } from '../support/eventually.ts'

const { project, sterna, workers, startWorker, startLocalWorker, send, rowsOf, statesOf, inState, copiesOf } = useSmtpSending()

describe('after a crash', () => {
  test('emails that the killed worker had handed over are unknown, and another worker sends the rest', async () => {
    const first = await startWorker()
    const handedOver = await send('hang-dot@example.com')
    await until('it is handed over', () => copiesOf(handedOver[0]!).length)
    const others = await send(addresses('d300', 40))
    await until('some are on the wire', () => others.some((id) => copiesOf(id).length))
    await first.stop('SIGKILL')
    workers.pop()
    await startLocalWorker()
    await inState(handedOver, 'unknown')
    await until('all are sent or unknown', async () => (await statesOf(others)).every((state) => state === 'sent' || state === 'unknown'))
    const arrived = [...handedOver, ...others].filter((id) => copiesOf(id).length)
    expect(arrived.filter((id) => copiesOf(id).length > 1)).toEqual([])
    await sterna.db.transaction().execute((tx) =>
      settleByEvidence(
        tx,
        arrived.map((id) => ({ projectId: project.id, id })),
      ),
    )
    expect(new Set(await statesOf(arrived))).toEqual(new Set(['sent']))
  })

  test('emails of crashed workers are sent alone after a wait, and fail after several crashes', async () => {
    const [innocent, poison] = [(await send('ok@example.com'))[0]!, (await send('ok@example.com'))[0]!]
    await sql`update emails set crashes = 3 where id = ${innocent}`.execute(sterna.db)
    const longAgo = sql`now() - interval '1 hour'`
    await sql`update emails set crashes = 8, updated_at = ${longAgo} where id = ${poison}`.execute(sterna.db)
    const [waiting] = await send('ok@example.com')
    await sql`update emails set crashes = 7, updated_at = now() + interval '1 hour' where id = ${waiting}`.execute(sterna.db)
    await startLocalWorker()
    await inState([innocent], 'sent')
    await inState([poison], 'failed')
    expect(await statesOf([waiting!])).toEqual(['queued'])
    await sql`update emails set updated_at = ${longAgo} where id = ${waiting}`.execute(sterna.db)
    await inState([waiting!], 'sent')
    expect([copiesOf(innocent).length, copiesOf(poison).length]).toEqual([1, 0])
    expect((await rowsOf([poison]))[0]).toMatchObject({ error: 'Sending it ended the process, several times.' })
  })

  test('an email that is sent alone does not delay others while it waits for its reply', async () => {
    const [slow] = await send('hang-dot@example.com')
    await sql`update emails set crashes = 3 where id = ${slow}`.execute(sterna.db)
    await startLocalWorker()
    await until('it is handed over', () => copiesOf(slow!).length)
    await inState(await send(addresses('ok', 5)), 'sent')
    expect(await statesOf([slow!])).toEqual(['sending'])
  })
})
