import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { copyFile } from '../../src/backup/copy-file.ts'
import { many } from '../../src/db/index.ts'
import { ANYONE } from '../../src/http/auth/declaration.ts'
import { type Answer, useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { verifyDomains } from '../support/project.ts'

const NO_ROOM = () => Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' })

const sterna = useApp({
  extend: (app) =>
    void app.post('/no-room', { config: ANYONE }, () => {
      throw NO_ROOM()
    }),
})

/** Writes of a table fail as when PostgreSQL cannot extend a file, until the disk has room again. */
async function fillDisk(table: string, writes: string, when = sql`true`) {
  await sql`
    create function no_room() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$
  `.execute(sterna.db)
  await sql`create trigger no_room before ${sql.raw(writes)} on ${sql.table(table)} for each row when (${when}) execute function no_room()`.execute(
    sterna.db,
  )
  return () => sql`drop function no_room cascade`.execute(sterna.db)
}

async function newSender() {
  const project = await sterna.newProject()
  const domain = `${project.id.slice(-8)}.example`
  await sterna.call('POST', '/domains', { key: project.sk, body: { domain } })
  await verifyDomains(sterna.db, project.id)
  const send = (to: string): Promise<Answer> =>
    sterna.call('POST', '/v1/send', { key: project.sk, body: { to, from: `a@${domain}`, subject: 'Hi', body: '<p>Hi</p>' } })
  const emails = () =>
    many<{ to: string; state: string; attempts: number; crashes: number }>(sterna.db)`
      select to_address as to, state, attempts, crashes from emails where project_id = ${project.id} order by to_address`
  const messages = () => many(sterna.db)`select 1 from sandbox_messages where project_id = ${project.id}`
  return { ...project, send, emails, messages }
}

const expectUnavailable = ({ status, headers }: Answer) => expect([status, headers['retry-after']]).toEqual([503, '1'])

test('while the disk of the database is full requests are refused, and nothing of them is stored', async () => {
  const project = await newSender()
  const free = await fillDisk('emails', 'insert')
  for (const to of ['a@example.com', 'b@example.com']) expectUnavailable(await project.send(to))
  await free()
  expect(await project.emails()).toEqual([])
  expect((await project.contacts.list()).total).toBe(0)
  expect((await project.send('a@example.com')).status).toBe(200)
  await eventually(async () => expect(await project.emails()).toMatchObject([{ to: 'a@example.com', state: 'sent' }]))
})

test('emails that were accepted before wait for room and leave then', async () => {
  const project = await newSender()
  // A claim is an update.
  const free = await fillDisk('emails', 'update', sql`new.state = 'sending'`)
  expect((await project.send('a@example.com')).status).toBe(200)
  expect(await project.emails()).toEqual([{ to: 'a@example.com', state: 'queued', attempts: 0, crashes: 0 }])
  await free()
  await eventually(async () => expect(await project.emails()).toMatchObject([{ state: 'sent', crashes: 0 }]))
  expect(await project.messages()).toHaveLength(1)
})

test('an email whose outcome could not be written while the disk was full is not sent again', async () => {
  const project = await newSender()
  const free = await fillDisk('emails', 'update', sql`new.state = 'sent'`)
  await project.send('a@example.com')
  await eventually(async () => expect(await project.messages()).toHaveLength(1))
  expect((await project.emails())[0]!.state).not.toBe('sent')
  await free()
  await eventually(async () => expect(await project.emails()).toMatchObject([{ state: 'sent', attempts: 1, crashes: 0 }]))
  expect(await project.messages()).toHaveLength(1)
})

test('a file that does not fit on the disk is a 503, not an internal error', async () => {
  expectUnavailable(await sterna.call('POST', '/no-room'))
})

test.runIf(process.platform === 'linux')('a backup on a full disk fails', async () => {
  await expect(copyFile(new URL(import.meta.url).pathname, '/dev/full')).rejects.toMatchObject({ code: 'ENOSPC' })
})
