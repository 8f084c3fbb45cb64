import { classify } from '../transport/classify.ts'
import type { MessageReport, ParsedMessage } from './inbound-message.ts'
import { cleanReason } from './reports/reason.ts'
import type { EmailReport } from './reports/report.ts'

type ReportMessage = Pick<ParsedMessage, 'from' | 'text' | 'headers' | 'report'>

/** The statement of a message to the return path of an email about that email. */
export type ReportFindings = Omit<EmailReport, 'email'>

/** `sender` is that of the envelope: empty for bounces. Undefined when the message says nothing about the email. */
export function readReport(message: ReportMessage, sender: string): ReportFindings | undefined {
  const { report } = message
  if (report?.is === 'delivery-status') return readDeliveryStatus(report)
  if (report?.is === 'feedback-report') return readComplaint(report)
  if (report || isAutoReply(message)) return undefined
  return readProse(message, sender)
}

// Delivery status notifications (RFC 3464) -----------------------------------------------------------------------------

type Fields = Map<string, string>
const MAX_GROUPS = 50

/** Groups of fields: the first about the report as a whole, then one per recipient. */
function readFields(text: string): Fields[] {
  const lines = text
    .replace(/\r\n?/g, '\n')
    .replace(/^[ \t]+$/gm, '')
    .replace(/\n[ \t]+/g, ' ')
  const groups = lines.split(/\n{2,}/, MAX_GROUPS)
  return groups.map((group) => new Map(group.split('\n').map((line) => [nameOf(line), line.slice(line.indexOf(':') + 1).trim()])))
}

const nameOf = (line: string) =>
  line
    .slice(0, Math.max(0, line.indexOf(':')))
    .trim()
    .toLowerCase()

/** From best to worst. */
const KINDS = ['Delivery', 'DeliveryDelay', 'SoftBounce', 'Bounce'] as const

type RecipientStatus = { kind: (typeof KINDS)[number]; reason: string }

/**
 * An email has one recipient. A report that names several comes from an address that forwards to others, so the best status counts: the
 * address itself is a hard bounce only when delivery failed permanently for all of them.
 */
function readDeliveryStatus({ fields }: MessageReport): ReportFindings | undefined {
  const statuses = readFields(fields).flatMap((group) => readStatus(group) ?? [])
  for (const kind of KINDS) {
    const best = statuses.find((status) => status.kind === kind)
    if (best) return findingsOf(best)
  }
  return undefined
}

function readStatus(group: Fields): RecipientStatus | undefined {
  const action = group.get('action')?.toLowerCase().split(/[\s(]/)[0]
  const status = group.get('status') ?? ''
  const diagnosis = group.get('diagnostic-code') ?? ''
  const reason = cleanReason([diagnosis || status || 'no reason given'])
  if (action === 'delivered') return { kind: 'Delivery', reason }
  if (action === 'delayed') return { kind: 'DeliveryDelay', reason }
  const recipient = (group.get('final-recipient') ?? '').replace(/^\s*\w+\s*;\s*/, '')
  if (action === 'failed') return { kind: isHardBounce(status, diagnosis, recipient) ? 'Bounce' : 'SoftBounce', reason }
  return undefined
}

const CODE = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?!\d|\.\d)/
/** Codes about the mailbox, the message or the sender (full, too large, too old, rejected), not about whether the address exists. */
const SOFT_CODE = /^5\.(2\.[23]|3\.\d+|4\.7|5\.\d+|6\.\d+|7\.\d+)$/

function isHardBounce(status: string, diagnosis: string, recipient: string) {
  const given = CODE.exec(status)?.[0] ?? ''
  // Some servers always give "5.0.0" as the status, and the actual code in the diagnosis.
  const code = /^[45]\.0\.0$|^$/.test(given) ? (CODE.exec(diagnosis)?.[0] ?? given) : given
  if (!code.startsWith('5')) return false
  return !SOFT_CODE.test(code) || saysUnknownRecipient(diagnosis, recipient)
}

/** By the text of the diagnosis, whatever its code. */
function saysUnknownRecipient(diagnosis: string, recipient: string) {
  const response = diagnosis.replace(/^\s*\w+\s*;\s*/, '').slice(0, 1_000)
  const code = Number(/^[45]\d\d\b/.exec(response)?.[0] ?? 550)
  return classify({ is: 'refused', at: 'recipient', code, response }, recipient).unknownRecipient === true
}

function findingsOf({ kind, reason }: RecipientStatus): ReportFindings {
  if (kind === 'Delivery') return { kind, feedback: { is: 'delivery' } }
  if (kind === 'DeliveryDelay') return { kind, details: { reason } }
  return { kind: 'Bounce', feedback: { is: kind === 'Bounce' ? 'bounce' : 'soft-bounce', reason } }
}

// Complaints (RFC 5965) ------------------------------------------------------------------------------------------------

/** The other feedback types, such as not-spam and auth-failure, are no complaints. */
const COMPLAINTS = new Set(['abuse', 'fraud', 'opt-out'])

function readComplaint({ fields }: MessageReport): ReportFindings | undefined {
  const [group] = readFields(fields.trimStart())
  const type = group?.get('feedback-type')?.toLowerCase() ?? ''
  return COMPLAINTS.has(type) ? { kind: 'Complaint', feedback: { is: 'complaint' } } : undefined
}

// Bounces written for people -------------------------------------------------------------------------------------------

/** An absence note or an automatic acknowledgement: the email has arrived. */
function isAutoReply({ headers }: ReportMessage) {
  return (
    /^\s*auto-(replied|notified)\b/i.test(headers['auto-submitted'] ?? '') ||
    /^\s*auto_reply\b/i.test(headers.precedence ?? '') ||
    ['x-autoreply', 'x-autorespond', 'x-autorespond-to'].some((name) => Object.hasOwn(headers, name))
  )
}

const MAX_PROSE = 20_000

/** Prose cannot be read reliably, so it never counts as more than a soft bounce. */
function readProse({ from, text }: ReportMessage, sender: string): ReportFindings | undefined {
  const isBounce = sender === '' || /^(mailer-daemon|postmaster)@/i.test(from?.address ?? '')
  if (!isBounce) return undefined
  const lines = (text ?? '').slice(0, MAX_PROSE).split('\n')
  const failure = lines.find((line) => FAILURE.test(line))
  return failure === undefined ? undefined : findingsOf({ kind: 'SoftBounce', reason: cleanReason([failure]) })
}

const FAILURE = /(?<![\d.])[45]\.\d{1,3}\.\d{1,3}(?!\d|\.\d)|\bsaid:? [45]\d\d\b/
