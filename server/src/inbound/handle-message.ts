import type { Tx } from '../db/index.ts'
import type { InboundMessage, InboundOutcome } from '../delivery/feedback/inbound-message.ts'
import { applyInboundReport, applyQuotedReport } from '../delivery/feedback/inbound-report.ts'
import { recordInboundEmail } from '../delivery/feedback/record-inbound.ts'
import { checkCaps } from '../projects/caps.ts'
import { findRecipient, type InboundRecipient, type Installation } from './recipient.ts'

/** Dispatches a message for each of its recipients. Returns the outcomes for the log. */
export async function handleMessage(tx: Tx, installation: Installation, recipients: string[], inbound: InboundMessage) {
  const outcomes: InboundOutcome[] = []
  // Consistent lock order for two messages about the same emails: avoids deadlocks.
  for (const address of recipients.toSorted()) {
    const recipient = await findRecipient(tx, installation, address)
    outcomes.push(recipient ? await dispatch(tx, installation, recipient, inbound) : 'ignored')
  }
  return outcomes
}

async function dispatch(tx: Tx, { secrets }: Installation, recipient: InboundRecipient, inbound: InboundMessage): Promise<InboundOutcome> {
  if (recipient.is === 'return-path') return applyInboundReport(tx, inbound, recipient)
  if (recipient.is === 'project' && recipient.isDisabled) throw new Error('the project was disabled while the message arrived')
  if (inbound.parsed.report) return applyQuotedReport(tx, secrets, inbound)
  return recipient.is === 'project' ? receive(tx, inbound, recipient) : 'ignored'
}

/** Checked again: a client may name many recipients before their messages are counted. */
async function receive(tx: Tx, inbound: InboundMessage, recipient: { projectId: string; address: string }) {
  const [refusal] = await checkCaps(tx, 'inbound', [{ projectId: recipient.projectId, emails: 1 }])
  if (refusal) throw refusal
  return recordInboundEmail(tx, inbound, recipient)
}
