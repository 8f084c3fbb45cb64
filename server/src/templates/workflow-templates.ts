import { sql } from 'kysely'
import { workflowsUsingSql } from '../db/in-use.ts'
import { many, maybeOne, scalars, type Tx } from '../db/index.ts'
import { recordset } from '../db/rows.ts'
import { invalid } from '../lib/errors/errors.ts'
import { newId } from '../lib/id.ts'
import { COPY_NAME } from './template.ts'
import { VERSIONED_COLUMNS } from './versions.ts'

/** Refuses a workflow that does not exist. It cannot be deleted until the transaction ends, so that its templates are deleted after it. */
export async function assertWorkflow(tx: Tx, projectId: string, workflowId: string | null | undefined) {
  if (!workflowId) return
  const found = await maybeOne(tx)`select id from workflows where project_id = ${projectId} and id = ${workflowId} for key share`
  if (!found) invalid('workflowId', 'No such workflow.')
}

type Copies = { projectId: string; from: string; to: string; ids: string[]; savedBy?: string | undefined }

/** Copies those of the templates that were written in the workflow `from`, for the workflow `to`. Returns the ids of the copies by those of the originals. */
export async function copyWorkflowTemplates(tx: Tx, { projectId, from, to, ids, savedBy }: Copies): Promise<Map<string, string>> {
  const pairs = recordset(
    'templates',
    ids.map((id) => ({ id, copyId: newId() })),
    ['id'],
    { copyId: 'uuid' },
  )
  const copied = await many<{ id: string; copyId: string }>(tx)`
    with copies as (
      insert into templates (project_id, id, name, description, ${VERSIONED_COLUMNS}, workflow_id, saved_by, saved_at)
      select t.project_id, p."copyId", ${COPY_NAME}, description, ${VERSIONED_COLUMNS}, ${to}, ${savedBy ?? null}, now()
      from ${pairs} as p
      join templates t on t.project_id = ${projectId} and t.id = p.id and t.workflow_id = ${from}
      returning id
    )
    select p.id, p."copyId" from copies join ${pairs} as p on p."copyId" = copies.id
  `
  return new Map(copied.map(({ id, copyId }) => [id, copyId]))
}

type Deletion = { projectId: string; workflowId: string; limit: number }

/**
 * After the deletion of a workflow: deletes some of the templates that were written in it. Those that another workflow or a campaign uses
 * become templates of their own. Returns how many are done.
 */
export async function deleteWorkflowTemplates(tx: Tx, { projectId, workflowId, limit }: Deletion): Promise<number> {
  // Locked first: whatever begins to use one of them is seen by the next statement, or finds no template.
  const ids = await scalars<string>(tx)`
    select id from templates where project_id = ${projectId} and workflow_id = ${workflowId} order by id limit ${limit} for update
  `
  if (!ids.length) return 0
  await sql`
    update templates t set workflow_id = null
    where t.project_id = ${projectId} and t.id = any(${ids}::uuid[]) and (
      exists (
        select from campaigns c
        where c.project_id = t.project_id and c.template_id = t.id and c.status in ('DRAFT', 'SCHEDULED', 'SENDING'))
      or exists (${workflowsUsingSql({ projectId, kind: 'templates', id: sql`t.id`, limit: 1 })}))
  `.execute(tx)
  await sql`
    delete from template_versions v using templates t
    where t.project_id = ${projectId} and t.id = any(${ids}::uuid[]) and t.workflow_id = ${workflowId}
      and v.project_id = t.project_id and v.template_id = t.id
  `.execute(tx)
  await sql`delete from templates where project_id = ${projectId} and id = any(${ids}::uuid[]) and workflow_id = ${workflowId}`.execute(tx)
  return ids.length
}
