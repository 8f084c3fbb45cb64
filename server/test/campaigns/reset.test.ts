import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { outcome } from '../support/answers.ts'
import { startApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { whileSleeping } from '../support/faults/sleeping-writes.ts'
import { startSmtpServer } from '../support/servers/smtp-server.ts'
import { newCampaignProject } from './campaign-project.ts'

let sink: Awaited<ReturnType<typeof startSmtpServer>>
let node: Awaited<ReturnType<typeof startApp>>
let database: Awaited<ReturnType<typeof cloneDatabase>>
beforeAll(async () => {
  sink = await startSmtpServer()
  database = await cloneDatabase()
  node = await startApp(database.url, { env: { RATE_LIMIT_PER_MINUTE: '0', SMTP_URL: sink.url } })
})
afterAll(async () => {
  sink?.reset()
  await node?.close()
  await sink?.stop()
  await database?.drop()
})

test('a reset of a project while its campaign is being sent: nothing is handed over any more', async () => {
  const { db } = node.sterna
  const project = await newCampaignProject(node.sterna)
  await sql`update domains set status = 'verified', verified_by = 'dns', verified_at = now(), next_check_at = 'infinity'`.execute(db)
  await project.subscribe('ada', 'bob', 'eve')
  const { id } = await project.create()

  // The relay answers no recipient before the campaign was cancelled: until then every message is on the wire without its end.
  let answerRecipients = () => {}
  const held = new Promise<undefined>((resolve) => {
    answerRecipients = () => resolve(undefined)
  })
  sink.script.RCPT = () => held
  expect(outcome(await project.act(id, 'send'))).toEqual([200])
  await eventually(() => expect(sink.commands.filter((line) => line.startsWith('RCPT'))).toHaveLength(3))

  const states = () => many(db, sql<{ state: string }>`select state from emails where project_id = ${project.id}`)
  // The rows of the emails are still there when the relay answers, because the removal of the contacts before them takes a while.
  const removing = { on: 'delete' as const, table: 'contacts', when: sql`old.project_id = ${sql.lit(project.id)}` }
  const { resetting } = await whileSleeping(db, removing, async () => ({
    started: { resetting: project.owner.call('POST', `/users/@me/projects/${project.id}/reset`) },
    meanwhile: async () => {
      expect(await states()).toHaveLength(3)
      answerRecipients()
      await eventually(async () => expect((await states()).filter(({ state }) => state === 'sending')).toEqual([]))
    },
  }))
  expect(outcome(await resetting)).toEqual([200])
  await eventually(async () => expect(await many(db, sql`select 1 from project_wipes`)).toEqual([]))
  expect([await states(), sink.messages]).toEqual([[], []])
})
