import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { dropOldAttachments } from '../../src/delivery/outbox/retention.ts'
import { useSmtpSending } from '../support/delivery/smtp-sending.ts'

const { sterna, project, send } = useSmtpSending()

test('attachments are kept for a week after the last email with them has ended', async () => {
  const attachments = [{ filename: 'a.txt', content: 'aGVsbG8=', contentType: 'text/plain' }]
  const sendFile = async () => (await send('ok@example.com', { attachments }))[0]!
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
