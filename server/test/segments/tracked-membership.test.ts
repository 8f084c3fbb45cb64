import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { toUpsert, upsertContacts } from '../../src/contacts/changes/upsert.ts'
import { many, one, transact } from '../../src/db/index.ts'
import { MINUTE } from '../../src/lib/text/units.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { allOf, filter, segmentClient } from '../support/segments.ts'

const sterna = useApp()

async function newProject() {
  const project = await sterna.newProject(await sterna.sharedOwner())
  return { ...project, segments: segmentClient(sterna.db, project) }
}

const PRO = allOf(filter('data.plan', 'equals', 'pro'))

describe('a tracked segment', () => {
  test('gets an entry when a contact begins to match, and an exit when it ceases to', async () => {
    const { contacts, segments } = await newProject()
    const { id, slug } = await segments.create('Pro users', PRO)
    const ada = await contacts.create('ada@example.com', { data: { plan: 'pro' } })
    await contacts.create('bob@example.com', { data: { plan: 'free' } })
    expect(await segments.changesOf(slug)).toEqual(['ada@example.com entry'])
    await contacts.update(ada.id, { data: { plan: 'free' } })
    expect(await segments.changesOf(slug)).toEqual(['ada@example.com entry', 'ada@example.com exit'])
    expect(await segments.membersOf(id)).toEqual([])
  })

  test('names itself in its events', async () => {
    const { contacts, segments, events } = await newProject()
    const { id } = await segments.create('Pro users', PRO)
    const ada = await contacts.create('ada@example.com', { data: { plan: 'pro' } })
    await segments.settled()
    expect(await events.list()).toEqual([
      expect.objectContaining({ name: 'segment.pro-users.entry', contactId: ada.id, data: { segmentId: id, segmentName: 'Pro users' } }),
    ])
  })

  test.each([
    ['the subscription', allOf(filter('subscribed', 'equals', false)), { subscribed: false }, { subscribed: true }],
    ['the address', allOf(filter('email', 'contains', '@new.example')), { email: 'a@new.example' }, { email: 'a@old.example' }],
    ['a nested value', allOf(filter('data.profile.tier', 'equals', 2)), { data: { profile: { tier: 2 } } }, { data: { profile: null } }],
    ['all data', allOf(filter('data.plan', 'notExists')), { data: null }, { data: { plan: 'pro' } }],
  ])('follows %s', async (_what, condition, enter, leave) => {
    const { contacts, segments } = await newProject()
    const { slug } = await segments.create('S', condition)
    const contact = await contacts.create('a@old.example', { data: { plan: 'pro' } })
    const kinds = async () => (await segments.changesOf(slug)).map((change) => change.split(' ')[1])
    expect(await kinds()).toEqual([])
    await contacts.update(contact.id, enter)
    expect(await kinds()).toEqual(['entry'])
    await contacts.update(contact.id, leave)
    expect(await kinds()).toEqual(['entry', 'exit'])
  })

  test('follows events', async () => {
    const { track, segments } = await newProject()
    const { slug } = await segments.create('Buyers', allOf(filter('event.bought', 'triggered')))
    await track({ email: 'ada@example.com', event: 'looked' })
    await track({ email: 'ada@example.com', event: 'bought' })
    await track({ email: 'ada@example.com', event: 'bought' })
    expect(await segments.changesOf(slug)).toEqual(['ada@example.com entry'])
  })

  test('follows imports and bulk jobs', async () => {
    const { contacts, segments } = await newProject()
    const { slug } = await segments.create('S', allOf(filter('data.plan', 'equals', 'pro'), filter('subscribed', 'equals', true)))
    await contacts.import('email,plan\na@example.com,pro\nb@example.com,pro\nc@example.com,free')
    expect((await segments.changesOf(slug)).sort()).toEqual(['a@example.com entry', 'b@example.com entry'])
    const [a] = await contacts.rows()
    await contacts.bulk('unsubscribe', { contactIds: [a!.id] })
    expect((await segments.changesOf(slug)).sort()).toEqual(['a@example.com entry', 'a@example.com exit', 'b@example.com entry'])
  })

  test('loses a deleted contact without an event', async () => {
    const { contacts, segments, call, events } = await newProject()
    const { id } = await segments.create('S', PRO)
    const ada = await contacts.create('ada@example.com', { data: { plan: 'pro' } })
    expect(await segments.membersOf(id)).toEqual(['ada@example.com'])
    await call('DELETE', `/contacts/${ada.id}`)
    expect(await segments.membersOf(id)).toEqual([])
    await expect.poll(() => events.names()).toEqual([])
  })

  test('emits an entry for every member when tracking is turned on, and forgets them silently when it is turned off', async () => {
    const { contacts, segments, call } = await newProject()
    await contacts.createMany(5)
    const { id, slug } = await segments.create('S', allOf(filter('email', 'contains', '@example.com')), { trackMembership: false })
    expect(await segments.changesOf(slug)).toEqual([])
    await call('PATCH', `/segments/${id}`, { trackMembership: true })
    expect(await segments.changesOf(slug)).toHaveLength(5)
    await call('PATCH', `/segments/${id}`, { trackMembership: false })
    await expect.poll(() => segments.membersOf(id)).toEqual([])
    expect(await segments.changesOf(slug)).toHaveLength(5)
    await contacts.create('late@example.com')
    expect(await segments.changesOf(slug)).toHaveLength(5)
    await call('PATCH', `/segments/${id}`, { trackMembership: true })
    expect(await segments.changesOf(slug)).toHaveLength(11)
  })

  test('emits only the difference when its condition changes', async () => {
    const { contacts, segments, call } = await newProject()
    const { id, slug } = await segments.create('S', PRO)
    await contacts.create('a@example.com', { data: { plan: 'pro', seats: 1 } })
    await contacts.create('b@example.com', { data: { plan: 'pro', seats: 9 } })
    await contacts.create('c@example.com', { data: { plan: 'free', seats: 9 } })
    const before = await segments.changesOf(slug)
    await call('PATCH', `/segments/${id}`, { condition: allOf(filter('data.seats', 'greaterThan', 5)) })
    const after = await segments.changesOf(slug)
    expect(before.sort()).toEqual(['a@example.com entry', 'b@example.com entry'])
    expect(after.slice(2).sort()).toEqual(['a@example.com exit', 'c@example.com entry'])
    await contacts.create('d@example.com', { data: { plan: 'pro', seats: 1 } })
    expect(await segments.membersOf(id)).toEqual(['b@example.com', 'c@example.com'])
  })

  test('misses no contact of a transaction that began before tracking did', async () => {
    const { id: projectId, segments, call } = await newProject()
    const { id, slug } = await segments.create('S', PRO, { trackMembership: false })
    const patch = { set: { plan: 'pro' }, unset: [], transient: {} }
    const upsert = toUpsert({ projectId, email: 'slow@example.com', subscribedIfNew: true, patch, source: { kind: 'api' } as never })
    await sterna.db.transaction().execute(async (tx) => {
      await upsertContacts(tx, [upsert])
      expect((await call('PATCH', `/segments/${id}`, { trackMembership: true })).status).toBe(200)
      // The recomputation has begun, and waits for this transaction.
      await expect
        .poll(() => many(sterna.db, sql`select 1 from pg_stat_activity where query like '%xact_start <=%' and pid <> pg_backend_pid()`))
        .not.toEqual([])
    })
    expect(await segments.changesOf(slug)).toEqual(['slow@example.com entry'])
  })
})

