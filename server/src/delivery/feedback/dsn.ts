import { classify } from '../transport/classify.ts'
import type { EmailReport } from './ses/apply.ts'
import { clean } from './ses/read.ts'

/** The machine-readable part of a report, and the header of the message it is about, if the report contains it. */
export type Report = { is: 'delivery-status' | 'feedback-report' | 'other'; fields: string; original: string }

/** The parts of a received message that say something about the email it answers. */
type ReportMessage = {
  from: { address: string } | null
  text: string | null
  /** By lower-case name. */
  headers: Record<string, string>
  report: Report | null
}

/** What a message to the return path of a mail says of that mail. */
export type ReportFindings = Omit<EmailReport, 'mail'>

/** Undefined when nothing follows from it. `sender` is that of the envelope; bounces have none. */
export function readReport(letter: ReportMessage, sender: string): ReportFindings | undefined {
  const { report } = letter
  if (report?.is === 'delivery-status') return readDeliveryStatus(report)
  if (report?.is === 'feedback-report') return readComplaint(report)
  if (report || isReply(letter)) return undefined
  return readProse(letter, sender)
}

// RFC 3464 -------------------------------------------------------------------------------------------------------------

type Fields = Map<string, string>
const MAX_GROUPS = 50

/** Groups of fields, the first about the report as a whole and one more for each recipient. */
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

/** The first is the least bad. */
const KINDS = ['Delivery', 'DeliveryDelay', 'SoftBounce', 'Bounce'] as const

/**
 * A mail has one recipient. Where a report names several, somebody there passes mail on to others, and only when it failed for all of
 * them for good is the address itself of no use.
 */
function readDeliveryStatus({ fields }: Report): ReportFindings | undefined {
  const told = readFields(fields).flatMap((group) => kindOf(group) ?? [])
  for (const kind of KINDS) {
    const found = told.find((each) => each.kind === kind)
    if (found) return findingsOf(found)
  }
  return undefined
}

type Verdict = { kind: (typeof KINDS)[number]; reason: string }

function kindOf(group: Fields): Verdict | undefined {
  const action = group.get('action')?.toLowerCase().split(/[\s(]/)[0]
  const status = group.get('status') ?? ''
  const diagnosis = group.get('diagnostic-code') ?? ''
  const reason = clean([diagnosis || status || 'no reason given'])
  if (action === 'delivered') return { kind: 'Delivery', reason }
  if (action === 'delayed') return { kind: 'DeliveryDelay', reason }
  if (action === 'failed') return { kind: isForGood(status, diagnosis) ? 'Bounce' : 'SoftBounce', reason }
  return undefined
}

const CODE = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?!\d|\.\d)/
/** Full, too large, too old, disliked, or about us: not about whether there is somebody. */
const MAY_PASS = /^5\.(2\.[23]|3\.\d+|4\.7|5\.\d+|6\.\d+|7\.\d+)$/

function isForGood(status: string, diagnosis: string) {
  const said = CODE.exec(status)?.[0] ?? ''
  // Some only ever say "5.0.0" here, and what they mean there.
  const code = /^[45]\.0\.0$|^$/.test(said) ? (CODE.exec(diagnosis)?.[0] ?? said) : said
  if (!code.startsWith('5')) return false
  return !MAY_PASS.test(code) || saysNobodyIsThere(diagnosis)
}

/** In words, whatever the code. */
function saysNobodyIsThere(diagnosis: string) {
  const response = diagnosis.replace(/^\s*\w+\s*;\s*/, '').slice(0, 1_000)
  const code = Number(/^[45]\d\d\b/.exec(response)?.[0] ?? 550)
  return classify({ is: 'refused', at: 'recipient', code, response }).nobody === true
}

function findingsOf({ kind, reason }: Verdict): ReportFindings {
  if (kind === 'Delivery') return { kind, feedback: { is: 'delivery' } }
  if (kind === 'DeliveryDelay') return { kind, details: { reason } }
  return { kind: 'Bounce', feedback: { is: kind === 'Bounce' ? 'bounce' : 'soft-bounce', reason } }
}

// RFC 5965 -------------------------------------------------------------------------------------------------------------

/** Others say that a mail is no spam, or that a signature was wrong. */
const COMPLAINTS = new Set(['abuse', 'fraud', 'opt-out'])

function readComplaint({ fields }: Report): ReportFindings | undefined {
  const [group] = readFields(fields.trimStart())
  const type = group?.get('feedback-type')?.toLowerCase() ?? ''
  return COMPLAINTS.has(type) ? { kind: 'Complaint', feedback: { is: 'complaint' } } : undefined
}

// Those who write to people --------------------------------------------------------------------------------------------

/** Somebody is away, or a machine has thanked for the mail: it has arrived. */
function isReply({ headers }: ReportMessage) {
  return (
    /^\s*auto-(replied|notified)\b/i.test(headers['auto-submitted'] ?? '') ||
    /^\s*auto_reply\b/i.test(headers.precedence ?? '') ||
    ['x-autoreply', 'x-autorespond', 'x-autorespond-to'].some((name) => Object.hasOwn(headers, name))
  )
}

const MAX_PROSE = 20_000

/** Nobody knows for sure what they say, so it counts as one that may pass. */
function readProse({ from, text }: ReportMessage, sender: string): ReportFindings | undefined {
  const isBounce = sender === '' || /^(mailer-daemon|postmaster)@/i.test(from?.address ?? '')
  const line = isBounce
    ? (text ?? '')
        .slice(0, MAX_PROSE)
        .split('\n')
        .find((each) => FAILURE.test(each))
    : undefined
  return line === undefined ? undefined : findingsOf({ kind: 'SoftBounce', reason: clean([line]) })
}

const FAILURE = /(?<![\d.])[45]\.\d{1,3}\.\d{1,3}(?!\d|\.\d)|\bsaid:? [45]\d\d\b/
