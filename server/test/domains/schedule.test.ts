import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { connect, many } from '../../src/db/index.ts'
import { nextState } from '../../src/domains/sender-domains/check.ts'
import { checkDueDomains, MAX_CHECK_RUN_MS } from '../../src/domains/sender-domains/check-due.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createLog } from '../../src/lib/process/log.ts'
import type { Answer } from '../support/app.ts'
import { type Project, useDomains } from './use-domains.ts'

const { env, dns, sterna, newName, add, dkimOf, publish, withdraw, ask, check, addVerified, list } = useDomains()

// Schedule ------------------------------------------------------------------------------------------------------------

describe('scheduled checks', () => {
  const node = () => ({ db: sterna.db, config: loadConfig({ ...env }), log: createLog('silent') })
  const makeDue = (project: Project) =>
    sql`update domains set next_check_at = now() - interval '1 second' where project_id = ${project.id}`.execute(sterna.db)
  const rowsOf = (project: Project) =>
    many(
      sterna.db,
      sql<{ status: string; failures: number; minutes: number | null }>`
        select status, failures, ceil(extract(epoch from next_check_at - now()) / 60)::int as minutes
        from domains where project_id = ${project.id} order by domain
      `,
    )

  test('of two nodes check every due domain once, and no other', async () => {
    const project = await sterna.newProject()
    // Inserted without real keys: 45 of them take ten seconds.
    const due = Array.from({ length: 45 }, (_, index) => ({ id: randomUUID(), domain: newName(), selector: `s${index}` }))
    await sql`
      insert into domains (project_id, id, domain, dkim_selector, dkim_public_key, dkim_private_key_sealed)
      select ${project.id}, id, domain, selector, 'AAAA', '' from jsonb_to_recordset(${JSON.stringify(due)}::jsonb) as d (id uuid, domain text, selector text)
    `.execute(sterna.db)
    const keyOf = ({ selector, domain }: (typeof due)[number]) => `${selector}._domainkey.${domain}`
    const later = await add(await sterna.newProject())
    for (const domain of due.slice(0, 20)) dns.set(keyOf(domain), { TXT: ['k=rsa; p=AAAA'] })
    const other = connect({ url: sterna.url, max: 3, log: createLog('silent') })

    await Promise.all([checkDueDomains(node()), checkDueDomains({ ...node(), db: other }), checkDueDomains(node())])

    await other.destroy()
    const asked = dns.queries.filter((question) => question.includes('_domainkey'))
    expect(due.map((domain) => asked.filter((question) => question === `TXT ${keyOf(domain)}`).length)).toEqual(due.map(() => 1))
    expect(asked).not.toContain(`TXT ${dkimOf(later).name}`)
    expect((await rowsOf(project)).filter(({ status }) => status === 'verified')).toHaveLength(20)
  })

  test('store the other results of a batch if the database refuses one', async () => {
    const [refused, neighbour] = [await sterna.newProject(), await sterna.newProject()]
    await add(refused)
    publish(await add(neighbour))
    await sql`update domains set failures = 2147483647 where project_id = ${refused.id}`.execute(sterna.db)
    await sql`update domains set next_check_at = now() - interval '1 second' where project_id in (${refused.id}, ${neighbour.id})`.execute(
      sterna.db,
    )
    await checkDueDomains(node())
    expect([(await rowsOf(neighbour))[0]?.status, (await list(refused))[0].lastCheckedAt]).toEqual(['verified', null])
  })

  test('leave the rest to the next job after a few seconds, so that a worker can stop soon', async () => {
    const project = await sterna.newProject()
    const due = Array.from({ length: 150 }, (_, index) => ({ id: randomUUID(), domain: newName(), selector: `h${index}` }))
    for (const { selector, domain } of due) dns.set(`${selector}._domainkey.${domain}`, 'hang')
    await sql`
      insert into domains (project_id, id, domain, dkim_selector, dkim_public_key, dkim_private_key_sealed)
      select ${project.id}, id, domain, selector, 'AAAA', '' from jsonb_to_recordset(${JSON.stringify(due)}::jsonb) as d (id uuid, domain text, selector text)
    `.execute(sterna.db)
    const checked = async () => (await list(project)).filter(({ lastCheckedAt }: Answer['body']) => lastCheckedAt).length

    const start = performance.now()
    await checkDueDomains({ ...node(), maxRunMs: 1 })

    expect(performance.now() - start).toBeLessThan(20_000)
    // One batch; the worker of this file has begun the next one, which ends seconds later.
    expect(await checked()).toBeLessThan(150)
    await expect.poll(checked).toBe(150)
  })

  test('start no batch after five seconds', () => {
    expect(MAX_CHECK_RUN_MS).toBe(5_000)
  })

  test('run every 5 minutes, also after a day, and after 30 days for a failed domain', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    const after = async (age: string) => {
      await makeDue(project)
      await sql`update domains set pending_since = now() - ${age}::interval where project_id = ${project.id}`.execute(sterna.db)
      await checkDueDomains(node())
      return (await rowsOf(project))[0]
    }
    expect(await after('1 hour')).toMatchObject({ status: 'pending', minutes: 5 })
    expect(await after('25 hours')).toMatchObject({ status: 'pending', minutes: 5 })
    expect(await after('31 days')).toMatchObject({ status: 'failed', minutes: 5 })
    expect(await after('31 days')).toMatchObject({ status: 'failed', minutes: 5 })
    publish(domain)
    expect(await after('31 days')).toMatchObject({ status: 'verified', minutes: 5 })
    expect(await after('31 days')).toMatchObject({ status: 'verified', minutes: 5 })
  })

  test('query only the required record of a verified domain and keep the findings of the others', async () => {
    const project = await sterna.newProject()
    const domain = await addVerified(project)
    const asked = () => dns.queries.filter((question) => question.endsWith(domain.domain))
    const before = asked().length
    const [{ records }] = await list(project)
    await makeDue(project)
    await checkDueDomains(node())
    expect(asked().slice(before)).toEqual([`TXT ${dkimOf(domain).name}`])
    expect((await list(project))[0].records).toEqual(records)
  })

  test('make a verified domain without its record pending after three runs', async () => {
    const project = await sterna.newProject()
    withdraw(await addVerified(project))
    const seen = []
    for (let n = 0; n < 3; n++) {
      await makeDue(project)
      await checkDueDomains(node())
      seen.push((await rowsOf(project))[0])
    }
    expect(seen).toMatchObject([
      { status: 'verified', failures: 1, minutes: 5 },
      { status: 'verified', failures: 2, minutes: 5 },
      { status: 'pending', failures: 3, minutes: 5 },
    ])
  })

  test('drop their findings if a later check began meanwhile', async () => {
    const project = await sterna.newProject()
    const domain = await addVerified(project)
    dns.set(dkimOf(domain).name, 'hang')
    await sql`update domains set check_began_at = null where id = ${domain.id}`.execute(sterna.db)
    const slow = ask(project, domain.id)
    await expect.poll(() => dns.queries.filter((each) => each === `TXT ${dkimOf(domain).name}`).length).toBeGreaterThanOrEqual(2)
    publish(domain)
    expect(await check(project, domain.id)).toMatchObject({ status: 'verified', lastError: null })
    // The slow check queries again and would report this.
    dns.set(dkimOf(domain).name, 'servfail')

    expect((await slow).body.status).toBe('verified')
    expect((await list(project))[0]).toMatchObject({ status: 'verified', lastError: null })
  })

  test('run as a job', async () => {
    const project = await sterna.newProject()
    publish(await add(project))
    await makeDue(project)
    await sql`select graphile_worker.add_job('cron.check-domains')`.execute(sterna.db)
    await expect.poll(async () => (await list(project))[0].status).toBe('verified')
  })
})

