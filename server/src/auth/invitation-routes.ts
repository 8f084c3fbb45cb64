import { z } from 'zod'
import { transact } from '../db/index.ts'
import { NO_KEYS } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { networkOf } from '../lib/network/network.ts'
import { findInvitation, ShownInvitation } from '../projects/members.ts'
import { joinByInvitation } from './accounts.ts'
import { type AccountParts, Done, Token } from './password-routes.ts'

/** Links of invitations, for the person they were sent to. */
export function invitationRoutes(app: App, { db }: Deps, { port, attempts, findUser }: Omit<AccountParts, 'passwords'>) {
  const visitor = routesOf(app, { tags: ['Accounts'], caller: 'visitor', role: null, ...NO_KEYS, audit: null })
  const session = routesOf(app, { tags: ['Accounts'], caller: 'session', role: null, ...NO_KEYS, audit: null })

  visitor.post(
    '/auth/invitation',
    {
      summary: 'Get the invitation of a link',
      description:
        'The project, and the person that invites to it. Changes nothing. For a page that anyone may open: a wrong token is no error.',
      body: z.object({ token: Token }),
      response: z.object({ invitation: ShownInvitation.nullable().describe('Null: wrong, used, withdrawn, replaced or expired.') }),
    },
    async (req) => {
      const attempt = { scope: 'token', subject: networkOf(req.ip) } as const
      await attempts.take(attempt)
      const invitation = await findInvitation(db, port, req.body.token)
      if (invitation) await attempts.refund(attempt)
      return { invitation: invitation ?? null }
    },
  )

  session.post(
    '/auth/accept-invitation',
    {
      summary: 'Accept an invitation',
      body: z.object({ token: Token }),
      audit: 'member.join',
      response: Done.extend({ projectId: z.uuid() }),
    },
    async (req) => {
      const user = await findUser(req.person.userId)
      const { projectId } = await transact(req.db, (tx) => joinByInvitation(tx, port, { token: req.body.token, user }))
      return { success: true as const, projectId }
    },
  )
}
