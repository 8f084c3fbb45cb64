import { createHash } from 'node:crypto'
import type { Tx } from '../../db/index.ts'
import { lowestId } from '../../lib/id.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { DAY, KB } from '../../lib/text/units.ts'
import { findReturnPath } from '../message/return-path.ts'
import { readReport } from './dsn.ts'
import type { InboundMessage, InboundOutcome } from './inbound-message.ts'
import { type ReportedEmail, storeAndApplyReport } from './reports/report.ts'

/** Bytes of the message that are stored with its report. */
const MAX_STORED = 64 * KB
/**
 * Age of an email up to which reports about it count. Its return path is in its source, which may end up in a public archive, and anybody who
 * reads it there can complain. Receivers report bounces within days, and complaints within weeks.
 */
const REPORTABLE_DAYS = 60

/** Applies a message to the signed return path of an email. The signature proves which email it is about. */
export async function applyInboundReport(
  tx: Tx,
  { parsed, sender, message }: InboundMessage,
  { projectId, emailId }: ReportedEmail,
): Promise<InboundOutcome> {
  if (emailId < lowestId(new Date(Date.now() - REPORTABLE_DAYS * DAY))) return 'ignored'
  const findings = readReport(parsed, sender)
  if (!findings) return 'ignored'
  const report = { ...findings, email: { projectId, emailId } }
  const stored = message.subarray(0, MAX_STORED).toString().replaceAll('\0', '')
  return (await storeAndApplyReport(tx, { id: reportId(report), message: stored, report })) ? 'reported' : 'ignored'
}

/**
 * Applies a report that was sent to any other address. Anybody can write one, so only a complaint counts, and only when it quotes the signed
 * return path of the email it is about.
 */
export async function applyQuotedReport(tx: Tx, secrets: Secrets, inbound: InboundMessage): Promise<InboundOutcome> {
  const { report } = inbound.parsed
  if (report?.is !== 'feedback-report') return 'ignored'
  const email = await findReturnPath(tx, secrets, `${report.fields}\n${report.original}`)
  return email ? applyInboundReport(tx, inbound, email) : 'ignored'
}

/** The same for a repeated report. */
const reportId = (content: object) => `smtp:${createHash('sha256').update(JSON.stringify(content)).digest('hex')}`
