import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { many } from '../../../src/db/index.ts'
import { PAUSE_TIMING } from '../../../src/delivery/sender/limits/pauses.ts'
import { newCampaignProject, QUICKLY } from '../../campaigns/campaign-project.ts'
import { useApp } from '../../support/app.ts'
import { eventually } from '../../support/eventually.ts'
import { startSesServer } from '../../support/servers/ses-server.ts'

// Found the way the SDK finds them; nothing else of the machine's may be.
const AWS = {
  AWS_ACCESS_KEY_ID: 'AKIDTEST',
  AWS_SECRET_ACCESS_KEY: 'secret',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
}
for (const [name, value] of Object.entries(AWS)) vi.stubEnv(name, value)

let ses: Awaited<ReturnType<typeof startSesServer>>
const env: Record<string, string> = { SES_REGION: 'eu-central-1', RATE_LIMIT_PER_MINUTE: '0' }
beforeAll(async () => {
  ses = await startSesServer()
  env.SES_ENDPOINT = ses.url
})
// However long it takes until a transactional email is built, no other one is the probe.
const sterna = useApp({ env, intervals: QUICKLY, timing: { pauses: { ...PAUSE_TIMING, transactionalFirstMs: 3_600_000 } } })
afterAll(() => {
  ses.stop()
  vi.unstubAllEnvs()
})

type Pause = { cause: string; probes: number }
const readPause = async () =>
  (await many(sterna.db, sql<Pause>`select cause, failed_probes as probes from sending_pauses where domain = ''`))[0]
const endWait = () => sql`update sending_pauses set until = now(), probe_until = null`.execute(sterna.db)

test('after three unknown outcomes in a row SES is probed with one email at a time, transactional ones first', async () => {
  const project = await newCampaignProject(sterna)
  await sql`
    update domains set status = 'verified', verified_by = 'ses', verified_at = now(), next_check_at = 'infinity' where project_id = ${project.id}
  `.execute(sterna.db)
  await project.subscribe('bulk')
  const send = async (...names: string[]) => {
    const to = names.map((name) => `${name}@example.com`)
    const { status, body } = await project.call('POST', '/v1/send', { to, from: `news@${project.domain}`, subject: 'Hi', body: 'Hi' })
    expect(status).toBe(200)
    return body.data.emails.map(({ email }: { email: string }) => email) as string[]
  }
  const email = async (id: string) => (await project.call('GET', `/emails/${id}`)).body
  const unknown = { status: 'SENDING', outcomeUnknownSince: expect.any(String), error: expect.stringContaining('503 ServiceUnavailable') }

  ses.outage.message = [503, 'ServiceUnavailable', 'Try again']
  const doubtful = await send('one', 'two', 'three')
  await eventually(async () => expect(await readPause()).toEqual({ cause: 'unknown', probes: 0 }))
  for (const id of doubtful) await eventually(async () => expect(await email(id)).toMatchObject(unknown))

  const { id: campaign } = await project.create()
  await project.act(campaign, 'send')
  await eventually(async () => expect(await project.get(campaign)).toMatchObject({ status: 'SENDING', pausedReason: 'provider' }))
  await sql`update users set operator = true where id = ${project.owner.id}`.execute(sterna.db)
  const { checks } = (await project.owner.call('GET', '/doctor')).body
  expect(checks).toContainEqual(
    expect.objectContaining({
      name: 'sending',
      verdict: 'warn',
      note: expect.stringMatching(/^all sending is paused .*503 ServiceUnavailable/),
    }),
  )

  const [first] = await send('first')
  await endWait()
  await eventually(async () => expect(await email(first!)).toMatchObject(unknown))
  await eventually(async () => expect(await readPause()).toEqual({ cause: 'unknown', probes: 1 }))
  const [second] = await send('second')
  expect(ses.attempts.slice(3)).toEqual(['first@example.com'])

  ses.outage.message = undefined
  await endWait()
  await project.reached(campaign, 'SENT')
  expect(await email(second!)).toMatchObject({ status: 'SENT' })
  expect(ses.attempts.slice(3)).toEqual(['first@example.com', 'second@example.com', 'bulk@example.com'])
  expect(await readPause()).toBeUndefined()
})
