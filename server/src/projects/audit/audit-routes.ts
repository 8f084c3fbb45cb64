import { z } from 'zod'
import { cursorList } from '../../http/core/paging.ts'
import type { Deps } from '../../http/core/types.ts'
import type { PersonRoutes } from '../../http/resource.ts'
import { sendCsv } from '../csv/csv-export-routes.ts'
import { AuditQuery, listAuditEntries, ProjectAuditEntry, streamAuditEntries } from './audit.ts'

export function auditRoutes({ db, secrets, byAdmin }: Pick<Deps, 'db' | 'secrets'> & { byAdmin: PersonRoutes }) {
  byAdmin.get(
    '/projects/:id/audit',
    {
      summary: 'List who changed what, newest first',
      description:
        'Every change but tracked events, sent emails, and contacts and members of segments that were changed by an API key. Kept for 400 days. ' +
        'With `format=csv` the answer is a CSV file of all entries.',
      querystring: AuditQuery,
      response: {
        200: {
          description: 'A page of entries, or a CSV file.',
          content: { 'application/json': { schema: cursorList(ProjectAuditEntry) }, 'text/csv': { schema: z.string() } },
        },
      },
      refusals: ['BAD_REQUEST'],
      slowRead: true,
    },
    async (req, reply) => {
      if (req.query.format !== 'csv') return listAuditEntries(db, secrets, req.project.id, req.query)
      return sendCsv(reply, 'audit', streamAuditEntries(db, req.project.id, req.query))
    },
  )
}
