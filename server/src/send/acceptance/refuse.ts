import type { Tx } from '../../db/index.ts'
import { findSubscribers, needsConsent, type SkipReason, verdict } from '../../delivery/rules/may-send.ts'
import { findVerified, notVerified } from '../../domains/verified.ts'
import { AppError } from '../../lib/errors/errors.ts'
import { checkCaps } from '../../projects/caps.ts'
import type { SendCall } from './accept.ts'

/** Checked here and again on delivery: a domain may lose its verification at any time. */
export async function refuseUnverified(tx: Tx, calls: SendCall[]) {
  const fromOf = ({ request: { project, content } }: SendCall) => ({ projectId: project.id, address: content.fromAddress })
  const verifiedOf = await findVerified(tx, calls.map(fromOf))
  for (const call of calls) if (!verifiedOf(fromOf(call))) call.refusal = notVerified(call.request.content.fromAddress)
}

/** Recipients without consent are skipped, and the timeline says so; a request without any subscriber is refused as a whole, before anything is written. */
export async function refuseUnsubscribed(tx: Tx, calls: SendCall[]) {
  const unknown = calls.filter(
    ({ refusal, request: { content, subscribed, sendAt } }) =>
      !refusal && !sendAt && needsConsent(content.type) && subscribed === undefined,
  )
  const recipients = unknown.flatMap(({ request }) => request.recipients.map(({ email }) => ({ projectId: request.project.id, email })))
  const isSubscriber = await findSubscribers(tx, recipients)
  // The recipient of a scheduled email is asked when it is due.
  const verdictOn = ({ request: { project, content, subscribed, sendAt } }: SendCall, email: string) =>
    sendAt ? undefined : verdict({ subscribed: subscribed ?? isSubscriber({ projectId: project.id, email }) }, content.type)
  for (const call of calls) {
    if (!call.refusal && call.request.recipients.every(({ email }) => verdictOn(call, email)))
      call.refusal = new AppError('CONTACT_UNSUBSCRIBED')
  }
  return verdictOn
}

/** Recipients that are skipped do not count. */
export async function refuseOverCaps(tx: Tx, calls: SendCall[], verdictOn: (call: SendCall, email: string) => SkipReason | undefined) {
  const open = calls.filter(({ refusal }) => !refusal)
  const emailsOf = (call: SendCall) => call.request.recipients.filter(({ email }) => !verdictOn(call, email)).length
  const wanted = open.map((call) => ({ projectId: call.request.project.id, emails: emailsOf(call) }))
  const refusals = await checkCaps(tx, 'transactional', wanted)
  for (const [index, call] of open.entries()) call.refusal = refusals[index]
}
