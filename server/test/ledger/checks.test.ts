import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { contactLedger } from '../../src/contacts/record/counts.ts'
import type { Pool } from '../../src/db/index.ts'
import { diagnoseRunning } from '../../src/doctor/doctor.ts'
import { checkLedgers } from '../../src/ledger/checks.ts'
import { FOLDED_LEDGERS, LEDGERS } from '../../src/ledgers.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { useApp } from '../support/app.ts'

const sterna = useApp({ withWorker: false })

const check = (ledgers = LEDGERS) => checkLedgers(sterna.db, createLog('silent'), ledgers)
const reported = async () =>
  (await diagnoseRunning(loadConfig({}), sterna.db)).filter(({ name }) => name === 'counts').map(({ verdict, note }) => [verdict, note])

test('counts that are wrong are corrected and reported, and each project is compared once a day', async () => {
  const project = await sterna.newProject()
  for (const name of ['ada', 'bob']) await project.track({ email: `${name}@example.com`, event: 'signup' })
  for (const { fold } of FOLDED_LEDGERS) await fold(sterna.db)
  await check()
  expect(await reported()).toEqual([])

  await sql`update contact_counts set total = total + 5 where project_id = ${project.id}`.execute(sterna.db)
  await sql`update event_counts set count = 9 where project_id = ${project.id}`.execute(sterna.db)
  await check()
  expect((await project.contacts.list()).total).toBe(7)
  await sql`update ledger_checks set checked_at = now() - interval '1 day' where project_id = ${project.id}`.execute(sterna.db)
  await check()
  expect((await project.contacts.list()).total).toBe(2)
  const wrong = expect.stringMatching(
    `^of project ${project.id} were wrong in .*contact_counts \\(1 rows\\).*event_counts \\(1 rows\\)|event_counts.*contact_counts`,
  )
  expect(await reported()).toEqual([['warn', wrong]])

  // A later comparison that finds nothing does not hide it.
  await sql`update ledger_checks set checked_at = now() - interval '1 day'`.execute(sterna.db)
  await check()
  expect(await reported()).toEqual([['warn', wrong]])
})

test('a ledger that cannot be counted in time holds up no other', async () => {
  const project = await sterna.newProject()
  await project.contacts.create('ada@example.com')
  await contactLedger.fold(sterna.db)
  await sql`update contact_counts set total = 5 where project_id = ${project.id}`.execute(sterna.db)
  const repair = async (db: Pool) => {
    await db.transaction().execute(async (tx) => {
      await sql`set local statement_timeout = 20`.execute(tx)
      await sql`select pg_sleep(10)`.execute(tx)
    })
    return {}
  }
  await check([{ name: 'large', repair }, contactLedger])
  expect((await project.contacts.list()).total).toBe(1)
})
