import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { explainEmail } from '../../src/delivery/emails/explain.ts'
import { addresses, FROM, useSmtpSending } from '../support/delivery/smtp-sending.ts'
import { until } from '../support/eventually.ts'
import { startLocalNode } from '../support/local-node.ts'

const { sterna, sink, project, environment, send, rowsOf, inState, copiesOf } = useSmtpSending({ sharedWorker: true })

describe('sending', () => {
  test('delivers every accepted email once, with its Message-ID', async () => {
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

  test('ends an email and its address by a permanent refusal, and no other', async () => {
    // Fewer than the equal refusals that pause the domain, with that of the last test: whether they are the last replies is up to the worker.
    const refused = addresses('p550', 3)
    const [bad, good] = [await send(refused), await send(addresses('ok', 45))]
    await inState(bad, 'failed')
    await inState(good, 'sent')
    expect((await rowsOf(bad))[0]!.error).toMatch(/^550 5\.1\.1/)
    await until('they count as bounces', async () => (await rowsOf(bad)).every(({ bounced }) => bounced))
    const [again] = await send(refused[0]!)
    await inState([again!], 'skipped')
    expect((await rowsOf([again!]))[0]!.error).toBe('suppressed')
  })

  test('delivers account emails from the address of the installation', async () => {
    const account = await startLocalNode({ ...environment(), MAIL_FROM: 'Post office <post@office.example>', ROLE: 'all' })
    const email = `new${Date.now()}@example.com`
    await account.call('POST', '/auth/signup', { body: { email, password: 'correct horse' } })
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

  test('is explained by the command line', async () => {
    const ids = await send('p550@example.com')
    await inState(ids, 'failed')
    const story = (await explainEmail(sterna.db, ids[0]!))!
    expect(story).toMatch(/^to +p550@example\.com$/m)
    expect(story).toMatch(/^status +BOUNCED$/m)
    expect(story).toMatch(/^error +550 5\.1\.1/m)
    expect(await explainEmail(sterna.db, project.id)).toBeUndefined()
  })
})
