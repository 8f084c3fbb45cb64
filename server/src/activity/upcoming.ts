import { z } from 'zod'
import { type Db, many } from '../db/index.ts'
import { CONTACT } from '../delivery/outbox/outcomes/contact-id.ts'
import { IS_SCHEDULED } from '../delivery/outbox/scheduled.ts'
import { Timestamp } from '../http/core/validate.ts'

export const UpcomingActivity = z
  .object({
    id: z.uuid(),
    type: z.enum(['campaign.scheduled', 'workflow.email.scheduled', 'email.scheduled']),
    timestamp: Timestamp.describe('When it is due.'),
    contactId: z.uuid().nullable(),
    contactEmail: z.string().nullable(),
    metadata: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'UpcomingActivity' })

type Row = Omit<z.output<typeof UpcomingActivity>, 'timestamp'> & { timestamp: Date }
type Within = { limit: number; daysAhead: number }

/** Scheduled campaigns and emails, and executions of workflows whose pause ends, the next first. */
export async function listUpcoming(db: Db, projectId: string, within: Within) {
  const rows = [
    ...(await listCampaigns(db, projectId, within)),
    ...(await listExecutions(db, projectId, within)),
    ...(await listScheduledEmails(db, projectId, within)),
  ]
  return rows.sort((a, b) => a.timestamp.getTime() - b.timestamp.getTime()).slice(0, within.limit)
}

const listCampaigns = (db: Db, projectId: string, { limit, daysAhead }: Within) =>
  many<Row>(db)`
    select id, 'campaign.scheduled' as type, scheduled_for as timestamp, null as "contactId", null as "contactEmail",
      jsonb_build_object('campaignId', id, 'campaignName', name, 'subject', subject) as metadata
    from campaigns
    where project_id = ${projectId} and deleted_at is null and status = 'SCHEDULED'
      and scheduled_for <= now() + make_interval(days => ${daysAhead})
    order by scheduled_for, id limit ${limit}
  `

/** Executions that wait for a time, and for no event. */
const listExecutions = (db: Db, projectId: string, { limit, daysAhead }: Within) =>
  many<Row>(db)`
    select e.id, 'workflow.email.scheduled' as type, e.due_at as timestamp, c.id as "contactId", c.email as "contactEmail",
      jsonb_build_object('workflowId', e.workflow_id, 'workflowName', w.name, 'executionId', e.id, 'stepId', e.current_step_id) as metadata
    from (
      select id, workflow_id, contact_id, current_step_id, due_at from workflow_executions
      where project_id = ${projectId} and due_at is not null and webhook_host is null
        and due_at <= now() + make_interval(days => ${daysAhead}) and status = 'WAITING' and awaits is null
      order by due_at limit ${limit}
    ) as e
    left join workflows w on w.project_id = ${projectId} and w.id = e.workflow_id
    left join contacts c on c.project_id = ${projectId} and c.id = e.contact_id
    order by e.due_at, e.id
  `

const listScheduledEmails = (db: Db, projectId: string, { limit, daysAhead }: Within) =>
  many<Row>(db)`
    select e.id, 'email.scheduled' as type, e.send_at as timestamp, ${CONTACT} as "contactId", e.to_address as "contactEmail",
      jsonb_build_object('emailId', e.id, 'subject', c.subject, 'templateId', c.template_id) as metadata
    from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
    where e.project_id = ${projectId} and ${IS_SCHEDULED} and e.send_at <= now() + make_interval(days => ${daysAhead})
    order by e.send_at, e.id limit ${limit}
  `
