import { sql } from 'kysely'
import { many, type Pool, transact } from '../../src/db/index.ts'
import type { Reaction } from '../../src/events/dispatch.ts'
import { type NewEvent, recordEvents } from '../../src/events/record.ts'
import { advanceExecutions, claimExecutions } from '../../src/workflows/executions/advance.ts'
import { reactForWorkflows } from '../../src/workflows/executions/react.ts'

const BATCH = 100
const MAX_BATCHES = 200

/** Runs dispatcher and engine of one project by hand, in an app without a worker: the test decides what a worker does, and when. */
export function driveWorkflows(db: Pool, projectId: string) {
  /** In one transaction: all have the same time. Returns their ids. */
  const record = (events: Omit<NewEvent, 'projectId'>[]) =>
    transact(db, (tx) =>
      recordEvents(
        tx,
        events.map((event) => ({ projectId, ...event })),
      ),
    )

  /** Handles the reactions that wait, as the dispatcher does: at most `limit`, or all. */
  const react = (limit = 10_000) =>
    transact(db, async (tx) => {
      const reactions = await many(
        tx,
        sql<Reaction>`
          select r.id, r.contact_id as "contactId", r.event_id as "eventId", r.event_name as "eventName", r.topics,
            array(select distinct listener from listeners l where l.project_id = r.project_id and l.topic = any(r.topics)) as listeners
          from reactions r where r.project_id = ${projectId} order by r.id limit ${limit}
        `,
      )
      await reactForWorkflows(tx, { projectId, reactions })
      await sql`delete from reactions where project_id = ${projectId} and id = any(${reactions.map(({ id }) => id)}::uuid[])`.execute(tx)
    })

  /** Advances executions until none is due. */
  async function advance(batch = BATCH) {
    for (let n = 0; n < MAX_BATCHES; n++) {
      const count = await transact(db, async (tx) => {
        const claimed = await claimExecutions(tx, projectId, batch)
        await advanceExecutions(tx, projectId, claimed)
        return claimed.length
      })
      if (!count) return
    }
    throw new Error('executions are due again and again')
  }

  /** Lets time pass, by moving everything that has happened into the past. */
  async function pass(seconds: number) {
    const earlier = (column: string) => sql`${sql.ref(column)} = ${sql.ref(column)} - make_interval(secs => ${seconds})`
    await sql`update events set ${earlier('created_at')} where project_id = ${projectId}`.execute(db)
    await sql`
      update workflow_executions set ${earlier('arrived_at')}, ${earlier('due_at')}, ${earlier('deadline_at')} where project_id = ${projectId}
    `.execute(db)
    await sql`update workflow_step_executions set ${earlier('scheduled_for')} where project_id = ${projectId}`.execute(db)
  }

  return { record, react, advance, pass }
}
