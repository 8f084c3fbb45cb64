import { type Db, scalars } from '../../db/index.ts'
import type { CallingProject } from '../../http/auth/key-lookup.ts'
import { requireScope, requireSenderDomain } from '../../http/auth/scopes.ts'
import type { GraphStep } from './graph.ts'
import { readGraph, type WorkflowRow } from './workflow.ts'

/** Refuses a key that may not send what the workflow sends. */
export async function assertMaySend(db: Db, caller: CallingProject, workflow: WorkflowRow) {
  requireScope(caller, 'send')
  if (caller.senderDomains !== null) await assertOwnDomains(db, caller, (await readGraph(db, workflow)).steps)
}

/** Refuses a key that may not send what these steps of an enabled workflow send. */
export async function assertMaySendSteps(db: Db, caller: CallingProject, steps: GraphStep[]) {
  if (!steps.some(({ templateId }) => templateId)) return
  requireScope(caller, 'send')
  await assertOwnDomains(db, caller, steps)
}

async function assertOwnDomains(db: Db, caller: CallingProject, steps: GraphStep[]) {
  if (caller.senderDomains === null) return
  const templates = steps.flatMap(({ templateId }) => templateId ?? [])
  const senders = await scalars<string | null>(db)`
    select from_address from templates where project_id = ${caller.id} and id = any(${templates}::uuid[])
  `
  for (const from of senders) requireSenderDomain(caller, from)
}
