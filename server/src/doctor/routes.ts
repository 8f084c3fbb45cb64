import { sql } from 'kysely'
import { z } from 'zod'
import { one, type Pool, scalar } from '../db/index.ts'
import { PRIORITIES } from '../delivery/outbox/streams/stream-of.ts'
import { NO_KEYS } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Timestamp } from '../http/core/validate.ts'
import { routesOf } from '../http/resource.ts'
import { idTime } from '../lib/id.ts'
import { assertOperator } from '../projects/operators.ts'
import type { Check } from './check.ts'
import { diagnoseRunning } from './doctor.ts'

const VERDICTS = ['ok', 'warn', 'FAIL'] as const
/** Names of the checks of each group. */
const GROUPS = {
  reachability: ['public url', 'proxy', 'smtp certificate', 'smtp submission', 'certificate', 'host name', 'keys'],
  sending: ['ses', 'relay', 'blocklists', 'sender domains', 'account emails', 'transport', 'sending', 'workers'],
  feedback: ['sns', 'return path'],
  database: ['database settings', 'connections', 'database', 'reactions', 'counts'],
  disk: ['disk', 'data folder', 'secret key', 'uploads'],
  version: ['version', 'node'],
  billing: ['billing', 'usage report'],
}
type Group = keyof typeof GROUPS
const GROUP_NAMES = Object.keys(GROUPS) as [Group, ...Group[]]

const groupOf = ({ name }: Check) => GROUP_NAMES.find((group) => GROUPS[group].includes(name)) ?? 'sending'

const Queue = z.object({
  priority: z.enum(['transactional', 'bulk']),
  waiting: z.int().describe('Emails that are ready to be sent; counted up to 100,000, with the paused ones.'),
  paused: z.int().describe('Emails of paused campaigns.'),
  oldestAt: Timestamp.nullable(),
})

const Doctor = z
  .object({
    verdict: z.enum(VERDICTS).describe('The worst of the checks.'),
    checks: z.array(z.object({ group: z.enum(GROUP_NAMES), name: z.string(), verdict: z.enum(VERDICTS), note: z.string() })),
    queues: z.array(Queue),
    sentPerMinute: z.number().describe('Average of this hour and the one before. Without emails of the sandbox.'),
    checkedAt: Timestamp,
  })
  .meta({ id: 'Doctor' })

export function doctorRoutes(app: App, { db, config }: Deps) {
  routesOf(app, { tags: ['Service'], caller: 'session', role: null, ...NO_KEYS }).get(
    '/doctor',
    {
      summary: 'Check this installation',
      description: 'Configuration, database, disk, sending and billing, and what to do about problems. Only for operators.',
      response: Doctor,
      refusals: ['FORBIDDEN'],
    },
    async (req) => {
      await assertOperator(db, req.person.userId)
      const [checks, queues, sentPerMinute] = await Promise.all([diagnoseRunning(config, db), readQueues(db), readPace(db)])
      return {
        verdict: worstOf(checks),
        checks: checks.map((check) => ({ group: groupOf(check), ...check })),
        queues,
        sentPerMinute,
        checkedAt: new Date().toISOString(),
      }
    },
  )
}

const worstOf = (checks: Check[]) =>
  checks.map(({ verdict }) => verdict).sort((a, b) => VERDICTS.indexOf(b) - VERDICTS.indexOf(a))[0] ?? 'ok'

const MAX_COUNTED = 100_000

/** Reads only the index of queued emails. The time of an email is in its id. */
const readQueues = (db: Pool): Promise<z.output<typeof Queue>[]> =>
  Promise.all(
    (Object.keys(PRIORITIES) as (keyof typeof PRIORITIES)[]).map(async (priority) => {
      const { oldest, ...counts } = await one<{ waiting: number; paused: number; oldest: string | null }>(db)`
        with queued as materialized (
          select id, project_id, stream_id from emails where state = 'queued' and lane = ${sql.lit(PRIORITIES[priority])}
          order by lane, project_id, stream_id, id limit ${MAX_COUNTED}
        ), paused as materialized (
          -- The stream of a campaign is its id.
          select q.id from queued q join campaigns c on c.project_id = q.project_id and c.id = q.stream_id where c.paused_at is not null
        )
        select (select count(*)::int from queued) - (select count(*)::int from paused) as waiting,
          (select count(*)::int from paused) as paused,
          (select id from queued where id not in (select id from paused) order by id limit 1) as oldest
      `
      return { priority, ...counts, oldestAt: oldest && idTime(oldest).toISOString() }
    }),
  )

/** Since the hour before this one began, of all projects. Without emails of the sandbox. */
async function readPace(db: Pool) {
  const pace = await scalar<number>(db)`
    select coalesce(sum(count), 0)::float8 / (extract(epoch from now() - date_trunc('hour', now()) + interval '1 hour')::float8 / 60)
    from email_counts where hour >= date_trunc('hour', now()) - interval '1 hour' and kind = 'attempted'
  `
  return Math.round(pace * 10) / 10
}
