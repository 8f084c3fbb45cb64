import { z } from 'zod'
import { transact } from '../db/index.ts'
import { NO_KEYS } from '../http/declaration.ts'
import { routesOf } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { fail } from '../lib/errors.ts'
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
      description: 'The project, and the person that invites to it. Changes nothing.',
      body: z.object({ token: Token }),
      response: ShownInvitation,
      refusals: ['INVALID_TOKEN'],
    },
    async (req) => {
      const attempt = { scope: 'token', subject: networkOf(req.ip) } as const
      await attempts.take(attempt)
      const invitation = (await findInvitation(db, port, req.body.token)) ?? fail('INVALID_TOKEN')
      await attempts.refund(attempt)
      return invitation
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
