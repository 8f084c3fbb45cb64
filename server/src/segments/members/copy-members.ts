import { type Pool, scalars, type Tx, transact } from '../../db/index.ts'
import { enqueue, type Jobs } from '../../jobs/enqueue.ts'
import { NIL_ID } from '../../lib/id.ts'
import { addMembers } from './members.ts'

const CHUNK = 5_000

type Copy = Omit<Jobs['segments.copy-members'], 'after'> & { after?: string }

/** Copies the first members of a static segment to a new one; a job copies the rest. */
export async function copyMembers(tx: Tx, { projectId, from, to, after = NIL_ID }: Copy) {
  const contactIds = await scalars<string>(tx)`
    select contact_id from segment_members
    where project_id = ${projectId} and segment_id = ${from} and contact_id > ${after}
    order by contact_id limit ${CHUNK}
  `
  // Undefined: the copy was deleted meanwhile.
  const added = await addMembers(tx, { projectId, segmentId: to, contactIds })
  if (added && contactIds.length === CHUNK) await enqueue(tx, 'segments.copy-members', { projectId, from, to, after: contactIds.at(-1)! })
}

export const continueCopyingMembers = (db: Pool, copy: Jobs['segments.copy-members']) => transact(db, (tx) => copyMembers(tx, copy))
