import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { explainEmail } from '../../src/delivery/emails/explain.ts'
import { settleByEvidence } from '../../src/delivery/outbox/evidence.ts'
import { dropOldAttachments } from '../../src/delivery/outbox/retention.ts'
import { AppError } from '../../src/lib/errors.ts'
import { createAcceptor } from '../../src/send/accept.ts'
import { startNode } from '../support/process.ts'
import { addresses, FROM, useSmtpSending } from '../support/smtp-sending.ts'
import { startSmtpServer } from '../support/smtp-server.ts'
import { until } from '../support/until.ts'

/** Poll interval of a worker that is not woken. The benchmark measures how fast it really is. */
const LOOKS_EVERY_MS = 1_000

const { sterna, sink, project, envFor, post, startWorker, send, rowsOf, statesOf, inState, copiesOf } = useSmtpSending()

describe('sending', () => {
  test('what was accepted arrives once, by its own name, and is sent', async () => {
    await startWorker()
    const ids = await send(addresses('ok', 50))
    await inState(ids, 'sent')
    expect(ids.map((id) => copiesOf(id).length)).toEqual(ids.map(() => 1))
    const { messageId } = await one(
      sterna.db,
      sql<{ messageId: string }>`select message_id as "messageId" from emails where id = ${ids[0]}`,
    )
    expect(copiesOf(ids[0]!)[0]).toMatchObject({ messageId: `<${messageId}>`, sender: FROM })
    expect(copiesOf(ids[0]!)[0]!.recipients).toHaveLength(1)
  })

  test('a mail that nobody queues behind is sent because it is there, not at the next look', async () => {
    await startWorker()
    await inState(await send(addresses('ok', 20)), 'sent')
    const waits: number[] = []
    for (let round = 0; round < 40; round++) {
      const startedAt = Date.now()
      const [id] = await send(addresses('ok', 1))
      await until('it arrives', () => copiesOf(id!).length)
      waits.push(copiesOf(id!)[0]!.at - startedAt)
      await inState([id!], 'sent')
    }
    waits.sort((a, b) => a - b)
    expect(waits[20], `request to 250: p95 ${waits[37]} ms, max ${waits[39]} ms`).toBeLessThan(LOOKS_EVERY_MS / 3)
  })

  test('a refusal for good ends that mail and its address, and no other', async () => {
    await startWorker()
    const refused = addresses('p550', 5)
    const [bad, good] = [await send(refused), await send(addresses('ok', 45))]
    await inState(bad, 'failed')
    await inState(good, 'sent')
    expect((await rowsOf(bad))[0]!.error).toMatch(/^550 5\.1\.1/)
    await until('they count as bounces', async () => (await rowsOf(bad)).every(({ bounced }) => bounced))
    const [again] = await send(refused[0]!)
    await inState([again!], 'skipped')
    expect((await rowsOf([again!]))[0]!.error).toBe('suppressed')
  })

  test('a refusal for now is tried again later, and counts; being too fast does not', async () => {
    await startWorker()
    const [later, fast] = [await send('t451@example.com'), await send('t454@example.com')]
    await inState([...later, ...fast], 'deferred')
    expect([(await rowsOf(later))[0], (await rowsOf(fast))[0]]).toMatchObject([
      { failures: 1, worker: null },
      { failures: 0, worker: null },
    ])
  })

  test('who is told to slow down does, loses nothing, and catches up', { timeout: 60_000 }, async () => {
    await startWorker()
    sink.outage.refusal = '454'
    const ids = await send(addresses('ok', 100))
    await until('some were refused', async () => (await statesOf(ids)).includes('deferred'))
    const before = sink.commands.length
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    const asked = sink.commands.slice(before).filter((line) => line.startsWith('RCPT')).length
    expect(asked).toBeLessThan(40)
    sink.outage.refusal = undefined
    await inState(ids, 'sent', 40_000)
    expect((await rowsOf(ids)).every(({ failures }) => failures === 0)).toBe(true)
  })

  test('who is not let in stops asking, and no mail fails for it', async () => {
    const strict = await startSmtpServer({ refuseLogins: true })
    await startWorker({ SMTP_URL: strict.url.replace('//', '//user:wrong@') })
    const ids = await send(addresses('ok', 200))
    await until('it was refused', () => strict.connections())
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(strict.connections()).toBeLessThanOrEqual(20)
    const rows = await rowsOf(ids)
    expect(rows.filter(({ state, failures }) => state === 'failed' || failures)).toEqual([])
    await strict.stop()
  })

  test('cut off before the dot, it was not sent; after it, nobody knows until there is evidence', async () => {
    await startWorker()
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
    expect([told, await statesOf(after)]).toEqual([2, ['sent', 'sent']])
  })

  test('mails to account holders leave the same way, from the address of the installation', async () => {
    const account = await startNode({ ...envFor(), MAIL_FROM: 'Post office <post@office.example>', ROLE: 'all' })
    const email = `new${Date.now()}@example.com`
    await fetch(`${account.url}/auth/signup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password: 'correct horse' }),
    })
    const mine = () => sink.messages.filter(({ recipients }) => recipients[0] === email)
    await until('the link has arrived', () => mine().length)
    const states = async () =>
      (await sql<{ state: string }>`select state from account_mails where recipient = ${email}`.execute(sterna.db)).rows
    await until('its end is written down', async () => (await states()).every(({ state }) => state === 'sent'))
    await account.stop()
    const source = sink.bodies.get(mine()[0]!.id)!
    expect(source).toContain('From: Post office <post@office.example>')
    expect(source).toContain('verify-email?token=')
    expect([mine().length, (await states()).length]).toEqual([1, 1])
  })

  test('the command line tells the story of a mail', async () => {
    const ids = await send('p550@example.com')
    await startWorker()
    await inState(ids, 'failed')
    const story = (await explainEmail(sterna.db, ids[0]!))!
    expect(story).toMatch(/^to +p550@example\.com$/m)
    expect(story).toMatch(/^status +BOUNCED$/m)
    expect(story).toMatch(/^error +550 5\.1\.1/m)
    expect(await explainEmail(sterna.db, project.id)).toBeUndefined()
  })

  test('files are kept for a week after the last mail with them has ended', async () => {
    const attachments = [{ filename: 'a.txt', content: 'aGVsbG8=', contentType: 'text/plain' }]
    const sendFile = async () => {
      const body = { to: 'ok@example.com', from: FROM, subject: 'Hi', body: '<p>Hello</p>', attachments }
      const answer = await post('/v1/send', body, { authorization: `Bearer ${project.secret}` })
      return ((await answer.json()) as { data: { emails: { email: string }[] } }).data.emails[0]!.email
    }
    const [ended, open] = [await sendFile(), await sendFile()]
    await sql`update contents set created_at = now() - interval '9 days' where project_id = ${project.id}`.execute(sterna.db)
    await sql`update emails set state = 'sent', updated_at = now() - interval '8 days' where id = ${ended}`.execute(sterna.db)
    await sql`update emails set updated_at = now() - interval '8 days' where id = ${open}`.execute(sterna.db)
    const left = async () => {
      const { rows } = await sql<{ id: string }>`
        select e.id from attachments a join emails e on e.project_id = a.project_id and e.content_id = a.content_id where e.id in (${ended}, ${open})
      `.execute(sterna.db)
      return rows.map(({ id }) => id)
    }
    expect((await left()).sort()).toEqual([ended, open].sort())
    await sterna.db.transaction().execute((tx) => dropOldAttachments(tx, 100))
    expect(await left()).toEqual([open])
  })

  test('a limit of the plan refuses a request as a whole, and leaves no key behind', async () => {
    const overLimit = new AppError('BILLING_LIMIT_EXCEEDED')
    const asked: unknown[] = []
    const acceptor = createAcceptor(sterna.db, {
      idempotencyTtlHours: 24,
      checkCaps: async (_tx, wanted) => {
        asked.push(...wanted)
        return wanted.map(() => overLimit)
      },
    })
    const { rows } = await sql<{ keyVersion: number }>`select key_version as "keyVersion" from projects where id = ${project.id}`.execute(
      sterna.db,
    )
    const content = {
      type: 'TRANSACTIONAL' as const,
      subject: 'Hi',
      body: 'x',
      fromAddress: FROM,
      fromName: null,
      replyTo: null,
      headers: {},
      templateId: null,
    }
    const sending = {
      project: { id: project.id, keyVersion: rows[0]!.keyVersion },
      recipients: [{ name: null, email: 'over@example.com' }],
      content,
      attachments: [],
      patch: { set: {}, unset: [], transient: {} },
      source: { by: 'secret-key' as const },
      key: 'over-the-limit',
      size: 10,
      dataSize: 2,
    }
    await expect(acceptor.submit(sending)).rejects.toBe(overLimit)
    const { rows: keys } = await sql`select from idempotency_keys where key = 'over-the-limit'`.execute(sterna.db)
    expect([asked, keys.length]).toEqual([[{ projectId: project.id, emails: 1 }], 0])
  })
})
