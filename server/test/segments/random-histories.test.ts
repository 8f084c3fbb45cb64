import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { expressionSql } from '../../src/conditions/sql.ts'
import { many } from '../../src/db/index.ts'
import { resolveSegments } from '../../src/segments/definition/expressions.ts'
import { readContext } from '../../src/segments/evaluation/evaluate.ts'
import { useSharedApp } from '../support/app.ts'
import { allOf, filter, segmentClient } from '../support/segments.ts'

const sterna = useSharedApp()

const CONTACTS = 4
const RUNS = 7
const email = (n: number) => `c${n}@example.com`

const contact = fc.nat({ max: CONTACTS - 1 })
const key = fc.constantFrom('plan', 'seats', 'note')
const value = fc.constantFrom<unknown>('pro', 'free', 3, 9, true, null, '2026-01-31')
const condition = fc.constantFrom(
  allOf(filter('data.plan', 'equals', 'pro')),
  allOf(filter('data.plan', 'notExists')),
  allOf(filter('data.seats', 'greaterThan', 5), filter('subscribed', 'equals', true)),
  allOf(filter('event.bought', 'triggered')),
  allOf(filter('event.bought', 'notTriggered'), filter('data.note', 'exists')),
  allOf(filter('updatedAt', 'within', 5, 'days'), filter('data.plan', 'notEquals', 'free')),
)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('write' as const), contact, key, value }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('subscribe' as const), contact, subscribed: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('track' as const), contact, event: fc.constantFrom('bought', 'looked') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete contact' as const), contact }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete field' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete events' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('list' as const), contact, isMember: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('edit' as const), segment: fc.nat({ max: 2 }), condition }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('compute' as const), segment: fc.nat({ max: 2 }) }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

async function newHistory() {
  const project = await sterna.newProject(await sterna.sharedOwner())
  const segments = segmentClient(sterna.db, project)
  const { body: list } = await project.call('POST', '/segments', { name: 'List', type: 'STATIC', trackMembership: true })
  const dynamic = [
    await segments.create('First', allOf(filter('data.plan', 'equals', 'pro'))),
    await segments.create('Second', allOf(filter('event.bought', 'notTriggered'))),
    await segments.create('Third', allOf(filter(`segment.${list.id}`, 'memberOfSegment'))),
  ]
  const outer = await segments.create('Outer', {
    logic: 'OR',
    groups: [{ filters: [filter(`segment.${dynamic[0]!.id}`, 'notMemberOfSegment'), filter(`segment.${list.id}`, 'notMemberOfSegment')] }],
  })
  return { project, segments, list, dynamic, tracked: [...dynamic, outer] }
}
type History = Awaited<ReturnType<typeof newHistory>>

async function take({ project, list, dynamic }: History, action: Step) {
  const { call, contacts, track } = project
  const idOf = async (n: number) => (await contacts.rows()).find((row) => row.email === email(n))?.id
  switch (action.do) {
    case 'write':
      return call('POST', '/contacts', { email: email(action.contact), data: { [action.key]: action.value } })
    case 'subscribe':
      return call('POST', '/contacts', { email: email(action.contact), subscribed: action.subscribed })
    case 'track':
      return track({ email: email(action.contact), event: action.event })
    case 'delete contact':
      return call('DELETE', `/contacts/${await idOf(action.contact)}`)
    case 'delete field':
      return call('DELETE', `/contacts/fields/${action.key}`)
    case 'delete events':
      return call('DELETE', '/events/bought')
    case 'list':
      return call(action.isMember ? 'POST' : 'DELETE', `/segments/${list.id}/members`, { emails: [email(action.contact)] })
    case 'edit':
      return call('PATCH', `/segments/${dynamic[action.segment]!.id}`, { condition: action.condition })
    case 'compute':
      return call('POST', `/segments/${dynamic[action.segment]!.id}/compute`)
  }
}

/** The members by a full evaluation in SQL. */
async function recompute({ project, tracked }: History) {
  const projectId = project.id
  const resolved = await resolveSegments(
    sterna.db,
    projectId,
    tracked.map(({ id }) => id),
  )
  const expressions = resolved.map(({ expression }) => expression)
  const context = await readContext(sterna.db, projectId, expressions)
  const members: Record<string, string[]> = {}
  for (const { id, expression } of resolved) {
    const rows = await many(
      sterna.db,
      sql<{ email: string }>`
        select email from contacts where project_id = ${projectId} and ${expressionSql(expression, { projectId, ...context })} order by 1
      `,
    )
    members[id] = rows.map((row) => row.email)
  }
  return members
}

/** For each segment and contact that still exists: entries and exits, in order. */
async function changesOf({ project, tracked, list }: History) {
  const rows = await many(
    sterna.db,
    sql<{ segmentId: string; email: string; kinds: string[] }>`
      select e.data ->> 'segmentId' as "segmentId", c.email, array_agg(split_part(e.name, '.', 3) order by e.id) as kinds
      from events e join contacts c on c.project_id = e.project_id and c.id = e.contact_id
      where e.project_id = ${project.id} and e.name like 'segment.%' group by 1, 2
    `,
  )
  return rows.filter(({ segmentId }) => [list, ...tracked].some(({ id }) => id === segmentId))
}

const alternating = (count: number) => Array.from({ length: count }, (_, n) => (n % 2 ? 'exit' : 'entry'))

test('whatever happens, tracked segments equal their recomputation, and entries and exits alternate', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 25, maxLength: 40 }), fc.boolean(), async (steps, atOnce) => {
      const history = await newHistory()
      if (atOnce) await Promise.all(steps.map((each) => take(history, each)))
      else for (const each of steps) await take(history, each)
      await history.segments.settled()
      const expected = await recompute(history)
      for (const { id } of history.tracked) expect(await history.segments.membersOf(id)).toEqual(expected[id])
      for (const { segmentId, email: address, kinds } of await changesOf(history)) {
        const members = await history.segments.membersOf(segmentId)
        expect([kinds, kinds.at(-1) === 'entry']).toEqual([alternating(kinds.length), members.includes(address)])
      }
    }),
    { numRuns: RUNS },
  )
})
