import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { startSesServer } from '../support/servers/ses-server.ts'
import { type CampaignProject, newCampaignProject, QUICKLY } from './campaign-project.ts'

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
  // One email in 50 seconds: the second one waits for longer than the test takes.
  ses.account.SendQuota.MaxSendRate = 0.02
  env.SES_ENDPOINT = ses.url
})
const sterna = useApp({ env, intervals: QUICKLY })
afterAll(() => {
  ses.stop()
  vi.unstubAllEnvs()
})

async function newProject(...names: string[]): Promise<CampaignProject> {
  const project = await newCampaignProject(sterna)
  await sql`
    update domains set status = 'verified', verified_by = 'ses', verified_at = now(), next_check_at = 'infinity' where project_id = ${project.id}
  `.execute(sterna.db)
  await project.subscribe(...names)
  return project
}

test('a campaign says that the provider holds it up: first by its quota, then by its rate', async () => {
  const refused = await newProject('quota')
  const { id } = await refused.create()
  await refused.act(id, 'send')
  await eventually(async () => expect(await refused.get(id)).toMatchObject({ status: 'SENDING', pausedReason: 'provider_quota' }))

  // The provider accepts email again.
  await sql`delete from sending_pauses`.execute(sterna.db)
  const slow = await newProject('ada')
  const campaign = await slow.create()
  expect(campaign.slowedBy).toEqual([])
  await slow.act(campaign.id, 'send')
  await eventually(async () =>
    expect(await slow.get(campaign.id)).toMatchObject({ status: 'SENDING', pausedReason: null, slowedBy: ['provider_rate'] }),
  )
  const { data } = (await slow.call('GET', '/campaigns?status=SENDING')).body
  expect(data.map((each: { slowedBy: string[] }) => each.slowedBy)).toEqual([['provider_rate']])
})
