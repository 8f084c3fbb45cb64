import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, one, type Pool } from '../../../src/db/index.ts'
import { createLog } from '../../../src/lib/process/log.ts'
import { startApp } from '../../support/app.ts'
import { cloneDatabase } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import { verifyDomains } from '../../support/project.ts'
import { startSmtpServer } from '../../support/servers/smtp-server.ts'

/** What `startApp` gives the API and the jobs. */
const POOL = 10
/** More than the buffers of a connection take, so that sending it stops where the relay stops reading. */
const LARGE = Buffer.alloc(4_500_000).toString('base64')

let sink: Awaited<ReturnType<typeof startSmtpServer>>
let node: Awaited<ReturnType<typeof startApp>>
let database: Awaited<ReturnType<typeof cloneDatabase>>
let ownView: Pool

beforeAll(async () => {
  sink = await startSmtpServer({ stopAtData: true })
  database = await cloneDatabase()
  node = await startApp(database.url, { env: { SMTP_URL: sink.url } })
  ownView = connect({ url: database.url, max: 1, log: createLog('silent') })
})
afterAll(async () => {
  await ownView.destroy()
  await node.close()
  await sink.stop()
  await database.drop()
})

/** Takes every connection of the pool and keeps it until `release`. */
async function occupy(pool: Pool) {
  let held = 0
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const takers = Array.from({ length: POOL }, async () => {
    for (let taken = false; !taken; ) {
      await pool
        .connection()
        .execute(async (connection) => {
          await sql`select 1`.execute(connection)
          taken = true
          held++
          await released
        })
        // Others had them all for two seconds; then again.
        .catch(() => {})
    }
  })
  await eventually(() => expect(held).toBe(POOL))
  return async () => {
    release()
    await Promise.all(takers)
  }
}

test('an email under way is handed over and settled while every connection of the API is taken', async () => {
  const { sterna } = node
  const { id, sk } = await sterna.newProject()
  await sterna.call('POST', '/domains', { key: sk, body: { domain: 'sender.example' } })
  await verifyDomains(ownView, id)
  const { status } = await sterna.call('POST', '/v1/send', {
    key: sk,
    body: {
      to: 'ok@example.com',
      from: 'hello@sender.example',
      subject: 'Hi',
      body: 'Hi',
      attachments: [{ filename: 'large.bin', content: LARGE, contentType: 'application/octet-stream' }],
    },
  })
  expect(status).toBe(200)
  const state = () =>
    one(
      ownView,
      sql<{ state: string; marked: boolean }>`select state, handed_over_at is not null as marked from emails where project_id = ${id}`,
    )
  await eventually(() => expect(sink.commands).toContain('DATA'))

  const release = await occupy(sterna.db)
  try {
    expect(await state()).toEqual({ state: 'sending', marked: false })
    sink.resumeReading()
    await eventually(async () => expect((await state()).state).toBe('sent'))
    expect(sink.messages).toHaveLength(1)
  } finally {
    await release()
  }
})
