import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { settleByEvidence } from '../../src/delivery/outbox/outcomes/evidence.ts'
import { addresses, useSmtpSending } from '../support/delivery/smtp-sending.ts'
import { until } from '../support/eventually.ts'
import { startSmtpServer } from '../support/servers/smtp-server.ts'

const { sterna, sink, project, startLocalWorker, send, rowsOf, statesOf, inState, copiesOf } = useSmtpSending()

describe('a worker', () => {
  test('retries a temporary refusal and counts it as a failure, unless it is throttled', async () => {
    await startLocalWorker()
    const [later, fast] = [await send('t451@example.com'), await send('t454@example.com')]
    await inState([...later, ...fast], 'deferred')
    expect([(await rowsOf(later))[0], (await rowsOf(fast))[0]]).toMatchObject([
      { failures: 1, worker: null },
      { failures: 0, worker: null },
    ])
  })

  test('slows down when it is throttled, loses nothing, and catches up', async () => {
    await startLocalWorker()
    sink.outage.refusal = '454'
    const asked = () => sink.commands.filter((line) => line.startsWith('RCPT')).length
    const first = asked()
    // Many more than are under way before the first refusal is known.
    const ids = (await Promise.all(Array.from({ length: 5 }, () => send(addresses('ok', 100))))).flat()
    await until('it asks slowly', async () => {
      const before = asked()
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      return asked() > first && asked() - before < 20
    })
    expect(asked() - first).toBeLessThan(300)
    sink.outage.refusal = undefined
    // The pace recovers by one email per second, so a part of them is enough to see that it does.
    const kept = ids.slice(0, 5)
    await sql`update emails set state = 'cancelled' where id = any(${ids.slice(5)}::uuid[]) and state in ('queued', 'deferred')`.execute(
      sterna.db,
    )
    await inState(kept, 'sent', 40_000)
    expect((await rowsOf(kept)).every(({ failures }) => failures === 0)).toBe(true)
  })

  test('stops asking when its login is refused, and no email fails', async () => {
    const strict = await startSmtpServer({ refuseLogins: true })
    await startLocalWorker({ SMTP_URL: strict.url.replace('//', '//user:wrong@') })
    const ids = await send(addresses('ok', 200))
    await until('it was refused', () => strict.connections())
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(strict.connections()).toBeLessThanOrEqual(20)
    const rows = await rowsOf(ids)
    expect(rows.filter(({ state, failures }) => state === 'failed' || failures)).toEqual([])
    await strict.stop()
  })

  test('knows that an email was not sent when cut off before the dot; after it, only evidence decides', async () => {
    await startLocalWorker()
    const [before, after] = [await send('rst-data@example.com'), await send(['rst-dot@example.com', 'garbage@example.com'])]
    await inState(before, 'deferred')
    await inState(after, 'unknown')
    expect(copiesOf(before[0]!)).toHaveLength(0)
    const told = await sterna.db.transaction().execute((tx) =>
      settleByEvidence(
        tx,
        after.map((id) => ({ projectId: project.id, id })),
      ),
    )
    expect([told.toSorted(), await statesOf(after)]).toEqual([after.toSorted(), ['sent', 'sent']])
  })
})
