import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { many, one } from '../../../src/db/index.ts'
import { outcome, statuses } from '../../support/answers.ts'
import { startApp, useApp } from '../../support/app.ts'
import { times } from '../../support/times.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })
const newProject = async () => sterna.newProject(await sterna.sharedOwner())
type Project = Awaited<ReturnType<typeof newProject>>

/** Another node on the same database. */
let second: Awaited<ReturnType<typeof startApp>>
beforeAll(async () => {
  second = await startApp(sterna.url, { env: { RATE_LIMIT_PER_MINUTE: '0' } })
})
afterAll(() => second.close())

const ADA = 'ada@example.com'

describe('on a node that has cached the key', () => {
  const body = { email: ADA, event: 'e' }
  const track = (project: Project, pk = project.pk) => project.track(body, { at: second.sterna, pk })
  const verdicts = async (project: Project, pk?: string) =>
    new Set((await Promise.all(times(100, () => track(project, pk)))).map((answer) => outcome(answer).join(' ')))
  const rotate = async (project: Project) =>
    (await project.owner.call('POST', `/users/@me/projects/${project.id}/regenerate-keys`)).body as { public: string; secret: string }
  const recorded = async (project: Project) =>
    (await one(sterna.db, sql<{ n: number }>`select count(*)::int as n from events where project_id = ${project.id}`)).n

  test('a rotation on another node takes effect once it is answered', async () => {
    const project = await newProject()
    let { pk } = project
    for (let round = 0; round < 3; round++) {
      expect((await track(project, pk)).status).toBe(200)
      const fresh = await rotate(project)
      expect(await verdicts(project, pk)).toEqual(new Set(['401 INVALID_API_KEY']))
      expect((await track(project, fresh.public)).status).toBe(200)
      pk = fresh.public
    }
    expect(await recorded(project)).toBe(6)
  })

  test('a rotation takes effect for contacts too', async () => {
    const project = await newProject()
    const create = (key: string) => second.sterna.call('POST', '/contacts', { key, body: { email: ADA } })
    expect((await create(project.sk)).status).toBe(201)
    const fresh = await rotate(project)
    expect(new Set(statuses(await Promise.all(times(20, () => create(project.sk)))))).toEqual(new Set([401]))
    expect((await create(fresh.secret)).status).toBe(200)
  })

  test('concurrent requests pass with the old or the new key, later ones only with the new key', async () => {
    const project = await newProject()
    expect((await track(project)).status).toBe(200)
    const before = times(50, () => track(project))
    const fresh = await rotate(project)
    const after = times(50, () => track(project))
    expect(new Set(statuses(await Promise.all(after)))).toEqual(new Set([401]))
    const passed = (await Promise.all(before)).filter(({ status }) => status === 200).length
    expect(await recorded(project)).toBe(1 + passed)
    expect((await track(project, fresh.public)).status).toBe(200)
  })

  test('a revoked key does not count towards the rate limit of its project', async () => {
    const project = await newProject()
    const node = await startApp(sterna.url, { env: { RATE_LIMIT_PER_MINUTE: '100' } })
    try {
      const bad = () => project.track({ email: ADA, event: '' }, { at: node.sterna })
      expect((await bad()).status).toBe(422)
      const { secret } = await rotate(project)
      await bad()
      const answers = [await bad(), await bad()]
      expect(answers.map(outcome)).toEqual(times(2, () => [401, 'INVALID_API_KEY']))
      for (const { headers } of answers) expect(headers['ratelimit-limit']).toBeUndefined()
      const { headers } = await node.sterna.call('GET', '/events', { key: secret })
      expect(Number(headers['ratelimit-remaining'])).toBeGreaterThanOrEqual(97)
    } finally {
      await node.close()
    }
  })

  test('disabling and enabling take effect immediately', async () => {
    const project = await newProject()
    const disable = (disabled: boolean) => sql`update projects set disabled = ${disabled} where id = ${project.id}`.execute(sterna.db)
    expect((await track(project)).status).toBe(200)
    await disable(true)
    expect(await verdicts(project)).toEqual(new Set(['403 PROJECT_DISABLED']))
    expect(outcome(await project.call('POST', '/events/track', body))).toEqual([403, 'PROJECT_DISABLED'])
    expect(outcome(await project.track(body, { key: 'k' }))).toEqual([403, 'PROJECT_DISABLED'])
    await disable(false)
    expect(await verdicts(project)).toEqual(new Set(['200']))
    expect((await project.track(body, { key: 'k' })).status).toBe(200)
    expect(await recorded(project)).toBe(102)
  })

  test('a disabled project is refused by a node that has not cached it', async () => {
    const project = await newProject()
    await sql`update projects set disabled = true where id = ${project.id}`.execute(sterna.db)
    expect(await verdicts(project)).toEqual(new Set(['403 PROJECT_DISABLED']))
    expect(await recorded(project)).toBe(0)
  })

  test('deletion takes effect immediately and permanently, also with a rate limit', async () => {
    const project = await newProject()
    const neighbour = await newProject()
    const node = await startApp(sterna.url, { env: { RATE_LIMIT_PER_MINUTE: '20' } })
    try {
      const atNode = () => project.track(body, { at: node.sterna })
      expect([(await track(project)).status, (await atNode()).status]).toEqual([200, 200])
      await project.owner.call('DELETE', `/users/@me/projects/${project.id}`)
      expect(await verdicts(project)).toEqual(new Set(['401 INVALID_API_KEY']))
      await expect.poll(() => many(sterna.db, sql`select 1 from projects where id = ${project.id}`)).toEqual([])
      // This node still has the key in its cache.
      expect(new Set((await Promise.all(times(10, atNode))).map((answer) => outcome(answer).join(' ')))).toEqual(
        new Set(['401 INVALID_API_KEY']),
      )
      expect(await recorded(project)).toBe(0)
      expect((await neighbour.track(body, { at: node.sterna })).status).toBe(200)
    } finally {
      await node.close()
    }
  })

  test('the keys of several projects in one batch are checked separately', async () => {
    const [project, rotated, disabled, deleted] = [await newProject(), await newProject(), await newProject(), await newProject()]
    const each = [project, rotated, disabled, deleted]
    for (const one of each) expect((await track(one)).status).toBe(200)
    await rotate(rotated)
    await sql`update projects set disabled = true where id = ${disabled.id}`.execute(sterna.db)
    await deleted.owner.call('DELETE', `/users/@me/projects/${deleted.id}`)
    const answers = await Promise.all(times(40, (n) => track(each[n % 4]!)))
    expect(answers.map((answer) => outcome(answer).join(' '))).toEqual(
      times(40, (n) => ['200', '401 INVALID_API_KEY', '403 PROJECT_DISABLED', '401 INVALID_API_KEY'][n % 4]),
    )
    expect((await project.events.list()).length).toBe(11)
  })
})
