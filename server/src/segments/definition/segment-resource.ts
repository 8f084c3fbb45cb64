import { z } from 'zod'
import type { Db } from '../../db/index.ts'
import { SENDS_NOTHING } from '../../http/auth/declaration.ts'
import type { App } from '../../http/core/types.ts'
import { resource } from '../../http/resource.ts'
import { getSegment } from './segment.ts'

export const SegmentParam = z.object({ id: z.string() })

/** Routes below `/segments/:id`. */
export const segmentResource = (app: App, db: Db) =>
  resource(app, {
    tags: ['Segments'],
    caller: 'project',
    role: 'MEMBER',
    scope: 'contacts',
    read: true,
    ...SENDS_NOTHING,
    params: SegmentParam,
    find: (req, { id }) => getSegment(db, req.project.id, id),
  })
