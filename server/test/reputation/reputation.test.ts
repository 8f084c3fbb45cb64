import { sql } from 'kysely'
import { describe, expect, test, vi } from 'vitest'
import { run } from '../../src/cli.ts'
import { one, transact } from '../../src/db/index.ts'
import { recordFeedbacks } from '../../src/delivery/feedback/reports/record.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { judgeDueProjects } from '../../src/reputation/judge-due.ts'
import { outcome } from '../support/answers.ts'
import { countEmails, useCountedSending } from '../support/delivery/counted-sending.ts'
import { eventually } from '../support/eventually.ts'
import { SECRET_KEY } from '../support/secret-key.ts'

/** Judged by the tests, not by a worker when a minute begins. */
const { sterna, newProject, merge } = useCountedSending({ env: { AUTO_DISABLE_PROJECTS: 'false' } })
type Project = Awaited<ReturnType<typeof newProject>>

async function judgeAll(autoDisable = true) {
  await sql`update reputations set due = true`.execute(sterna.db)
  await judgeDue(autoDisable)
}

const judgeDue = (autoDisable = true) =>
  judgeDueProjects(sterna.db, {
    secrets: sterna.secrets,
    log: createLog('silent'),
    publicUrl: 'https://sterna.example',
    isDelivered: false,
    autoDisable,
  })

/** Runs a command in this process; returns its exit code and output. */
async function command(argv: string[]): Promise<[number, string]> {
  const lines: string[] = []
  const print = vi.spyOn(console, 'log').mockImplementation((line) => void lines.push(line))
  const complain = vi.spyOn(console, 'error').mockImplementation((line) => void lines.push(line))
  const code = await run(argv, { DATABASE_URL: sterna.url, SECRET_KEY })
  print.mockRestore()
  complain.mockRestore()
  return [code, lines.join('\n')]
}

const security = async ({ id, owner }: Project) => (await owner.call('GET', `/projects/${id}/security`)).body
const acknowledge = ({ id, owner }: Project) => owner.call('POST', `/projects/${id}/security/acknowledge`)

/** Emails that were sent some hours ago. */
async function count({ id }: Project, counts: Partial<Record<'attempted' | 'bounced' | 'complained', number>>, hoursAgo = 0) {
  const at = new Date(Date.now() - hoursAgo * 3_600_000)
  await transact(sterna.db, (tx) =>
    countEmails(
      tx,
      id,
      Object.entries(counts).map(([kind, n]) => ({ kind: kind as 'attempted', at, n })),
    ),
  )
}

describe('the figures', () => {
  test('count emails that were sent or refused, their hard bounces and complaints, each once', async () => {
    const project = await newProject()
    const { body } = await project.send({ to: ['a@example.com', 'b@example.com', 'p550+c@example.com'] })
    const [first, second] = body.data.emails.map(({ email }: { email: string }) => email)
    await eventually(async () => expect((await security(project)).status.allTime).toMatchObject({ total: 3, bounces: 1 }))
    const at = new Date().toISOString()
    for (let repeat = 0; repeat < 2; repeat++)
      await transact(sterna.db, (tx) =>
        recordFeedbacks(tx, [
          { projectId: project.id, id: first, feedback: { is: 'complaint', at } as never },
          { projectId: project.id, id: second, feedback: { is: 'bounce', at, reason: 'gone' } as never },
        ]),
      )
    const expected = { total: 3, bounces: 2, complaints: 1, bounceRate: 2 / 3, complaintRate: 1 / 3 }
    const before = await security(project)
    expect(before.status).toMatchObject({ twentyFourHour: expected, sevenDay: expected, allTime: expected, isHealthy: true })
    await merge()
    expect(await security(project)).toEqual(before)
    expect(await project.expectExact()).toEqual(['attempted 3', 'bounced 2', 'complained 1', 'transactional 3'])
    expect(await project.get('security')).toEqual(before)
  })

  test('are of the last 24 hours, the last 7 days and all time', async () => {
    const project = await newProject(await sterna.sharedOwner())
    await count(project, { attempted: 100, bounced: 1 }, 2)
    await count(project, { attempted: 200, bounced: 2 }, 30)
    await count(project, { attempted: 300, bounced: 3 }, 24 * 8)
    await merge()
    await count(project, { attempted: 10 })
    const { status } = await security(project)
    expect([status.twentyFourHour.total, status.sevenDay.total, status.allTime.total]).toEqual([110, 310, 610])
    expect([status.twentyFourHour.bounces, status.sevenDay.bounces, status.allTime.bounces]).toEqual([1, 3, 6])
  })
})

