import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Db } from '../db/index.ts'
import type { App } from '../http/core/types.ts'
import { resource } from '../http/resource.ts'
import { getWorkflow } from './definition/workflow.ts'

const WorkflowParam = z.object({ id: z.string() })

/** Description of reads that show steps. */
export const SECRETS_MASKED =
  'To a key without the scope `workflows`, the values of headers of WEBHOOK steps and the query of their address read `•••`.'

/** Routes below `/workflows/:id`. */
export const workflowResource = (app: App, db: Db, refusals: FastifyContextConfig['refusals'] = []) =>
  resource(app, {
    tags: ['Workflows'],
    caller: 'project',
    role: 'MEMBER',
    scope: 'workflows',
    read: true,
    refusals,
    params: WorkflowParam,
    find: (req, { id }) => getWorkflow(db, { projectId: req.project.id, id }),
  })

/** For changes of a graph: the key or the person that makes them. */
export const editorOf = (req: FastifyRequest) => ({ caller: req.project, savedBy: req.person?.userId })
