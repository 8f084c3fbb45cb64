import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { scalar, transact } from '../db/index.ts'
import { NO_KEYS } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Address } from '../http/core/validate.ts'
import type { createQuotaCounter } from '../http/limits/quotas.ts'
import { routesOf } from '../http/resource.ts'
import { fail } from '../lib/errors/errors.ts'
import { networkOf } from '../lib/network/network.ts'
import { readTransport } from '../nodes/instance.ts'
import { lockPassword, markVerified, resetPassword, sendReset, sendVerification, setPassword, type User, verifyEmail } from './accounts.ts'
import { type createPasswords, GivenPassword, NewPassword } from './passwords.ts'
import { openSession, setSessionCookie } from './sessions.ts'

export const Token = z.string().min(1).max(200)
export const Done = z.object({ success: z.literal(true) })
const RESET_RESPONSE_MS = 150

export type AccountParts = {
  passwords: ReturnType<typeof createPasswords>
  port: Parameters<typeof sendReset>[1]
  attempts: ReturnType<typeof createQuotaCounter>
  findUser: (userId: string) => Promise<User & { emailVerified: boolean; operator: boolean }>
}

/** Verified addresses, and passwords that are reset or changed. */
export function passwordRoutes(
  app: App,
  { db, secrets, config: { publicUrl, transportKind } }: Deps,
  { passwords, port, attempts, findUser }: AccountParts,
) {
  const visitor = routesOf(app, { tags: ['Accounts'], caller: 'visitor', role: null, ...NO_KEYS, audit: null })
  const session = routesOf(app, { tags: ['Accounts'], caller: 'session', role: null, ...NO_KEYS, audit: null })
  const { hashPassword, isPassword } = passwords

  visitor.post(
    '/auth/verify-email',
    { summary: 'Verify an email address', body: z.object({ token: Token }), response: Done },
    async (req) => {
      await attempts.take({ scope: 'token', subject: networkOf(req.ip) })
      await transact(db, (tx) => verifyEmail(tx, port, req.body.token))
      return { success: true as const }
    },
  )

  session.post('/auth/request-verification', { summary: 'Resend the verification email', response: Done }, async (req) => {
    const user = await findUser(req.person.userId)
    if (user.emailVerified) return { success: true as const }
    await attempts.take({ scope: 'verification', subject: user.id })
    await transact(db, (tx) => sendVerification(tx, port, user))
    return { success: true as const }
  })

  session.post(
    '/auth/confirm-address',
    {
      summary: 'Verify your own email address without a link',
      description:
        'For the operator of an installation in the sandbox, which sends no account emails. Others verify by the link of the email.',
      response: Done,
      refusals: ['FORBIDDEN'],
    },
    async (req) => {
      const user = await findUser(req.person.userId)
      const transport = transportKind ?? (await readTransport(db))
      // An operator can read the link on the command line. For anyone else it would prove nothing, and invitations trust the proof.
      if (!user.operator || transport !== 'sandbox')
        fail('FORBIDDEN', { message: 'Only an operator in the sandbox may do this. Use the link in the email.' })
      await transact(db, (tx) => markVerified(tx, user))
      return { success: true as const }
    },
  )

  visitor.post(
    '/auth/request-password-reset',
    {
      summary: 'Request a password reset',
      description: 'Responds the same whether or not the address has an account.',
      body: z.object({ email: Address }),
      response: Done,
    },
    async (req) => {
      await attempts.take({ scope: 'reset-ip', subject: networkOf(req.ip) })
      // Constant response time: otherwise it would reveal whether the address has an account.
      await Promise.all([sendResetUnlessLimited(req.body.email), sleep(RESET_RESPONSE_MS)])
      return { success: true as const }
    },
  )

  async function sendResetUnlessLimited(email: string) {
    const wait = await attempts.count({ scope: 'reset', subject: email })
    if (!wait) await transact(db, (tx) => sendReset(tx, port, email))
  }

  visitor.post(
    '/auth/reset-password',
    { summary: 'Reset a password', body: z.object({ token: Token, password: NewPassword }), response: Done },
    async (req) => {
      await attempts.take({ scope: 'token', subject: networkOf(req.ip) })
      const passwordHash = await hashPassword(req.body.password)
      await transact(db, (tx) => resetPassword(tx, port, { token: req.body.token, passwordHash }))
      return { success: true as const }
    },
  )

  session.post(
    '/auth/change-password',
    {
      summary: 'Change your password',
      description: 'Signs out all other sessions.',
      body: z.object({ currentPassword: GivenPassword, password: NewPassword }),
      response: Done,
    },
    async (req, reply) => {
      const { userId } = req.person
      await attempts.take({ scope: 'change-password', subject: userId })
      const hash = await scalar<string>(db)`select password_hash from users where id = ${userId}`
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
}
