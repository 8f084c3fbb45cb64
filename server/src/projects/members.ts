import { sql } from 'kysely'
import { z } from 'zod'
import { type AccountEmailDeps, enqueueAccountEmail } from '../account-emails/account-email.ts'
import { isDuplicate } from '../db/errors/sql-state.ts'
import { type Db, many, maybeOne, scalar, type Tx } from '../db/index.ts'
import { Address, Timestamp } from '../http/core/validate.ts'
import { fail } from '../lib/errors/errors.ts'
import { newId } from '../lib/id.ts'
import { randomToken } from '../lib/secrets.ts'
import { ROLES } from './project.ts'

/** An invitation cannot transfer ownership. */
export const GivenRole = z.enum(['ADMIN', 'MEMBER'])
export const Invite = z.object({ email: Address, role: GivenRole })
export const Member = z.object({ userId: z.uuid(), email: z.string(), role: z.enum(ROLES), createdAt: Timestamp }).meta({ id: 'Member' })
export const Invited = z.object({
  userId: z.uuid().nullable(),
  email: z.string(),
  role: z.enum(ROLES),
  status: z.enum(['MEMBER', 'INVITED']).describe('INVITED: the address has no verified account yet; an invitation was sent to it.'),
  createdAt: Timestamp,
})
export const Invitation = z
  .object({ id: z.uuid(), email: z.string(), role: GivenRole, createdAt: Timestamp, expiresAt: Timestamp })
  .meta({ id: 'Invitation' })

/** The page of an invitation, for the holder of its link. */
export const ShownInvitation = z.object({
  email: z.string().describe('The invited address.'),
  role: GivenRole,
  project: z.object({ name: z.string() }),
  invitedBy: z.object({ email: z.string() }).nullable().describe('Null: the account of the inviter is gone.'),
  expiresAt: Timestamp,
})

const INVITATION_DAYS = 7

type MemberJson = z.output<typeof Member>

export const listMembers = (db: Db, projectId: string) =>
  many<MemberJson>(db)`
    select m.user_id as "userId", u.email, m.role, m.created_at as "createdAt"
    from memberships m join users u on u.id = m.user_id
    where m.project_id = ${projectId}
    order by m.created_at, m.user_id
    limit 1000
  `

export const listInvitations = (db: Db, projectId: string) =>
  many<z.output<typeof Invitation>>(db)`
    select id, email, role, created_at as "createdAt", expires_at as "expiresAt"
    from invitations
    where project_id = ${projectId} and expires_at > now()
    order by created_at, id
    limit 1000
  `

type Invitee = z.output<typeof Invite> & { projectId: string; invitedBy: string }

/** A user with a verified address joins at once. Everyone else gets a link: an unverified account may belong to a stranger. */
export async function inviteMember(tx: Tx, port: AccountEmailDeps, invitee: Invitee): Promise<z.output<typeof Invited>> {
  const account = await maybeOne<{ id: string; verified: boolean }>(tx)`
    select id, email_verified_at is not null as verified from users where email = ${invitee.email}
  `
  if (account && (await isMember(tx, { ...invitee, userId: account.id }))) fail('CONFLICT', { message: 'This person is already a member.' })
  const project = await scalar<string>(tx)`select name from projects where id = ${invitee.projectId}`
  return account?.verified
    ? addMember(tx, port, { ...invitee, userId: account.id, project })
    : sendInvitation(tx, port, { ...invitee, project })
}

export const isMember = (db: Db, { projectId, userId }: { projectId: string; userId: string }) =>
  maybeOne(db)`select 1 from memberships where project_id = ${projectId} and user_id = ${userId}`

async function addMember(
  tx: Tx,
  port: AccountEmailDeps,
  { projectId, userId, email, role, project }: Invitee & { userId: string; project: string },
) {
  const createdAt = await scalar<Date>(tx)`
    insert into memberships (project_id, user_id, role) values (${projectId}, ${userId}, ${role}) returning created_at
  `.catch((err) => (isDuplicate(err) ? fail('CONFLICT', { message: 'This person is already a member.' }) : Promise.reject(err)))
  await sql`delete from invitations where project_id = ${projectId} and email = ${email}`.execute(tx)
  await enqueueAccountEmail(tx, port, {
    to: email,
    subject: `You now have access to ${project}`,
    linkHours: INVITATION_DAYS * 24,
    lines: [
      `You were added to the project "${project}" on Sterna.`,
      '',
      `Open it: ${port.publicUrl}/app/p/${projectId}`,
      '',
      `You did not expect this? Leave the project: ${port.publicUrl}/app/p/${projectId}/team`,
    ],
  })
  return { userId, email, role, status: 'MEMBER' as const, createdAt }
}

async function sendInvitation(
  tx: Tx,
  port: AccountEmailDeps,
  { projectId, email, role, invitedBy, project }: Invitee & { project: string },
) {
  const token = randomToken()
  // Inviting again replaces the link: only the newest works.
  const createdAt = await scalar<Date>(tx)`
    insert into invitations (project_id, id, email, role, invited_by, token_hash, expires_at)
    values (${projectId}, ${newId()}, ${email}, ${role}, ${invitedBy}, ${port.secrets.hash('invitation', token)},
      now() + make_interval(days => ${INVITATION_DAYS}))
    on conflict (project_id, email) do update set
      role = excluded.role, invited_by = excluded.invited_by, token_hash = excluded.token_hash, link_hash = null, expires_at = excluded.expires_at, created_at = now()
    returning created_at
  `
  await enqueueAccountEmail(tx, port, {
    to: email,
    subject: `You are invited to ${project}`,
    linkHours: INVITATION_DAYS * 24,
    lines: [
      `You are invited to the project "${project}" on Sterna.`,
      '',
      `Accept: ${linkOf(port, token, email)}`,
      '',
      `The link works once, for ${INVITATION_DAYS} days.`,
    ],
  })
  return { userId: null, email, role, status: 'INVITED' as const, createdAt }
}

