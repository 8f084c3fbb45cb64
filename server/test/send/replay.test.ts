import { expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { ADA, BOB, times, useSecondNode, useSending } from '../support/delivery/sending.ts'

const { sterna, newProject } = useSending()
const second = useSecondNode(sterna)
type Project = Awaited<ReturnType<typeof newProject>>
type Node = Pick<typeof sterna, 'call'>

const REPLAY = { 'idempotency-replay': 'true' }
const send = (project: Project, body: object, { at = sterna as Node, headers = REPLAY as Record<string, string> } = {}) =>
  at.call('POST', '/v1/send', { key: project.sk, body: project.sendBody(body), headers: { 'idempotency-key': 'k', ...headers } })
const track = (pk: string, body: object, headers: Record<string, string> = REPLAY) =>
  second.sterna.call('POST', '/v1/track', { key: pk, body, headers: { 'idempotency-key': 't', ...headers } })

test('a repeat with the same body gets the first answer, on another node, and sends nothing', async () => {
  const project = await newProject()
  const first = await send(project, { to: [ADA, BOB] })
  expect([first.status, first.headers['idempotency-replayed']]).toEqual([200, undefined])
  const again = await send(project, { to: [ADA, BOB] }, { at: second.sterna })
  expect([again.status, again.headers['idempotency-replayed'], again.body]).toEqual([200, 'true', first.body])
  expect((await project.call('GET', '/emails')).body.total).toBe(2)
})

test('another body, or no Idempotency-Replay, is refused with 409', async () => {
  const project = await newProject()
  await send(project, { to: ADA })
  const differs = await send(project, { to: BOB })
  expect([outcome(differs), differs.body.error.details.bodyDiffers]).toEqual([[409, 'IDEMPOTENCY_KEY_REUSED'], true])
  const plain = await send(project, { to: ADA }, { headers: {} })
  expect([outcome(plain), plain.body.error.details.bodyDiffers]).toEqual([[409, 'IDEMPOTENCY_KEY_REUSED'], undefined])
  const unlike = await send(project, { to: BOB }, { headers: {} })
  expect(unlike.body.error.details.bodyDiffers).toBe(true)
})

test('concurrent repeats all get the answer of the first', async () => {
  const project = await newProject()
  const answers = await Promise.all(times(20, (n) => send(project, { to: ADA }, { at: n % 2 ? second.sterna : sterna })))
  expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1)
  expect(answers[0]!.status).toBe(200)
  expect(answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined)).toHaveLength(1)
})

test('a tracked event is replayed, and not by the key of another endpoint', async () => {
  const project = await newProject()
  const { body: keys } = await project.owner.call('GET', '/users/@me/projects')
  const pk = keys.find(({ id }: { id: string }) => id === project.id).public as string
  const event = { email: ADA, event: 'signup' }
  const first = await track(pk, event)
  const again = await track(pk, event)
  expect([again.status, again.headers['idempotency-replayed'], again.body]).toEqual([200, 'true', first.body])
  const sent = await send(project, { to: ADA }, { headers: { ...REPLAY, 'idempotency-key': 't' } })
  expect(outcome(sent)).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
})
