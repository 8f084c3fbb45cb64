import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { connect, many, one, transact } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import type { EmailIds } from '../../test/support/servers/ses-event.ts'
import { PUBLIC_KEY, TOPIC } from '../../test/support/servers/sns-server.ts'
import { slowCommits, startCluster } from '../nodes/nodes.ts'
import { type Answer, type Call, post, type Sent, type Verdict } from '../support/load.ts'
import { newProject } from '../support/project.ts'
import type { Random } from '../support/random.ts'
import { type Plan, runUnderFaults } from '../support/suite.ts'
import { until } from '../support/until.ts'
import { feedbackChecks, LOST, TWICE } from './feedback-check.ts'
import { feedbackFaults } from './feedback-faults.ts'
import { addressesOf, echoOf, inDisorder, inOrder, type Notification } from './histories.ts'

export type FeedbackCall = Call & { body: Notification }

const WORKERS = ['worker1', 'worker2']
const CLIENTS = 16
const PER_REQUEST = 1_000
const SENT_MS = 120_000
const APPLIED_MS = 120_000
/** Share of emails whose row is not committed when their first notification arrives. */
const LATE_SHARE = 0.02
/** In a short run, too. */
const LEAST_LATE = 4

/** Reports on the same emails twice: in order without faults, and in random order while nodes and their database are killed. */
export async function feedbackUnderFaults({ mails: count, perSecond, ...plan }: Plan & { mails: number; perSecond: number }) {
  let reported = 0
  let calmPerSecond = 0
  let deaths = () => [] as string[]
  const { broken, ...run } = await runUnderFaults<FeedbackCall, true>(plan, {
    perSecond,
    clients: CLIENTS,
    fickleShare: 0,
    start: () =>
      startCluster({
        env: { SNS_TOPIC_ARNS: TOPIC, CHAOS_SNS_KEY: PUBLIC_KEY },
        entry: 'notified',
        workers: WORKERS,
        worker: 'product',
        commitsAreFast: true,
      }),
    faults(cluster, random) {
      deaths = () => [...cluster.workers, cluster.main, cluster.api].flatMap((node) => node.deaths)
      return feedbackFaults(cluster, random)
    },
    async prepare({ main, api, databaseUrl }, random) {
      const db = connect({ url: databaseUrl, max: 2, log: createLog('silent') })
      const [ordered, disordered] = [await sendEmails(db, main.url, 'ordered', count), await sendEmails(db, main.url, 'disordered', count)]
      for (const { mails } of [ordered, disordered]) await forgetOutcomes(db, mails)
      calmPerSecond = await reportInOrder(db, [main.url, api.url], inOrder(ordered.mails))
      await slowCommits(databaseUrl)
      const late = await hide(db, disordered, random)
      const story = inDisorder(disordered.mails, random)
      return {
        // Once all were sent, repetitions keep the load up until the faults are over.
        next: () => callFor(story[reported] ?? echoOf(disordered.mails, random), reported++),
        judge,
        enough: () => until('all notifications were sent', plan.withinMs, () => reported >= story.length),
        async settle() {
          await late.show()
          await untilApplied(db)
          await db.destroy()
        },
        checks: (sent: Map<string, Sent<FeedbackCall, true>>) => feedbackChecks(ordered, disordered, sent),
      }
    },
  })
  const casesOf = (wanted: string) => broken.find(({ rule }) => rule === wanted)?.cases.length ?? 0
  return { ...run, lost: casesOf(LOST), duplicates: casesOf(TWICE), calmPerSecond, deaths: deaths() }
}

type Db = ReturnType<typeof connect>
type Project = { id: string; mails: EmailIds[] }