/** Returns the joined project and whether the link was the mailed one, which only the owner of the address got; or undefined. */
export async function acceptInvitation(
  tx: Tx,
  port: AccountEmailDeps,
  { token, userId, email }: { token: string; userId: string; email: string },
) {
  const join = (column: 'token_hash' | 'link_hash') =>
    joinInvited(tx, userId, sql`${sql.ref(column)} = any(${hashesOf(port, token)}) and email = ${email}`)
  const [mailed] = await join('token_hash')
  if (mailed) return { ...mailed, isMailed: true }
  const [copied] = await join('link_hash')
  return copied && { ...copied, isMailed: false }
}

const hashesOf = ({ secrets }: AccountEmailDeps, token: string) => secrets.hashes('invitation', token)

/** Undefined: the token is wrong, was used, or its invitation has expired. */
export const findInvitation = (db: Db, { secrets }: Pick<AccountEmailDeps, 'secrets'>, token: string) => {
  const hashes = secrets.hashes('invitation', token)
  return maybeOne<z.output<typeof ShownInvitation>>(db)`
    select i.email, i.role, jsonb_build_object('name', p.name) as project, i.expires_at as "expiresAt",
      case when u.id is not null then jsonb_build_object('email', u.email) end as "invitedBy"
    from invitations i join projects p on p.id = i.project_id left join users u on u.id = i.invited_by
    where (i.token_hash = any(${hashes}) or i.link_hash = any(${hashes})) and i.expires_at > now() and p.deleted_at is null
  `
}

/**
 * A link to pass on by other means, and the invited address. Replaces the one copied before; the link in the email stays valid.
 * Undefined: no such invitation.
 */
export async function createInvitationLink(
  tx: Tx,
  port: AccountEmailDeps,
  { projectId, invitationId }: { projectId: string; invitationId: string },
): Promise<{ url: string; email: string } | undefined> {
  const token = randomToken()
  const invitation = await maybeOne<{ email: string }>(tx)`
    update invitations set link_hash = ${port.secrets.hash('invitation', token)}
    where project_id = ${projectId} and id = ${invitationId} and expires_at > now()
    returning email
  `
  return invitation && { ...invitation, url: linkOf(port, token, invitation.email) }
}

const linkOf = ({ publicUrl }: AccountEmailDeps, token: string, email: string) =>
  `${publicUrl}/accept-invitation?token=${token}&email=${encodeURIComponent(email)}`

/** To be called once the address is verified. */
export const acceptAllInvitations = (tx: Tx, { userId, email }: { userId: string; email: string }) =>
  joinInvited(tx, userId, sql`email = ${email}`)

const joinInvited = (tx: Tx, userId: string, which: ReturnType<typeof sql>) =>
  many<{ projectId: string }>(tx)`
    with accepted as (
      delete from invitations where (${which}) and expires_at > now() returning project_id, role
    ), joined as (
      insert into memberships (project_id, user_id, role)
      select project_id, ${userId}, role from accepted
      on conflict (project_id, user_id) do nothing
    )
    select accepted.project_id as "projectId" from accepted join projects on projects.id = accepted.project_id where deleted_at is null
  `

/** True if the token would be accepted. Checked before an account is created for it. */
export const isInvited = async (tx: Tx, port: AccountEmailDeps, { token, email }: { token: string; email: string }) =>
  Boolean(
    await maybeOne(tx)`
      select 1 from invitations
      where (token_hash = any(${hashesOf(port, token)}) or link_hash = any(${hashesOf(port, token)})) and email = ${email} and expires_at > now()
    `,
  )

/** Like `removeMember`, it returns undefined for the owner and for unknown users; `isMember` tells them apart. */
export const changeRole = (tx: Tx, { projectId, userId, role }: { projectId: string; userId: string; role: 'ADMIN' | 'MEMBER' }) =>
  maybeOne<MemberJson>(tx)`
    update memberships m set role = ${role} from users u
    where m.project_id = ${projectId} and m.user_id = ${userId} and m.role <> 'OWNER' and u.id = m.user_id
    returning m.user_id as "userId", u.email, m.role, m.created_at as "createdAt"
  `

export const removeMember = (tx: Tx, { projectId, userId }: { projectId: string; userId: string }) =>
  maybeOne(tx)`delete from memberships where project_id = ${projectId} and user_id = ${userId} and role <> 'OWNER' returning user_id`

export const withdrawInvitation = (tx: Tx, { projectId, invitationId }: { projectId: string; invitationId: string }) =>
  maybeOne(tx)`delete from invitations where project_id = ${projectId} and id = ${invitationId} returning id`

export const dropExpiredInvitations = (tx: Tx) => sql`delete from invitations where expires_at < now()`.execute(tx)
