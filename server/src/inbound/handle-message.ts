import type { Tx } from '../db/index.ts'
import type { InboundMessage, InboundOutcome } from '../delivery/feedback/inbound-message.ts'
import { applyInboundReport, applyQuotedReport } from '../delivery/feedback/inbound-report.ts'
import { recordInboundEmail } from '../delivery/feedback/record-inbound.ts'
import { checkLockedCaps, lockCaps } from '../projects/caps.ts'
import { findRecipient, type InboundRecipient, type Installation } from './recipient.ts'

/** Dispatches a message for each of its recipients. Returns the outcomes for the log. */
export async function handleMessage(tx: Tx, installation: Installation, recipients: string[], inbound: InboundMessage) {
  const found: (InboundRecipient | undefined)[] = []
  // Consistent lock order for two messages about the same emails: avoids deadlocks.
  for (const address of recipients.toSorted()) found.push(await findRecipient(tx, installation, address))
  // Before the rows of any recipient.
  const capped = await lockCaps(tx, found.flatMap(projectsOf), 'inbound')
  const outcomes: InboundOutcome[] = []
  for (const recipient of found) outcomes.push(recipient ? await dispatch(tx, installation, recipient, inbound, capped) : 'ignored')
  return outcomes
}

const projectsOf = (recipient: InboundRecipient | undefined) => (recipient?.is === 'project' ? [recipient.projectId] : [])

async function dispatch(
  tx: Tx,
  { secrets }: Installation,
  recipient: InboundRecipient,
  inbound: InboundMessage,
  capped: string[],
): Promise<InboundOutcome> {
  if (recipient.is === 'return-path') return applyInboundReport(tx, inbound, recipient)
  if (recipient.is === 'project' && recipient.isDisabled) throw new Error('the project was disabled while the message arrived')
  if (inbound.parsed.report) return applyQuotedReport(tx, secrets, inbound)
  return recipient.is === 'project' ? receive(tx, inbound, recipient, capped) : 'ignored'
}

/** Checked again: a client may name many recipients before their messages are counted. */
async function receive(tx: Tx, inbound: InboundMessage, recipient: { projectId: string; address: string }, capped: string[]) {
  const { projectId } = recipient
  const wanted = capped.includes(projectId) ? [{ projectId, emails: 1 }] : []
  const [refusal] = await checkLockedCaps(tx, 'inbound', wanted, capped)
  if (refusal) throw refusal
  return recordInboundEmail(tx, inbound, recipient)
}
