import { isId } from '../../src/lib/id.ts'
import { faultsOf } from '../nodes/inject-faults.ts'
import { type Cluster, startCluster } from '../nodes/nodes.ts'
import type { Answer, Call, Sent, Verdict } from '../support/load.ts'
import { newProject } from '../support/project.ts'
import type { Random } from '../support/random.ts'
import { type Plan, runUnderFaults } from '../support/suite.ts'
import { createTrackedSegments, settleSegments } from './segments.ts'
import { settleTold, startReceiver, TOLD_ENV } from './told.ts'
import { isTracked, LOST, TWICE, trackChecks } from './track-check.ts'

export type TrackCall = Call & { body: { email: string; event: string; subscribed?: boolean; data: { key: string } } }
/** The 409 of a repetition names the event, not the contact. */
export type TrackAck = { event: string; contact?: string }

const CONTACTS = 300
const NAMES = ['signed up', 'page viewed', 'order placed']
const CHOICE_SHARE = 0.2

export async function trackUnderFaults({ perSecond = 500, ...plan }: Plan & { perSecond?: number }) {
  const receiver = await startReceiver()
  const start = () => startCluster({ env: TOLD_ENV })
  const { broken, ...run } = await runUnderFaults(plan, { perSecond, start, faults: faultsOf, prepare: prepareWith(receiver) }).finally(
    receiver.stop,
  )
  const casesOf = (wanted: string) => broken.find(({ rule }) => rule === wanted)?.cases.length ?? 0
  return { ...run, lost: casesOf(LOST), duplicates: casesOf(TWICE), webhooks: receiver.report() }
}

const prepareWith =
  (receiver: Awaited<ReturnType<typeof startReceiver>>) =>
  async ({ main, databaseUrl }: Cluster, random: Random) => {
    const project = await newProject(main.url)
    await receiver.listen(main.url, project.secret)
    await createTrackedSegments(main.url, project.secret)
    return {
      next: trackCalls(project.public, random),
      judge: judgeTrack,
      async settle() {
        await settleSegments(databaseUrl, project.id)
        await settleTold(databaseUrl, project.id)
      },
      checks: (sent: Map<string, Sent<TrackCall, TrackAck>>) => [...trackChecks(project.id, sent), receiver.check(project.id, isTracked)],
    }
  }

/** Each call has an idempotency key of its own. Contacts are few, and some calls change their subscription. */
function trackCalls(publicKey: string, random: Random) {
  let last = 0
  return (): TrackCall => {
    const key = `chaos-${++last}`
    return {
      key,
      path: '/v1/track',
      headers: { authorization: `Bearer ${publicKey}`, 'idempotency-key': key },
      body: {
        email: `contact${random.below(CONTACTS)}@example.com`,
        event: random.pick(NAMES),
        ...(random.chance(CHOICE_SHARE) ? { subscribed: random.chance(0.5) } : {}),
        data: { key },
      },
    }
  }
}

/** Two responses acknowledge a call: the first, and the 409 of a repetition that names the first. */
export function judgeTrack({ status, body }: Answer): Verdict<TrackAck> {
  if (status === 200 && isId(body?.data?.event)) return { acknowledged: { event: body.data.event, contact: body.data.contact } }
  const details = status === 409 ? body?.error?.details : undefined
  if (details?.originalStatusCode === 200 && isId(details.event)) return { acknowledged: { event: details.event } }
  if (details?.originalStatusCode === null) return 'again' // the first is still running
  return { wrong: `${status} ${JSON.stringify(body)}` }
}
