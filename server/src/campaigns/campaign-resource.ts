import type { FastifyContextConfig } from 'fastify'
import { z } from 'zod'
import type { Db } from '../db/index.ts'
import type { App } from '../http/core/types.ts'
import { resource } from '../http/resource.ts'
import { getCampaign } from './draft/campaign.ts'

const CampaignParam = z.object({ id: z.string() })

/** Routes below `/campaigns/:id`. */
export const campaignResource = (app: App, db: Db, refusals: FastifyContextConfig['refusals'] = []) =>
  resource(app, {
    tags: ['Campaigns'],
    caller: 'project',
    role: 'MEMBER',
    scope: 'campaigns',
    read: true,
    refusals,
    params: CampaignParam,
    find: (req, { id }) => getCampaign(db, { projectId: req.project.id, id }),
  })
