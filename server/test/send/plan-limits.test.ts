import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { AppError } from '../../src/lib/errors.ts'
import { createAcceptor } from '../../src/send/accept.ts'
import { useSending } from '../support/sending.ts'

const { sterna, quiet } = useSending()

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
  const { rows } = await sql<{ keyVersion: number }>`select key_version as "keyVersion" from projects where id = ${quiet.id}`.execute(
    sterna.db,
  )
  const content = {
    type: 'TRANSACTIONAL' as const,
    subject: 'Hi',
    body: 'x',
    fromAddress: `hello@${quiet.domain}`,
    fromName: null,
    replyTo: null,
    headers: {},
    templateId: null,
  }
  const sending = {
    project: { id: quiet.id, keyVersion: rows[0]!.keyVersion },
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
  expect([asked, keys.length]).toEqual([[{ projectId: quiet.id, emails: 1 }], 0])
})