describe('the next state of a domain', () => {
  const state = fc.record({
    status: fc.constantFrom('pending' as const, 'verified' as const, 'failed' as const),
    failures: fc.nat(5),
    pendingSeconds: fc.nat(60 * 86_400),
  })
  const stateOf = (given: { status: 'pending' | 'verified' | 'failed'; failures: number; pendingSeconds: number }) => ({
    ...given,
    verifiedBy: given.status === 'verified' ? ('dns' as const) : null,
  })

  test('is the old one if DNS failed', () => {
    fc.assert(
      fc.property(state, (given) => {
        expect(nextState(stateOf(given), { is: 'unknown', why: '' })).toMatchObject({ status: given.status, failures: given.failures })
      }),
    )
  })

  test('is pending at the first miss or DNS failure if only the sandbox verified the domain', () => {
    const now = { status: 'verified' as const, verifiedBy: 'sandbox' as const, failures: 0, pendingSeconds: 60 }
    for (const is of ['missing', 'unknown'] as const) expect(nextState(now, { is, why: '' })).toMatchObject({ status: 'pending' })
  })

  test('is verified exactly if the record is found, or missed fewer than three times in a row', () => {
    const verdicts = fc.array(fc.constantFrom('proven' as const, 'missing' as const, 'unknown' as const), { maxLength: 30 })
    fc.assert(
      fc.property(verdicts, (given) => {
        let now = stateOf({ status: 'pending', failures: 0, pendingSeconds: 60 })
        let expected = false
        let misses = 0
        for (const is of given) {
          now = { ...stateOf({ ...now, ...nextState(now, is === 'proven' ? { is } : { is, why: '' }) }), pendingSeconds: 60 }
          if (is === 'proven') [expected, misses] = [true, 0]
          if (is === 'missing' && ++misses >= 3) expected = false
          expect(now.status).toBe(expected ? 'verified' : 'pending')
        }
      }),
    )
  })
})