/** Sent through the sandbox, which reports nothing on these addresses. */
async function sendEmails(db: Db, url: string, name: string, count: number): Promise<Project> {
  const project = await newProject(url, name)
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${project.secret}` }
  const post = async (path: string, body: object) => {
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.json() as Promise<{ data: { emails: { email: string }[] } }>
  }
  await post('/domains', { domain: `${name}.example` })
  const addresses = addressesOf(count)
  const ids: string[] = []
  for (let from = 0; from < count; from += PER_REQUEST) {
    const to = addresses.slice(from, from + PER_REQUEST)
    const { data } = await post('/v1/send', { to, from: `news@${name}.example`, subject: 'Hi', body: 'Hi', subscribed: true })
    ids.push(...data.emails.map(({ email }) => email))
  }
  const isSent = async () =>
    (await one(db, sql<{ open: number }>`select count(*)::int as open from emails where project_id = ${project.id} and state <> 'sent'`))
      .open === 0
  await until('the emails are sent', SENT_MS, isSent)
  const rows = await many(
    db,
    sql<EmailIds>`
      select id, project_id as "projectId", message_id as "messageId", contact_id as "contactId" from emails where project_id = ${project.id}
    `,
  )
  const byId = new Map(rows.map((mail) => [mail.id, mail]))
  return { id: project.id, mails: ids.map((id) => byId.get(id)!) }
}

/** A third of the emails is reported on before the worker knows that they were accepted, a third after their outcome became unknown. */
const forgetOutcomes = (db: Db, mails: EmailIds[]) =>
  transact(db, async (tx) => {
    const places = JSON.stringify(mails.map(({ projectId, id }, place) => ({ projectId, id, place })))
    const forgotten = sql`jsonb_to_recordset(${places}::jsonb) as m("projectId" uuid, id uuid, place int)`
    // Before the times in their reports.
    await sql`update emails set created_at = now() - interval '1 day' where project_id = ${mails[0]!.projectId}`.execute(tx)
    await sql`
      update emails e set handed_over_at = now(), sent_at = null, unknown_since = case when m.place % 3 = 1 then now() end,
        state = case when m.place % 3 = 1 then 'unknown' else 'sending' end
      from ${forgotten}
      where e.project_id = m."projectId" and e.id = m.id and m.place % 3 > 0
    `.execute(tx)
    await sql`
      with gone as (
        delete from events v using ${forgotten} where v.project_id = m."projectId" and v.email_id = m.id and m.place % 3 > 0
        returning v.project_id, v.name, v.id
      )
      insert into event_count_deltas (project_id, name, day, count)
      select project_id, name, id_day(id), -count(*) from gone group by 1, 2, 3
    `.execute(tx)
  })

/** Hides rows, as if they were committed after their first notification. */
async function hide(db: Db, { mails }: Project, random: Random) {
  const count = Math.max(LEAST_LATE, Math.round(mails.length * LATE_SHARE))
  const ids = random
    .shuffle(mails)
    .slice(0, count)
    .map(({ id }) => id)
  await sql`create table late_emails as select * from emails where id = any(${ids}::uuid[])`.execute(db)
  await sql`delete from emails where id = any(${ids}::uuid[])`.execute(db)
  return { show: () => sql`insert into emails select * from late_emails`.execute(db) }
}

/** Sends each round of notifications once the previous one is applied. Returns the rate at which they were accepted per second. */
async function reportInOrder(db: Db, urls: string[], chapters: Notification[][]) {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  let reportingMs = 0
  for (const chapter of chapters) {
    const startedAt = performance.now()
    let next = 0
    const tell = async (url: string) => {
      for (let index = next++; index < chapter.length; index = next++) {
        const { status } = await post(agent, url, callFor(chapter[index]!, index))
        if (status !== 200) throw new Error(`a notification was answered with ${status}`)
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, (_, client) => tell(urls[client % urls.length]!)))
    reportingMs += performance.now() - startedAt
    await untilApplied(db)
  }
  agent.destroy()
  return Math.round((chapters.flat().length / reportingMs) * 1_000)
}

const callFor = (body: Notification, place: number): FeedbackCall => ({
  key: `${place}`,
  path: '/webhooks/sns',
  headers: { 'content-type': 'text/plain; charset=UTF-8' },
  body,
})

/** Makes notifications that wait for their email due at once. */
const untilApplied = (db: Db) =>
  until('all notifications are applied', APPLIED_MS, async () => {
    await sql`update provider_notifications set due_at = now() where due_at > now()`.execute(db)
    const { open } = await one(db, sql<{ open: number }>`select count(*)::int as open from provider_notifications where due_at is not null`)
    if (open) await sleep(50)
    return open === 0
  })

/** The response says only that the notification was stored. */
function judge({ status, body }: Answer): Verdict<true> {
  return status === 200 && body?.success === true ? { acknowledged: true } : { wrong: `${status} ${JSON.stringify(body)}` }
}
