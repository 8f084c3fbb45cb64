import fc from 'fast-check'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { freezeNextPage } from '../../src/campaigns/sending/freeze.ts'
import { many } from '../../src/db/index.ts'
import { createClaim } from '../../src/delivery/outbox/claim.ts'
import { createContents } from '../../src/delivery/outbox/contents/content.ts'
import { createMark } from '../../src/delivery/outbox/mark.ts'
import { PRIORITIES } from '../../src/delivery/outbox/streams/stream-of.ts'
import {
  type EmailType,
  maySendSql,
  type RecipientFacts,
  readAddressFacts,
  SUPPRESSION_JOINS,
  verdict,
  verdictSql,
} from '../../src/delivery/rules/may-send.ts'
import { passGate } from '../../src/delivery/sender/gate.ts'
import { newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { times } from '../support/times.ts'
import { driveWorkflows } from '../workflows/driven-workflows.ts'
import { newWorkflowProject } from '../workflows/workflow-project.ts'

// Without a worker: the tests freeze, claim and advance by themselves.
const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' }, withWorker: false })

const TYPES: EmailType[] = ['MARKETING', 'HEADLESS', 'TRANSACTIONAL']

describe('the verdict', () => {
  const all = { hasContact: false, invalid: true, suppressed: true, subscribed: false }

  test('is the first reason that holds, in one order', () => {
    expect([
      verdict(all, 'MARKETING'),
      verdict({ ...all, hasContact: true }, 'MARKETING'),
      verdict({ ...all, hasContact: true, invalid: false }, 'MARKETING'),
      verdict({ ...all, hasContact: true, invalid: false, suppressed: false }, 'MARKETING'),
      verdict({ hasContact: true, invalid: false, suppressed: false, subscribed: true }, 'MARKETING'),
    ]).toEqual(['contact_deleted', 'invalid', 'suppressed', 'unsubscribed', undefined])
  })

  test('asks for consent by the type, and only for facts that are given', () => {
    expect([...TYPES, undefined].map((type) => verdict({ subscribed: false }, type))).toEqual([
      'unsubscribed',
      'unsubscribed',
      undefined,
      undefined,
    ])
    expect(verdict({}, 'MARKETING')).toBeUndefined()
  })
})

const ADDRESSES = [
  { make: (n: number) => `p${n}@h${n}.example`, invalid: false },
  { make: (n: number) => `p${n}@sub.h${n}.example`, invalid: false },
  { make: (n: number) => `${'x'.repeat(220)}@h${n}.example`, invalid: false },
  { make: (n: number) => `${'ä'.repeat(125)}@h${n}.example`, invalid: true },
  { make: (n: number) => `@h${n}.example`, invalid: true },
  { make: (n: number) => `p${n}@h${n}`, invalid: true },
  { make: (n: number) => `p${n}`, invalid: true },
]

/** A contact with any facts. Suppressions of another project, or of the parent of its domain, do not concern it. */
const anyPerson = fc.record({
  address: fc.constantFrom(...ADDRESSES),
  subscribed: fc.boolean(),
  byAddress: fc.boolean(),
  byDomain: fc.boolean(),
  elsewhere: fc.boolean(),
})
const domainOf = (email: string) => `@${email.split('@')[1]}`

test('the SQL gives the verdict of the function, for contacts with any facts', async () => {
  const [{ id: projectId }, { id: otherId }] = [await sterna.newProject(), await sterna.newProject()]
  const people = fc.sample(anyPerson, 300).map(({ address, byDomain, ...person }, n) => {
    const email = address.make(n)
    return { ...person, email, invalid: address.invalid, byDomain: byDomain && email.includes('@') }
  })
  const entries = people.flatMap(({ email, byAddress, byDomain, elsewhere }) => [
    ...(byAddress ? [[projectId, email]] : []),
    ...(byDomain ? [[projectId, domainOf(email)]] : []),
    ...(elsewhere ? [email, domainOf(email)].map((address) => [otherId, address]) : []),
  ])
  await store(projectId, people, [...entries, [projectId, '@example']])
  const verdictOf = sql.join(TYPES.flatMap((type) => [sql`${verdictSql(type)}`, sql`(${maySendSql(type)})::text`]))
  const rows = await many(
    sterna.db,
    sql<{ email: string; verdicts: unknown[] }>`
      select contacts.email, array[${verdictOf}] as verdicts from contacts ${SUPPRESSION_JOINS} where contacts.project_id = ${projectId}
    `,
  )
  const read = await readAddressFacts(
    sterna.db,
    projectId,
    rows.map(({ email }) => email),
  )
  const judged = new Map(rows.map(({ email, verdicts }) => [email, { verdicts, facts: read(email) }]))
  for (const { email, invalid, subscribed, byAddress, byDomain } of people) {
    const facts = { invalid, suppressed: byAddress || byDomain }
    const reasons = TYPES.map((type) => verdict({ ...facts, hasContact: true, subscribed }, type) ?? null)
    const verdicts = reasons.flatMap((reason) => [reason, String(reason === null)])
    expect([email, judged.get(email)]).toEqual([email, { verdicts, facts }])
  }
})

async function store(projectId: string, people: { email: string; subscribed: boolean }[], entries: string[][]) {
  await sql`
    insert into contacts (project_id, id, email, subscribed)
    select ${projectId}, gen_random_uuid(), p.email, p.subscribed from jsonb_to_recordset(${JSON.stringify(people)}::jsonb) as p(email text, subscribed boolean)
  `.execute(sterna.db)
  await sql`
    insert into suppressions (project_id, address, reason)
    select e.project, e.address, 'manual'
    from unnest(${entries.map(([project]) => project)}::uuid[], ${entries.map(([, address]) => address)}::text[]) as e(project, address)
    on conflict do nothing
  `.execute(sterna.db)
}

describe('one and the same person', () => {
  type Person = Required<RecipientFacts> & { id: string; email: string; byDomain: boolean }
  type Reasons = (string | null)[]
  let project: Awaited<ReturnType<typeof newWorkflowProject>>
  let people: Person[]
  let campaignId: string
  let workflowId: string
  const expected = (type: EmailType, which = people): Reasons => which.map((person) => verdict(person, type) ?? null)
  const present = () => people.filter(({ hasContact }) => hasContact)

  const campaign = async (type: EmailType): Promise<string> => {
    const content = {
      name: 'News',
      subject: 'Hello',
      body: '<p>{{unsubscribeUrl}}</p>',
      from: `news@${project.domain}`,
      type,
      audienceType: 'ALL',
    }
    return (await project.call('POST', '/campaigns', content)).body.data.id
  }
  const freeze = async (id: string) => {
    expect(outcome(await project.call('POST', `/campaigns/${id}/send`))).toEqual([200])
    expect(await freezeNextPage(sterna.db, { projectId: project.id, id }, createLog('silent'))).toBe('last')
  }

  /** Every person is a recipient of a campaign and in a workflow before the facts become what they are. */
  beforeAll(async () => {
    project = await newWorkflowProject(sterna)
    people = times(32, (n) => ({
      id: newId(),
      email: `p${n}@h${n}.example`,
      hasContact: (n & 16) === 0,
      invalid: (n & 8) > 0,
      suppressed: (n & 4) > 0,
      subscribed: (n & 2) === 0,
      byDomain: (n & 1) > 0,
    }))
    await sql`
      insert into contacts (project_id, id, email, subscribed)
      select ${project.id}, p.id, p.email, true from jsonb_to_recordset(${JSON.stringify(people)}::jsonb) as p(id uuid, email text)
    `.execute(sterna.db)
    campaignId = await campaign('MARKETING')
    await freeze(campaignId)
    const template = await project.template({ type: 'MARKETING', from: `hello@${project.domain}` })
    workflowId = (await project.line([{ type: 'SEND_EMAIL', config: { templateId: template } }])).id
    for (const { id } of people) expect(outcome(await project.start(workflowId, id))).toEqual([201])
    for (const person of people.filter(({ invalid }) => invalid)) person.email = person.email.replace('.example', '')
    await sql`
      with given as (select * from jsonb_to_recordset(${JSON.stringify(people)}::jsonb)
        as p(id uuid, email text, "hasContact" boolean, suppressed boolean, subscribed boolean, "byDomain" boolean)
      ), suppressed as (
        insert into suppressions (project_id, address, reason)
        select ${project.id}, case when "byDomain" then '@' || split_part(email, '@', 2) else email end, 'manual' from given where suppressed
      ), deleted as (
        delete from contacts c using given g where c.project_id = ${project.id} and c.id = g.id and not g."hasContact"
      )
      update contacts c set email = g.email, subscribed = g.subscribed from given g
      where c.project_id = ${project.id} and c.id = g.id and g."hasContact"
    `.execute(sterna.db)
  })

  test('is left out of a campaign for the reason of the verdict, in the list, in the preflight and when it is frozen', async () => {
    const reasonsIn = (contacts: { contactId: string | null; reason: string | null }[], which = present()): Reasons =>
      which.map(({ id }) => contacts.find(({ contactId }) => contactId === id)?.reason ?? null)
    for (const type of TYPES) {
      const id = await campaign(type)
      const { data } = (await project.call('GET', `/campaigns/${id}/audience?limit=100`)).body
      expect(data.length).toBe(present().length)
      expect(reasonsIn(data)).toEqual(expected(type, present()))
      const count = (reason: string | null) => expected(type, present()).filter((each) => each === reason).length
      const counts = { invalid: count('invalid'), suppressed: count('suppressed'), unsubscribed: count('unsubscribed') }
      expect((await project.call('GET', `/campaigns/${id}/preflight`)).body.audience).toMatchObject({ ...counts, recipients: count(null) })
      await freeze(id)
      expect(reasonsIn((await project.call('GET', `/campaigns/${id}/excluded?limit=100`)).body.data)).toEqual(expected(type, present()))
      expect((await project.call('GET', `/campaigns/${id}`)).body).toMatchObject({ excludedCounts: counts, totalRecipients: count(null) })
    }
  })

  test('is refused by the gate for that reason, and by the mark', async () => {
    const worker = 1_001
    await sql`insert into senders (worker, lease_until) values (${worker}, 'infinity')`.execute(sterna.db)
    const claimed = await createClaim(sterna.db, worker)(PRIORITIES.bulk, { limit: 1_000, except: [] })
    const emails = people.map(({ id }) => claimed.find((email) => email.campaignId === campaignId && email.contactId === id)!)
    const { admitted, refused } = await passGate(sterna.db, emails, createContents(sterna.db).find)
    expect(admitted.length + refused.length).toBe(people.length)
    const reasons = people.map(({ id }) => refused.find(({ email }) => email.contactId === id)?.error ?? null)
    expect(reasons).toEqual(expected('MARKETING'))
    const mark = createMark(sterna.db, worker)
    const marked = await Promise.all(emails.map((email, index) => mark({ ...email, toAddress: people[index]!.email, needsConsent: true })))
    // The mark does not check the form of the address again.
    const mayMark = people.map((person) => verdict({ ...person, invalid: false }, 'MARKETING') === undefined)
    expect(marked.map((permit) => permit !== undefined)).toEqual(mayMark)
  })

  test('is skipped by a workflow for that reason, and in the simulation', async () => {
    const simulated: Reasons = []
    for (const { id } of present()) {
      const { body } = await project.call('POST', `/workflows/${workflowId}/simulate`, { contactId: id })
      simulated.push(body.path[1].result.skipped ?? null)
    }
    expect(simulated).toEqual(expected('MARKETING', present()))
    await driveWorkflows(sterna.db, project.id).advance()
    const rows = await many(
      sterna.db,
      sql<{ contactId: string; reason: string | null }>`
        select e.contact_id as "contactId", coalesce(e.exit_reason, s.output->>'reason') as reason
        from workflow_executions e left join workflow_step_executions s
          on s.project_id = e.project_id and s.execution_id = e.id and s.output ? 'reason'
        where e.project_id = ${project.id}
      `,
    )
    const reasons = people.map(({ id }) => rows.find(({ contactId }) => contactId === id)?.reason ?? null)
    expect(reasons).toEqual(expected('MARKETING'))
  })

  test('is named by the check, and refused by a request only without consent', async () => {
    const template = await project.template({ type: 'MARKETING' })
    for (const person of people.filter(({ invalid }) => !invalid)) {
      const { wouldSend, rules } = (await project.call('POST', '/suppressions/check', { email: person.email })).body
      // An address without a contact has no consent.
      const facts = { suppressed: person.suppressed, subscribed: person.hasContact && person.subscribed }
      const would = (type: EmailType) => verdict(facts, type) === undefined
      expect(wouldSend).toEqual({ transactional: would('TRANSACTIONAL'), marketing: would('MARKETING') })
      const named: Record<string, string> = {
        address_suppressed: 'suppressed',
        domain_suppressed: 'suppressed',
        no_contact: 'unsubscribed',
      }
      const [first] = rules.map(({ rule }: { rule: string }) => named[rule] ?? rule)
      expect([person.email, first]).toEqual([person.email, verdict(facts, 'MARKETING')])
      const answer = await project.send({ to: person.email, template })
      expect([person.email, outcome(answer)]).toEqual([person.email, facts.subscribed ? [200] : [400, 'CONTACT_UNSUBSCRIBED']])
    }
  })

  test('is mailable in a segment preview if the verdict has no reason', async () => {
    const condition = { logic: 'AND', groups: [{ filters: [{ field: 'email', operator: 'contains', value: '@h' }] }] }
    const { body } = await project.call('POST', '/segments/preview', { condition })
    const mailable = expected('MARKETING', present()).filter((reason) => reason === null).length
    expect(body).toMatchObject({ count: present().length, mailable })
  })
})
