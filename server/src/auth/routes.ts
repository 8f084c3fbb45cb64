import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { accountEmailDeps } from '../account-emails/account-email.ts'
import { type Db, maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { refuseForeign } from '../http/auth/cross-site.ts'
import { type Caller, NO_KEYS, type RouteDeclaration } from '../http/auth/declaration.ts'
import { findSession, readSessionCookie } from '../http/auth/session-cookie.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Address, Timestamp } from '../http/core/validate.ts'
import { createQuotaCounter } from '../http/limits/quotas.ts'
import { NO_CONTENT, routesOf } from '../http/resource.ts'
import { fail, notFound } from '../lib/errors/errors.ts'
import { networkOf } from '../lib/network/network.ts'
import { isInvited } from '../projects/members.ts'
import { lockPassword, signUp } from './accounts.ts'
import { checkClaim, MAX_CLAIM_CODE } from './claim-code.ts'
import { invitationRoutes } from './invitation-routes.ts'
import { logIn } from './login.ts'
import { Done, passwordRoutes, Token } from './password-routes.ts'
import { createPasswords, GivenPassword, NewPassword } from './passwords.ts'
import {
  clearSessionCookie,
  closeOtherSessions,
  closeSession,
  closeSessionById,
  listSessions,
  openSession,
  SessionView,
  setSessionCookie,
} from './sessions.ts'

const SignedIn = Done.extend({ id: z.uuid(), email: z.string() })
const SignUp = z.object({
  email: Address,
  password: NewPassword,
  invitation: Token.optional(),
  claimCode: z
    .string()
    .max(MAX_CLAIM_CODE)
    .optional()
    .describe('For the first account of an installation that others can reach: it is in the log of every node.'),
})
const UserView = z
  .object({
    id: z.uuid(),
    email: z.string(),
    emailVerified: z.boolean(),
    operator: z.boolean().describe('Looks after this installation: may call `GET /doctor`.'),
    createdAt: Timestamp,
  })
  .meta({ id: 'User' })

async function readUser(db: Db, userId: string) {
  const user = await maybeOne<z.output<typeof UserView>>(db)`
    select id, email, email_verified_at is not null as "emailVerified", operator, created_at as "createdAt" from users where id = ${userId}
  `
  return user ?? fail('UNAUTHORIZED')
}

export function authRoutes(app: App, deps: Deps, passwords = createPasswords()) {
  const { db, secrets, config } = deps
  const { publicUrl } = config
  const port = accountEmailDeps(deps)
  const attempts = createQuotaCounter(db, secrets)
  const findUser = (userId: string) => readUser(db, userId)
  const of = (caller: Caller) => routesOf(app, { tags: ['Accounts'], caller, role: null, ...NO_KEYS, audit: null })
  const [anyone, visitor, session] = [of('anyone'), of('visitor'), of('session')]

  visitor.post(
    '/auth/signup',
    {
      summary: 'Create an account and sign in',
      body: SignUp,
      response: SignedIn,
      refusals: ['CONFLICT', 'CLAIM_CODE_REQUIRED'],
    },
    async (req, reply) => {
      const { email, password, invitation, claimCode } = req.body
      const network = networkOf(req.ip)
      await attempts.take({ scope: 'signup', subject: network })
      const mayJoin =
        !config.signupsDisabled || (invitation && (await transact(db, (tx) => isInvited(tx, port, { token: invitation, email }))))
      if (!mayJoin) fail('FORBIDDEN', { message: 'Sign-up is disabled. Ask for an invitation.' })
      await checkClaim({ db, secrets, config, attempts }, { code: claimCode, network })
      const passwordHash = await passwords.hashPassword(password)
      const { user, token } = await transact(db, async (tx) => {
        const user = await signUp(tx, port, { email, passwordHash, invitation })
        await endCurrentSession(tx, req)
        return { user, token: await openSession(tx, secrets, { userId: user.id, req }) }
      })
      setSessionCookie(reply, publicUrl, token)
      return { success: true as const, ...user }
    },
  )

  visitor.post(
    '/auth/login',
    {
      summary: 'Sign in',
      body: z.object({ email: Address, password: GivenPassword }),
      response: SignedIn,
      refusals: ['INVALID_CREDENTIALS'],
    },
    async (req, reply) => {
      const { id, email, hash } = await logIn({ db, attempts, passwords }, { ...req.body, network: networkOf(req.ip) })
      const token = await transact(db, async (tx) => {
        await lockPassword(tx, id, hash)
        await endCurrentSession(tx, req)
        return openSession(tx, secrets, { userId: id, req })
      })
      setSessionCookie(reply, publicUrl, token)
      return { success: true as const, id, email }
    },
  )

  anyone.get(
    '/auth/logout',
    // A HEAD request must change nothing.
    { summary: 'Sign out', response: Done, refusals: ['FORBIDDEN'], exposeHeadRoute: false },
    async (req, reply) => {
      refuseForeign(req, publicUrl)
      await transact(db, (tx) => endCurrentSession(tx, req))
      clearSessionCookie(reply, publicUrl)
      return { success: true as const }
    },
  )

  /** Ends the session of the request's cookie, whichever user it belongs to. */
  async function endCurrentSession(tx: Tx, req: FastifyRequest) {
    const token = readSessionCookie(req, publicUrl)
    if (token) await closeSession(tx, secrets.hashes('session', token))
  }

  visitor.get(
    '/auth/session',
    {
      summary: 'Get the current user, if signed in',
      description: 'For pages that anyone may open: not being signed in is no error here.',
      response: z.object({ user: UserView.nullable() }),
    },
    async (req) => {
      const person = await findSession(req, deps)
      return { user: person ? await findUser(person.userId) : null }
    },
  )

  anyone.get(
    '/auth/oauth-config',
    {
      summary: 'List configured OAuth providers',
      response: z.object({ github: z.boolean(), google: z.boolean(), oidc: z.boolean() }),
    },
    () => ({ github: false, google: false, oidc: false }),
  )

  passwordRoutes(app, deps, { passwords, port, attempts, findUser })
  invitationRoutes(app, deps, { port, attempts, findUser })

  session.get('/users/@me', { summary: 'Get the current user', response: UserView }, (req) => findUser(req.person.userId))

  sessionRoutes(session, db)
}

function sessionRoutes(session: ReturnType<typeof routesOf<RouteDeclaration>>, db: Pool) {
  session.get('/users/@me/sessions', { summary: 'List your sessions', response: z.array(SessionView) }, (req) =>
    listSessions(db, req.person),
  )

  session.delete(
    '/users/@me/sessions/:sessionId',
    { summary: 'End one of your sessions', params: z.object({ sessionId: z.string() }), response: NO_CONTENT },
    async (req, reply) => {
      const ended = await transact(db, (tx) => closeSessionById(tx, req.person, req.params.sessionId))
      return ended ? reply.status(204).send(null) : notFound('session', req.params.sessionId)
    },
  )

  session.delete(
    '/users/@me/sessions',
    { summary: 'End all your other sessions', response: z.object({ endedCount: z.int() }) },
    async (req) => ({ endedCount: await transact(db, (tx) => closeOtherSessions(tx, req.person)) }),
  )
}