describe('a tracked segment that refers to another', () => {
  test('follows the members of a static segment', async () => {
    const { contacts, segments, call } = await newProject()
    const { body: vips } = await call('POST', '/segments', { name: 'VIPs', type: 'STATIC' })
    const { slug } = await segments.create(
      'Subscribed VIPs',
      allOf(filter(`segment.${vips.id}`, 'memberOfSegment'), filter('subscribed', 'equals', true)),
    )
    await contacts.create('ada@example.com')
    await call('POST', `/segments/${vips.id}/members`, { emails: ['ada@example.com'] })
    expect(await segments.changesOf(slug)).toEqual(['ada@example.com entry'])
    await call('DELETE', `/segments/${vips.id}/members`, { emails: ['ada@example.com'] })
    expect(await segments.changesOf(slug)).toEqual(['ada@example.com entry', 'ada@example.com exit'])
  })

  test('follows what a dynamic segment mentions, and its changed condition', async () => {
    const { contacts, segments, call } = await newProject()
    const inner = await segments.create('Inner', PRO, { trackMembership: false })
    const middle = await segments.create('Middle', allOf(filter(`segment.${inner.id}`, 'notMemberOfSegment')), { trackMembership: false })
    const { id, slug } = await segments.create('Outer', allOf(filter(`segment.${middle.id}`, 'notMemberOfSegment')))
    const ada = await contacts.create('ada@example.com', { data: { plan: 'pro' } })
    expect(await segments.membersOf(id)).toEqual(['ada@example.com'])
    await contacts.update(ada.id, { data: { plan: 'free' } })
    expect(await segments.changesOf(slug)).toEqual(['ada@example.com entry', 'ada@example.com exit'])
    await call('PATCH', `/segments/${inner.id}`, { condition: allOf(filter('data.plan', 'equals', 'free')) })
    expect(await segments.membersOf(id)).toEqual(['ada@example.com'])
  })
})

