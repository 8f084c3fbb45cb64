import { sql } from 'kysely'
import { many, type Tx } from '../db/index.ts'
import { findVerified } from '../domains/verified.ts'
import { AppError } from '../lib/errors.ts'
import type { SendCall } from './accept.ts'

/** Billing caps: returns, in order, why a request is refused (402), or undefined. Runs in the transaction that accepts the request. */
export type CheckCaps = (tx: Tx, requests: { projectId: string; emails: number }[]) => Promise<(AppError | undefined)[]>

/** Checked here and again on delivery: a domain may lose its verification at any time. */
export async function refuseUnverified(tx: Tx, calls: SendCall[]) {
  const fromOf = ({ request: { project, content } }: SendCall) => ({ projectId: project.id, address: content.fromAddress })
  const verifiedOf = await findVerified(tx, calls.map(fromOf))
  for (const call of calls) {
    if (verifiedOf(fromOf(call))) continue
    const domain = call.request.content.fromAddress.split('@')[1]!
    call.refusal = new AppError('DOMAIN_NOT_VERIFIED', {
      message: `The domain "${domain}" is not verified for this project.`,
      details: { domain },
    })
  }
}

/**
 * Marketing emails go to subscribers only. Other recipients are skipped, and the timeline says so; a request without any subscriber is
 * refused as a whole, before anything is written. Takes no lock: the subscription is checked again on delivery.
 */
export async function refuseUnsubscribed(tx: Tx, calls: SendCall[]) {
  const unknown = calls.filter(
    ({ refusal, request: { content, subscribed } }) => !refusal && content.type !== 'TRANSACTIONAL' && subscribed === undefined,
  )
  const subscribers = unknown.length ? await findSubscribers(tx, unknown) : new Set<string>()
  const mayReach = ({ request: { project, content, subscribed } }: SendCall, email: string) =>
    content.type === 'TRANSACTIONAL' || (subscribed ?? subscribers.has(`${project.id} ${email}`))
  for (const call of calls) {
    if (!call.refusal && !call.request.recipients.some(({ email }) => mayReach(call, email)))
      call.refusal = new AppError('CONTACT_UNSUBSCRIBED')
  }
  return mayReach
}

async function findSubscribers(tx: Tx, calls: SendCall[]) {
  const recipients = calls.flatMap(({ request }) => request.recipients.map(({ email }) => ({ projectId: request.project.id, email })))
  const rows = await many(
    tx,
    sql<{ name: string }>`
      select c.project_id || ' ' || c.email as name from contacts c
      join jsonb_to_recordset(${JSON.stringify(recipients)}::jsonb) as r("projectId" uuid, email text)
        on c.project_id = r."projectId" and c.email = r.email
      where c.subscribed
    `,
  )
  return new Set(rows.map(({ name }) => name))
}

export async function refuseOverCaps(tx: Tx, calls: SendCall[], checkCaps: CheckCaps) {
  const open = calls.filter(({ refusal }) => !refusal)
  const refusals = await checkCaps(
    tx,
    open.map(({ request: { project, recipients } }) => ({ projectId: project.id, emails: recipients.length })),
  )
  for (const [index, call] of open.entries()) call.refusal = refusals[index]
}