describe('a critical rate', () => {
  test('disables the project and tells its owner; a warning does not', async () => {
    const person = await sterna.newPerson()
    const [warned, bad] = [await newProject(person), await newProject(person)]
    await count(warned, { attempted: 1000, bounced: 60 })
    await count(bad, { attempted: 1000, bounced: 120 })
    await merge()
    await judgeAll(false)
    expect((await security(bad)).isDisabled).toBe(false)
    await judgeAll()
    await judgeAll()
    const after = await security(bad)
    expect(after).toMatchObject({
      isDisabled: true,
      disabledReason: 'EMAIL_REPUTATION',
      status: { shouldDisable: true, isHealthy: false, violations: [expect.any(String), expect.any(String)] },
      suspensions: [{ reason: 'EMAIL_REPUTATION', until: null, liftedBy: null, at: expect.any(String) }],
      levels: { bounce7Day: 'critical', bounceAllTime: 'critical', complaint7Day: 'healthy' },
    })
    expect(await security(warned)).toMatchObject({ isDisabled: false, levels: { bounce7Day: 'warning' }, suspensions: [] })
    expect(outcome(await bad.send())).toEqual([403, 'PROJECT_DISABLED'])
    const emails = (await sterna.accountEmailsTo(person.email)).filter(({ subject }) => subject === 'Sending of Test is stopped')
    expect(emails.map(({ text }) => text.includes('critical from 10 %'))).toEqual([true])
  })

  test('that cannot be disabled does not keep others from being judged, and is judged again', async () => {
    const person = await sterna.newPerson()
    const projects = [await newProject(person), await newProject(await sterna.newPerson())].sort((a, b) => (a.id < b.id ? -1 : 1))
    const [stuck, other] = projects as [Project, Project]
    for (const project of projects) await count(project, { attempted: 1000, bounced: 120 })
    await merge()
    await sql`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`.execute(sterna.db)
    await sql`create trigger refuse before insert on suspensions for each row when (new.project_id = ${sql.lit(stuck.id)}) execute function refuse()`.execute(
      sterna.db,
    )
    await judgeDue().finally(() => sql`drop function refuse cascade`.execute(sterna.db))
    const disabled = async () => [(await security(stuck)).isDisabled, (await security(other)).isDisabled]
    expect(await disabled()).toEqual([false, true])
    await judgeDue()
    expect(await disabled()).toEqual([true, true])
  })

  test('is acknowledged once in 30 days by an owner; the figures count from then on and their history stays', async () => {
    // Not the first account of the installation, which is an operator.
    await sterna.sharedOwner()
    const project = await newProject(await sterna.newPerson())
    await count(project, { attempted: 400, bounced: 100 }, 3)
    await merge()
    await count(project, { attempted: 100, bounced: 20 })
    await merge()
    await judgeAll()
    expect((await security(project)).isDisabled).toBe(true)
    // Appended, not yet added up: also before the acknowledgement.
    await count(project, { attempted: 7, bounced: 7 })
    const acknowledged = await acknowledge(project)
    const zero = { total: 0, bounces: 0, complaints: 0 }
    expect(acknowledged.status).toBe(200)
    expect(acknowledged.body).toMatchObject({
      isDisabled: false,
      status: { twentyFourHour: zero, sevenDay: zero, allTime: zero, isHealthy: true },
      history: { total: 507, bounces: 127 },
      suspensions: [{ until: expect.any(String), liftedBy: project.owner.email }],
      acknowledgement: { by: project.owner.email, at: expect.any(String), nextAt: expect.any(String) },
    })
    await merge()
    // A late bounce of an email that was sent before.
    await count(project, { bounced: 5 }, 3)
    await count(project, { attempted: 200, bounced: 1 })
    await merge()
    const later = { total: 200, bounces: 1, complaints: 0 }
    expect(await security(project)).toMatchObject({
      status: { twentyFourHour: later, sevenDay: later, allTime: later },
      history: { total: 707, bounces: 133 },
    })
    await judgeAll()
    expect((await security(project)).isDisabled).toBe(false)
    const again = await acknowledge(project)
    expect([outcome(again), again.body.error.message]).toEqual([[403, 'FORBIDDEN'], expect.stringContaining('30 days')])
    await sql`update reputations set acknowledged_at = now() - interval '31 days' where project_id = ${project.id}`.execute(sterna.db)
    expect((await acknowledge(project)).status).toBe(200)
    await sql`update users set operator = true where id = ${project.owner.id}`.execute(sterna.db)
    expect((await acknowledge(project)).status).toBe(200)
  })

  test('does not lift a suspension for another reason', async () => {
    const project = await newProject(await sterna.newPerson())
    await sql`update projects set disabled = true, disabled_reason = 'OPERATOR' where id = ${project.id}`.execute(sterna.db)
    expect((await acknowledge(project)).body.isDisabled).toBe(true)
  })

  test('only an owner acknowledges, and a stranger sees nothing', async () => {
    const project = await newProject(await sterna.sharedOwner())
    const [member, stranger] = [await sterna.newPerson({ verified: true }), await sterna.newPerson()]
    await project.owner.call('POST', `/projects/${project.id}/members`, { body: { email: member.email, role: 'ADMIN' } })
    const url = `/projects/${project.id}/security`
    expect([(await member.call('GET', url)).status, (await member.call('POST', `${url}/acknowledge`)).status]).toEqual([200, 403])
    expect([(await stranger.call('GET', url)).status, (await stranger.call('GET', `/users/@me${url}`)).status]).toEqual([404, 404])
  })
})