describe('deleting', () => {
  test('a field ends every match on it, also of notExists, until a contact gets it again', async () => {
    const { contacts, segments, call } = await newProject()
    await contacts.create('with@example.com', { data: { plan: 'pro' } })
    await contacts.create('without@example.com', { data: { other: 1 } })
    const has = await segments.create('Has', allOf(filter('data.plan', 'exists')))
    const lacks = await segments.create('Lacks', allOf(filter('data.plan', 'notExists')))
    expect([await segments.membersOf(has.id), await segments.membersOf(lacks.id)]).toEqual([['with@example.com'], ['without@example.com']])
    await call('DELETE', '/contacts/fields/plan')
    expect([await segments.membersOf(has.id), await segments.membersOf(lacks.id)]).toEqual([[], []])
    await contacts.create('again@example.com', { data: { plan: 'pro' } })
    expect(await segments.membersOf(has.id)).toEqual(['again@example.com'])
    expect(await segments.membersOf(lacks.id)).toEqual(['with@example.com', 'without@example.com'])
  })

  test('the events of a name ends the matches on them', async () => {
    const { track, segments, call } = await newProject()
    const { slug } = await segments.create('Buyers', allOf(filter('event.bought', 'triggered')))
    await track({ email: 'ada@example.com', event: 'bought' })
    expect(await segments.changesOf(slug)).toEqual(['ada@example.com entry'])
    await call('DELETE', '/events/bought')
    expect(await segments.changesOf(slug)).toEqual(['ada@example.com entry', 'ada@example.com exit'])
  })
})

/** The window of the segments below, in minutes, and how long ago the contact entered it: any machine looks before it leaves. */
const WINDOW = 5
const ENTERED_AGO = 2

describe('time alone', () => {
  /** As if the whole window had passed: everything of the project happened that much earlier. */
  const passTime = (projectId: string) =>
    transact(sterna.db, async (tx) => {
      const passed = sql`make_interval(mins => ${WINDOW})`
      await sql`update segment_due set due_at = due_at - ${passed} where project_id = ${projectId}`.execute(tx)
      await sql`update tracked_segments set swept_at = swept_at - ${passed} where project_id = ${projectId}`.execute(tx)
      await sql`
        update contacts set created_at = created_at - ${passed}, updated_at = updated_at - ${passed},
          data = jsonb_set(data, '{trialEndsAt}', to_jsonb(to_char(
            ((data ->> 'trialEndsAt')::timestamptz - ${passed}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
        where project_id = ${projectId}
      `.execute(tx)
      await sql`
        update events set id = overlay(id::text placing left(lowest_id(id_time(id) - ${passed})::text, 13) from 1 for 13)::uuid
        where project_id = ${projectId}
      `.execute(tx)
    })
  const emptied = ({ sweep, membersOf }: Awaited<ReturnType<typeof newProject>>['segments'], id: string) =>
    eventually(async () => {
      await sweep()
      expect(await membersOf(id)).toEqual([])
    })
  const entered = () => new Date(Date.now() - ENTERED_AGO * MINUTE)

  test('ends a match on an event that leaves its window', async () => {
    const { id: projectId, contacts, segments } = await newProject()
    const lately = await segments.create('Lately', allOf(filter('event.seen', 'triggeredWithin', WINDOW, 'minutes')))
    const notLately = await segments.create('Not lately', allOf(filter('event.seen', 'notTriggeredWithin', WINDOW, 'minutes')))
    const ada = await contacts.create('ada@example.com', { data: { trialEndsAt: entered().toISOString() } })
    await segments.recordAt(ada.id, 'seen', entered())
    expect([await segments.membersOf(lately.id), await segments.membersOf(notLately.id)]).toEqual([['ada@example.com'], []])
    await passTime(projectId)
    await emptied(segments, lately.id)
    expect(await segments.changesOf(lately.slug)).toEqual(['ada@example.com entry', 'ada@example.com exit'])
    expect(await segments.membersOf(notLately.id)).toEqual(['ada@example.com'])
  })

  test.each([
    ['a date of the contact', 'data.trialEndsAt'],
    ['its last change', 'updatedAt'],
    ['its creation', 'createdAt'],
  ])('ends a match on %s', async (_what, field) => {
    const { id: projectId, contacts, segments } = await newProject()
    const past = entered()
    const ada = await contacts.create('ada@example.com', { data: { trialEndsAt: past.toISOString() } })
    await sql`update contacts set created_at = ${past}, updated_at = ${past} where project_id = ${projectId} and id = ${ada.id}`.execute(
      sterna.db,
    )
    const recent = await segments.create('Recent', allOf(filter(field, 'within', WINDOW, 'minutes')))
    const old = await segments.create('Old', allOf(filter(field, 'olderThan', WINDOW, 'minutes')))
    expect([await segments.membersOf(recent.id), await segments.membersOf(old.id)]).toEqual([['ada@example.com'], []])
    await passTime(projectId)
    await emptied(segments, recent.id)
    expect(await segments.membersOf(old.id)).toEqual(['ada@example.com'])
    expect(await many(sterna.db, sql`select 1 from segment_due where project_id = ${projectId}`)).toEqual([])
  })
})

