import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { outcome } from '../support/answers.ts'
import { ADA, BOB, TIME, times, UUID7, useSending } from '../support/delivery/sending.ts'

const { sterna, newProject, quiet } = useSending()

describe('the sandbox', () => {
  test('lists messages, newest first, with their source', async () => {
    const project = await newProject()
    for (const to of [ADA, BOB, 'c@example.com']) await project.ended(await project.send({ to, subject: 'To {{email}}' }))
    const { body } = await project.call('GET', '/sandbox/messages?limit=2')
    expect(body).toEqual({
      data: ['c@example.com', BOB].map((to) => ({
        id: expect.stringMatching(UUID7),
        emailId: expect.stringMatching(UUID7),
        to,
        from: `hello@${project.domain}`,
        subject: `To ${to}`,
        createdAt: expect.stringMatching(TIME),
      })),
      cursor: expect.any(String),
      hasMore: true,
      total: 3,
    })
    const next = (await project.call('GET', `/sandbox/messages?cursor=${body.cursor}`)).body
    expect([next.data.map(({ to }: { to: string }) => to), next.total, next.cursor]).toEqual([[ADA], 0, null])
    const { source, ...message } = (await project.call('GET', `/sandbox/messages/${body.data[0].id}`)).body
    expect(message).toEqual(body.data[0])
    expect(source).toContain('Subject: To c@example.com\r\n')
    expect(outcome(await quiet.call('GET', `/sandbox/messages/${body.data[0].id}`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    expect(outcome(await project.call('GET', '/sandbox/messages?cursor=x'))).toEqual([400, 'BAD_REQUEST'])
  })

  test('keeps the newest thousand of a project', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const fill = (projectId: string) =>
      sql`
        insert into sandbox_messages (project_id, id, email_id, recipient, sender, subject, source)
        select ${projectId}, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${randomUUID()}, 'a', 'b', n::text, ''
        from generate_series(1, 1200) n
      `.execute(sterna.db)
    await fill(project.id)
    await fill(other.id)
    await project.ended(await project.send())
    const kept = await many(
      sterna.db,
      sql<{ subject: string }>`select subject from sandbox_messages where project_id = ${project.id} order by id`,
    )
    expect([kept.length, kept[0]!.subject, kept.at(-1)!.subject]).toEqual([1_000, '202', 'Hi'])
    expect((await other.call('GET', '/sandbox/messages')).body.total).toBe(1_200)
    await project.ended(await project.send({ to: times(120, (index) => `r${index}@example.com`) }))
    const { total } = (await project.call('GET', '/sandbox/messages')).body
    expect(total).toBeGreaterThanOrEqual(1_000)
    expect(total).toBeLessThan(1_100)
  })

  test('keeps no more than a hundred megabytes of a project', async () => {
    const project = await newProject()
    await sql`
      insert into sandbox_messages (project_id, id, email_id, recipient, sender, subject, source)
      select ${project.id}, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${randomUUID()}, 'a', 'b', n::text,
        convert_to(repeat('x', 30000000), 'UTF8')
      from generate_series(1, 5) n
    `.execute(sterna.db)
    await project.ended(await project.send())
    const kept = await many(
      sterna.db,
      sql<{ subject: string }>`select subject from sandbox_messages where project_id = ${project.id} order by id`,
    )
    expect(kept.map(({ subject }) => subject)).toEqual(['3', '4', '5', 'Hi'])
  })
})
