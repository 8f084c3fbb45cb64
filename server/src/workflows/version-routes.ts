import { z } from 'zod'
import type { App, Deps } from '../http/core/types.ts'
import { notFound } from '../lib/errors/errors.ts'
import { maskedFor } from './definition/masked-steps.ts'
import { findWorkflowVersion, listWorkflowVersions, WorkflowVersion, WorkflowVersionGraph } from './definition/versions.ts'
import { SECRETS_MASKED, workflowResource } from './workflow-resource.ts'

/** A version restored is a version saved: `PUT …/graph` with the steps of an older one. */
export function workflowVersionRoutes(app: App, { db }: Deps) {
  const route = workflowResource(app, db)

  route.get(
    '/workflows/:id/versions',
    {
      summary: 'List the versions of a workflow',
      description: 'Newest first. The last 50 are kept, and those that executions follow.',
      response: z.object({ data: z.array(WorkflowVersion) }),
    },
    async (_req, workflow) => ({ data: await listWorkflowVersions(db, workflow) }),
  )

  route.get(
    '/workflows/:id/versions/:version',
    {
      summary: 'Get the steps of a version',
      description: `To restore it, save its steps and transitions with \`PUT /workflows/{id}/graph\`. ${SECRETS_MASKED}`,
      params: z.object({ id: z.string(), version: z.coerce.number().int().min(1).max(2_147_483_647) }),
      response: WorkflowVersionGraph,
    },
    async (req, workflow) => {
      const { version } = req.params
      return maskedFor(req.project, (await findWorkflowVersion(db, workflow, version)) ?? notFound('version', String(version)))
    },
  )
}
