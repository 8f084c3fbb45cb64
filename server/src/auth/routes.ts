import type { FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { maybeOne, one, type Tx, transact } from '../db/index.ts'
import { refuseForeign } from '../http/auth/cross-site.ts'
import { readSessionCookie } from '../http/auth/session-cookie.ts'
import { createQuotaCounter } from '../http/limits/quotas.ts'
import type { App, Deps } from '../http/server.ts'
import { Address, Timestamp } from '../http/validate.ts'
import { sendsAccountEmails } from '../lib/config.ts'
import { fail, notFound } from '../lib/errors.ts'
import { networkOf } from '../lib/network/network.ts'
import { isInvited } from '../projects/members.ts'
import {
  joinByInvitation,
  lockPassword,
  resetPassword,
  sendReset,
  sendVerification,
  setPassword,
  signUp,
  type User,
  verifyEmail,
} from './accounts.ts'
import { logIn } from './login.ts'
import { createPasswords, GivenPassword, NewPassword } from './passwords.ts'
import {
  clearSessionCookie,
  closeOtherSessions,
  closeSession,
  closeSessionById,
  findUserOfSession,
  listSessions,
  openSession,
  SessionView,
  setSessionCookie,
} from './sessions.ts'

const Token = z.string().min(1).max(200)
const Done = z.object({ success: z.literal(true) })
const SignedIn = Done.extend({ id: z.uuid(), email: z.string() })
const UserView = z
  .object({
    id: z.uuid(),
    email: z.string(),
    emailVerified: z.boolean(),
    operator: z.boolean().describe('Looks after this installation: may call `GET /doctor`.'),
    createdAt: Timestamp,
  })
  .meta({ id: 'User' })
const RESET_RESPONSE_MS = 150

type UserRow = User & { verified: boolean; operator: boolean; createdAt: Date }

const showUser = ({ id, email, verified, operator, createdAt }: UserRow): z.output<typeof UserView> => ({
  id,
  email,
  emailVerified: verified,
  operator,
  createdAt: createdAt.toISOString(),
})

export function authRoutes(app: App, { db, secrets, log, config }: Deps, passwords = createPasswords()) {
  const { publicUrl } = config
  const { hashPassword, isPassword } = passwords
  const port = { secrets, log, publicUrl, isDelivered: sendsAccountEmails(config) }
  const attempts = createQuotaCounter(db, secrets)
  const tags = ['Accounts']

  app.post(
    '/auth/signup',
    {
      config: { caller: 'visitor', refusals: ['CONFLICT'] },
      schema: {
        tags,
        summary: 'Create an account and sign in',
        body: z.object({ email: Address, password: NewPassword, invitation: Token.optional() }),
        response: { 200: SignedIn },
      },
    },
    async (req, reply) => {
      const { email, password, invitation } = req.body
      await attempts.take({ scope: 'signup', subject: networkOf(req.ip) })
      if (config.signupsDisabled) await requireInvitation(email, invitation)
      const passwordHash = await hashPassword(password)
      const { user, token } = await transact(db, async (tx) => {
        const user = await signUp(tx, port, { email, passwordHash, invitation })
        await endCurrentSession(tx, req)
        return { user, token: await openSession(tx, secrets, { userId: user.id, req }) }
      })
      setSessionCookie(reply, publicUrl, token)
      return { success: true as const, ...user }
    },
  )

  async function requireInvitation(email: string, token: string | undefined) {
    const invited = token !== undefined && (await transact(db, (tx) => isInvited(tx, port, { token, email })))
    if (!invited) fail('FORBIDDEN', { message: 'Sign-up is disabled. Ask for an invitation.' })
  }

  app.post(
    '/auth/login',
    {
      config: { caller: 'visitor', refusals: ['INVALID_CREDENTIALS'] },
      schema: { tags, summary: 'Sign in', body: z.object({ email: Address, password: GivenPassword }), response: { 200: SignedIn } },
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

  app.get(
    '/auth/logout',
    // A HEAD request must change nothing.
    {
      config: { caller: 'anyone', refusals: ['FORBIDDEN'] },
      exposeHeadRoute: false,
      schema: { tags, summary: 'Sign out', response: { 200: Done } },
    },
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

  app.get(
    '/auth/session',
    {
      config: { caller: 'visitor' },
      schema: {
        tags,
        summary: 'Get the current user, if signed in',
        description: 'For pages that anyone may open: not being signed in is no error here.',
        response: { 200: z.object({ user: UserView.nullable() }) },
      },
    },
    async (req) => ({ user: (await findSignedIn(req)) ?? null }),
  )

  async function findSignedIn(req: FastifyRequest) {
    const token = readSessionCookie(req, publicUrl)
    const userId = token && (await findUserOfSession(db, secrets.hashes('session', token)))
    return userId ? showUser(await findUser(userId)) : undefined
  }

  app.get(
    '/auth/oauth-config',
    {
      config: { caller: 'anyone' },
      schema: {
        tags,
        summary: 'List configured OAuth providers',
        response: { 200: z.object({ github: z.boolean(), google: z.boolean(), oidc: z.boolean() }) },
      },
    },
    () => ({ github: false, google: false, oidc: false }),
  )

  app.post(
    '/auth/verify-email',
    {
      config: { caller: 'visitor' },
      schema: { tags, summary: 'Verify an email address', body: z.object({ token: Token }), response: { 200: Done } },
    },
    async (req) => {
      await attempts.take({ scope: 'token', subject: networkOf(req.ip) })
      await transact(db, (tx) => verifyEmail(tx, port, req.body.token))
      return { success: true as const }
    },
  )

  app.post(
    '/auth/request-verification',
    { config: { caller: 'session' }, schema: { tags, summary: 'Resend the verification email', response: { 200: Done } } },
    async (req) => {
      const user = await findUser(req.person.userId)
      if (user.verified) return { success: true as const }
      await attempts.take({ scope: 'verification', subject: user.id })
      await transact(db, (tx) => sendVerification(tx, port, user))
      return { success: true as const }
    },
  )

  app.post(
    '/auth/request-password-reset',
    {
      config: { caller: 'visitor' },
      schema: {
        tags,
        summary: 'Request a password reset',
        description: 'Responds the same whether or not the address has an account.',
        body: z.object({ email: Address }),
        response: { 200: Done },
      },
    },
    async (req) => {
      await attempts.take({ scope: 'reset-ip', subject: networkOf(req.ip) })
      // Constant response time: otherwise it would reveal whether the address has an account.
      await Promise.all([sendResetUnlessLimited(req.body.email), new Promise((resolve) => setTimeout(resolve, RESET_RESPONSE_MS))])
      return { success: true as const }
    },
  )

  async function sendResetUnlessLimited(email: string) {
    const wait = await attempts.count({ scope: 'reset', subject: email })
    if (!wait) await transact(db, (tx) => sendReset(tx, port, email))
  }

  app.post(
    '/auth/reset-password',
    {
      config: { caller: 'visitor' },
      schema: {
        tags,
        summary: 'Reset a password',
        body: z.object({ token: Token, password: NewPassword }),
        response: { 200: Done },
      },
    },
    async (req) => {
      await attempts.take({ scope: 'token', subject: networkOf(req.ip) })
      const passwordHash = await hashPassword(req.body.password)
      await transact(db, (tx) => resetPassword(tx, port, { token: req.body.token, passwordHash }))
      return { success: true as const }
    },
  )

  app.post(
    '/auth/change-password',
    {
      config: { caller: 'session' },
      schema: {
        tags,
        summary: 'Change your password',
        description: 'Signs out all other sessions.',
        body: z.object({ currentPassword: GivenPassword, password: NewPassword }),
        response: { 200: Done },
      },
    },
    async (req, reply) => {
      const { userId } = req.person
      await attempts.take({ scope: 'change-password', subject: userId })
      const { hash } = await one(db, sql<{ hash: string }>`select password_hash as hash from users where id = ${userId}`)
      if (!(await isPassword(hash, req.body.currentPassword))) fail('INVALID_CREDENTIALS', { message: 'The current password is wrong.' })
      const passwordHash = await hashPassword(req.body.password)
      const token = await transact(db, async (tx) => {
        await lockPassword(tx, userId, hash)
        await setPassword(tx, userId, passwordHash)
        return openSession(tx, secrets, { userId, req })
      })
      setSessionCookie(reply, publicUrl, token)
      return { success: true as const }
    },
  )

  app.post(
    '/auth/accept-invitation',
    {
      config: { caller: 'session' },
      schema: {
        tags,
        summary: 'Accept an invitation',
        body: z.object({ token: Token }),
        response: { 200: Done.extend({ projectId: z.uuid() }) },
      },
    },
    async (req) => {
      const user = await findUser(req.person.userId)
      const { projectId } = await transact(db, (tx) => joinByInvitation(tx, port, { token: req.body.token, user }))
      return { success: true as const, projectId }
    },
  )

  app.get(
    '/users/@me',
    { config: { caller: 'session' }, schema: { tags, summary: 'Get the current user', response: { 200: UserView } } },
    async (req) => showUser(await findUser(req.person.userId)),
  )

  app.get(
    '/users/@me/sessions',
    { config: { caller: 'session' }, schema: { tags, summary: 'List your sessions', response: { 200: z.array(SessionView) } } },
    (req) => listSessions(db, req.person),
  )

  app.delete(
    '/users/@me/sessions/:sessionId',
    {
      config: { caller: 'session' },
      schema: {
        tags,
        summary: 'End one of your sessions',
        params: z.object({ sessionId: z.string() }),
        response: { 204: z.null().describe('No content') },
      },
    },
    async (req, reply) => {
      const ended = await transact(db, (tx) => closeSessionById(tx, req.person, req.params.sessionId))
      return ended ? reply.status(204).send(null) : notFound('session', req.params.sessionId)
    },
  )

  app.delete(
    '/users/@me/sessions',
    {
      config: { caller: 'session' },
      schema: { tags, summary: 'End all your other sessions', response: { 200: z.object({ endedCount: z.int() }) } },
    },
    async (req) => ({ endedCount: await transact(db, (tx) => closeOtherSessions(tx, req.person)) }),
  )

  async function findUser(userId: string) {
    const user = await maybeOne(
      db,
      sql<UserRow>`
        select id, email, email_verified_at is not null as verified, operator, created_at as "createdAt" from users where id = ${userId}
      `,
    )
    return user ?? fail('UNAUTHORIZED')
  }
}