describe('POST /segments/:id/compute', () => {
  test('repairs memberships and emits what was missing', async () => {
    const { id: projectId, contacts, segments, call } = await newProject()
    const { id, slug } = await segments.create('S', PRO)
    await contacts.create('a@example.com', { data: { plan: 'pro' } })
    const b = await contacts.create('b@example.com', { data: { plan: 'free' } })
    await segments.settled()
    await sql`delete from segment_members where project_id = ${projectId}`.execute(sterna.db)
    await sql`insert into segment_members (project_id, segment_id, contact_id) values (${projectId}, ${id}, ${b.id})`.execute(sterna.db)
    const answer = await call('POST', `/segments/${id}/compute`)
    expect([answer.status, answer.body]).toEqual([200, { added: 1, removed: 1, total: 1 }])
    expect((await segments.changesOf(slug)).slice(1).sort()).toEqual(['a@example.com entry', 'b@example.com exit'])
    expect((await call('POST', `/segments/${id}/compute`)).body).toEqual({ added: 0, removed: 0, total: 1 })
  })

  test('is shared by requests at the same time', async () => {
    const { id: projectId, contacts, segments, call } = await newProject()
    await contacts.createMany(20)
    const { id, slug } = await segments.create('S', allOf(filter('email', 'contains', 'c')))
    const runs = () =>
      one(sterna.db, sql<{ n: number }>`select count(*)::int as n from jobs where project_id = ${projectId} and type = 'compute-segment'`)
    const before = (await runs()).n
    await sql`delete from segment_members where project_id = ${projectId}`.execute(sterna.db)
    const answers = await sterna.db.transaction().execute(async (tx) => {
      // Holds the run until all requests wait for it.
      await sql`select 1 from tracked_segments where project_id = ${projectId} for update`.execute(tx)
      const asked = [1, 2, 3].map(() => call('POST', `/segments/${id}/compute`))
      const waiting = sql`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%tracked_segments%'`
      await expect.poll(() => many(sterna.db, waiting)).toHaveLength(3)
      return asked
    })
    expect((await Promise.all(answers)).map(({ body }) => body)).toEqual([1, 2, 3].map(() => ({ added: 20, removed: 0, total: 20 })))
    expect((await runs()).n).toBe(before + 1)
    expect(await segments.changesOf(slug)).toHaveLength(40)
  })

  test('looks at fewer contacts at a time when a page takes too long', async () => {
    const { id: projectId, contacts, segments, call } = await newProject()
    await contacts.createMany(40)
    const { id } = await segments.create('S', allOf(filter('email', 'contains', 'c')))
    await sql`delete from segment_members where project_id = ${projectId}`.execute(sterna.db)
    // As if more than ten members took longer than a statement may.
    await sql`
      create function refuse_many() returns trigger language plpgsql as $$ begin
        if (select count(*) from added) > 10 then raise exception 'too slow' using errcode = '57014'; end if;
        return null;
      end $$
    `.execute(sterna.db)
    await sql`
      create trigger refuse_many after insert on segment_members referencing new table as added execute function refuse_many()
    `.execute(sterna.db)
    try {
      expect((await call('POST', `/segments/${id}/compute`)).body).toEqual({ added: 40, removed: 0, total: 40 })
    } finally {
      await sql`drop trigger refuse_many on segment_members`.execute(sterna.db)
      await sql`drop function refuse_many`.execute(sterna.db)
    }
  })

  test('stops at a reset of the project, and leaves nothing behind', async () => {
    const { id: projectId, owner, contacts, segments, call } = await newProject()
    await contacts.createMany(50)
    const { id } = await segments.create('S', allOf(filter('email', 'contains', 'c'), filter('createdAt', 'within', 5, 'days')), {
      trackMembership: false,
    })
    await call('PATCH', `/segments/${id}`, { trackMembership: true })
    expect((await owner.call('POST', `/users/@me/projects/${projectId}/reset`)).status).toBe(200)
    const left = () =>
      many(
        sterna.db,
        sql`
          select 'segment' as kind from segments where project_id = ${projectId}
          union all select 'member' from segment_members where project_id = ${projectId}
          union all select 'tracked' from tracked_segments where project_id = ${projectId}
          union all select 'due' from segment_due where project_id = ${projectId}
          union all select 'listener' from listeners where project_id = ${projectId}
          union all select 'reaction' from reactions where project_id = ${projectId}
          union all select 'event' from events where project_id = ${projectId}
          union all select 'wipe' from project_wipes where project_id = ${projectId}
        `,
      )
    await expect.poll(left).toEqual([])
  })
})