describe('a suspension', () => {
  const DAY = 86_400_000
  const add = (project: Project, domain: string) => project.call('POST', '/domains', { domain })
  const remove = ({ id, owner }: Project) => owner.call('DELETE', `/users/@me/projects/${id}`)
  /** Disabled because of its figures. */
  async function newSuspended(person: Project['owner']) {
    const project = await newProject(person)
    await count(project, { attempted: 400, bounced: 100 })
    await merge()
    await judgeAll()
    expect((await security(project)).isDisabled).toBe(true)
    return project
  }
  const newOf = async (person: Project['owner']) => {
    const { body } = await person.call('POST', '/users/@me/projects', { body: { name: 'Next' } })
    return body as { id: string; secret: string; disabled: boolean; disabledReason: string | null }
  }
  const isDisabled = async (person: Project['owner'], id: string) =>
    (await person.call('GET', `/projects/${id}/security`)).body.isDisabled as boolean
  const pass = (days: number) =>
    Promise.all([
      sql`update suspended_domains set until = until - make_interval(days => ${days})`.execute(sterna.db),
      sql`update suspended_owners set until = until - make_interval(days => ${days})`.execute(sterna.db),
      sql`update suspensions set ends_at = ends_at - make_interval(days => ${days})`.execute(sterna.db),
    ])

  test('outlives its project: for 30 days its domains cannot be added, and new projects of its owner are disabled', async () => {
    await sterna.sharedOwner()
    const person = await sterna.newPerson()
    const [project, existing] = [await newProject(person), await newProject(person)]
    const unused = `unused-${project.domain}`
    await add(project, unused)
    await sql`update domains set status = 'verified', verified_by = 'dns', verified_at = now() where project_id = ${project.id}`.execute(
      sterna.db,
    )
    await project.send()
    await eventually(async () => expect((await security(project)).status.allTime.total).toBe(1))
    await count(project, { attempted: 400, bounced: 100 })
    await merge()
    await judgeAll()
    expect((await remove(project)).status).toBe(204)

    const next = await newOf(person)
    expect([next.disabled, next.disabledReason]).toEqual([true, 'EMAIL_REPUTATION'])
    const body = { to: 'a@example.com', from: `hello@${project.domain}`, subject: 'Hi', body: 'Hi' }
    expect(outcome(await sterna.call('POST', '/v1/send', { key: next.secret, body }))).toEqual([403, 'PROJECT_DISABLED'])
    const shown = (await person.call('GET', `/projects/${next.id}/security`)).body
    expect(shown).toMatchObject({
      disabledReason: 'EMAIL_REPUTATION',
      suspensions: [{ isInherited: true, until: null, endsAt: expect.any(String) }],
    })
    expect(await isDisabled(person, existing.id)).toBe(false)
    // Only an operator lifts it earlier.
    const refused = await person.call('POST', `/projects/${next.id}/security/acknowledge`)
    expect([outcome(refused), refused.body.error.details]).toEqual([[403, 'FORBIDDEN'], { until: shown.suspensions[0].endsAt }])

    const stranger = await newProject(await sterna.newPerson())
    for (const [into, name] of [
      [stranger, project.domain],
      [stranger, `mail.${project.domain}`],
      [existing, project.domain],
    ] as const) {
      const answer = await add(into, name)
      expect([outcome(answer), answer.body.error.details.domain]).toEqual([[403, 'DOMAIN_SUSPENDED'], project.domain])
      const left = new Date(answer.body.error.details.until).getTime() - Date.now()
      expect([left > 29 * DAY, left <= 30 * DAY]).toEqual([true, true])
    }
    // No email went from it.
    await eventually(async () => expect(outcome(await add(stranger, unused))).toEqual([201]))

    await pass(29)
    await judgeAll()
    expect([await isDisabled(person, next.id), outcome(await add(stranger, project.domain))]).toEqual([true, [403, 'DOMAIN_SUSPENDED']])
    await pass(2)
    await judgeAll()
    expect(await isDisabled(person, next.id)).toBe(false)
    expect((await newOf(person)).disabled).toBe(false)
    expect(outcome(await add(stranger, project.domain))).toEqual([201])
  })

  test('outlives the account: one with the same address has it too', async () => {
    await sterna.sharedOwner()
    const person = await sterna.newPerson()
    const project = await newSuspended(person)
    await remove(project)
    await sql`update users set email = 'gone@example.com' where id = ${person.id}`.execute(sterna.db)
    const again = await sterna.newPerson({ email: person.email })
    expect((await newOf(again)).disabled).toBe(true)
    expect((await newOf(person)).disabled).toBe(true)
    expect((await newOf(await sterna.newPerson())).disabled).toBe(false)
  })

  test('that is acknowledged leaves no marks; what was disabled because of it goes on', async () => {
    await sterna.sharedOwner()
    const person = await sterna.newPerson()
    const second = await newProject(person)
    const first = await newSuspended(person)
    const next = await newOf(person)
    await count(second, { attempted: 400, bounced: 100 })
    await merge()
    await judgeAll()
    expect((await acknowledge(first)).status).toBe(200)
    // The other one is still suspended.
    expect(await isDisabled(person, next.id)).toBe(true)
    expect((await acknowledge(second)).status).toBe(200)
    expect(await isDisabled(person, next.id)).toBe(false)
    expect((await newOf(person)).disabled).toBe(false)
    const stranger = await newProject(await sterna.newPerson())
    expect(outcome(await add(stranger, `mail.${first.domain}`))).toEqual([201])
  })

  test('is lifted by an operator, also after its project was deleted', async () => {
    await sterna.sharedOwner()
    const [person, operator] = [await sterna.newPerson(), await sterna.newPerson()]
    await sql`update users set operator = true where id = ${operator.id}`.execute(sterna.db)
    const project = await newSuspended(person)
    await remove(project)
    const next = await newOf(person)
    const lift = (by: Project['owner']) => by.call('POST', `/suspensions/${project.id}/lift`)
    expect(outcome(await lift(person))).toEqual([403, 'FORBIDDEN'])
    expect(outcome(await lift(operator))).toEqual([200])
    expect(await isDisabled(person, next.id)).toBe(false)
    const stranger = await newProject(operator)
    expect(outcome(await add(stranger, project.domain))).toEqual([201])
    expect(outcome(await lift(operator))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    // The same on the command line, and of a project that exists.
    const other = await newSuspended(person)
    const [, listed] = await command(['suspension', 'list'])
    expect(listed.split('\n')[0]).toBe(
      `${other.id}  until ${listed.match(/until (\S+)/)![1]}  EMAIL_REPUTATION  Test  ${person.email}  ${other.domain}`,
    )
    expect(await command(['suspension', 'lift', other.id])).toEqual([0, 'lifted'])
    expect([await isDisabled(person, other.id), (await newOf(person)).disabled]).toEqual([false, false])
    expect((await command(['suspension', 'lift', other.id]))[0]).toBe(1)
  })

  test('that a new project has inherited ends with the others when an operator enables that project', async () => {
    await sterna.sharedOwner()
    const person = await sterna.newPerson()
    const project = await newSuspended(person)
    await remove(project)
    const [next, later] = [await newOf(person), await newOf(person)]
    expect(await command(['project', 'enable', next.id])).toEqual([0, 'enabled'])
    expect([await isDisabled(person, next.id), await isDisabled(person, later.id)]).toEqual([false, false])
    expect((await newOf(person)).disabled).toBe(false)
  })
})

describe('operators', () => {
  test('the first account is one, and only they see the doctor', async () => {
    const { email } = await one(sterna.db, sql<{ email: string }>`select email from users order by created_at limit 1`)
    const first = (await sterna.call('POST', '/auth/login', { body: { email, password: 'correct horse' } })).headers['set-cookie']
    const cookie = String(first).split(';')[0]!
    expect((await sterna.call('GET', '/users/@me', { cookie })).body.operator).toBe(true)
    const { status, body } = await sterna.call('GET', '/doctor', { cookie })
    expect(status).toBe(200)
    expect(body.queues.map(({ priority }: { priority: string }) => priority)).toEqual(['transactional', 'bulk'])
    const names = body.checks.map(({ name }: { name: string }) => name)
    expect(names).toEqual(expect.arrayContaining(['node', 'database', 'disk', 'workers', 'sending', 'transport']))
    const other = await sterna.newPerson()
    expect((await other.call('GET', '/users/@me')).body.operator).toBe(false)
    expect(outcome(await other.call('GET', '/doctor'))).toEqual([403, 'FORBIDDEN'])
  })

  test('are made on the command line, which disables and enables projects', async () => {
    const person = await sterna.newPerson()
    const project = await newProject(person)
    await count(project, { attempted: 200, bounced: 100 })
    expect(await command(['user', 'operator', '--email', person.email])).toEqual([0, `${person.email} is an operator of this installation`])
    expect((await person.call('GET', '/doctor')).status).toBe(200)
    await command(['user', 'operator', '--email', person.email, '--off'])
    expect((await person.call('GET', '/doctor')).status).toBe(403)
    expect((await command(['user', 'operator', '--email', 'nobody@example.com']))[0]).toBe(1)

    expect(await command(['project', 'disable', project.id, '--reason', 'abuse'])).toEqual([0, 'disabled: abuse'])
    expect(await security(project)).toMatchObject({
      isDisabled: true,
      disabledReason: 'abuse',
      suspensions: [{ reason: 'abuse', until: null }],
    })
    expect(await command(['project', 'enable', project.id])).toEqual([0, 'enabled'])
    // Otherwise it would be disabled again at once.
    const zero = { total: 0, bounces: 0, complaints: 0 }
    expect(await security(project)).toMatchObject({ isDisabled: false, status: { allTime: zero }, suspensions: [{ liftedBy: 'operator' }] })
    expect((await command(['project', 'enable', 'nothing']))[0]).toBe(1)
  })

  test('correct counts on the command line, and what was added up from them', async () => {
    const project = await newProject(await sterna.sharedOwner())
    await project.send()
    await eventually(async () => expect(await project.expectExact()).toHaveLength(2))
    await merge()
    const recount = async () => (await command(['project', 'recount', project.id]))[1]
    expect(await recount()).not.toContain('corrected')
    await count(project, { bounced: 3 })
    await sql`update email_counts set count = count + 4 where project_id = ${project.id} and kind = 'transactional'`.execute(sterna.db)
    await sql`update usage_periods set used = used + 7 where project_id = ${project.id}`.execute(sterna.db)
    await sql`update reputations set attempted = attempted + 2 where project_id = ${project.id}`.execute(sterna.db)
    expect(await recount()).toMatch(/email_counts: corrected 2\nusage_periods: corrected 1\nreputations: corrected 1/)
    await merge()
    expect(await project.expectExact()).toEqual(['attempted 1', 'transactional 1'])
    expect(await project.usage('transactional')).toBe(1)
    expect((await security(project)).status.allTime).toMatchObject({ total: 1, bounces: 0, complaints: 0 })
    expect(await recount()).not.toContain('corrected')
  })
})
