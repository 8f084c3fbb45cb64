import { bounce, type EmailIds, eventOf } from '../../test/support/servers/ses-event.ts'
import { signed } from '../../test/support/servers/sns-server.ts'
import type { Random } from '../support/random.ts'

type Report = [kind: string, more?: object]
/** Reports on an email in the order of their times. Emails to one `address` belong to one contact. */
type EmailHistory = { address?: string; reports: Report[] }

const hard: Report = ['Bounce', bounce('Permanent')]
const soft: Report = ['Bounce', bounce('Transient', 'smtp; 452 4.2.2 mailbox full')]
const delay = (delayType: string): Report => ['DeliveryDelay', { deliveryDelay: { delayType } }]

const HISTORIES: EmailHistory[] = [
  { reports: [['Send'], ['Delivery']] },
  { reports: [['Send'], ['Delivery'], ['Complaint', { complaint: {} }]] },
  { reports: [['Send'], hard] },
  { reports: [['Send'], delay('MailboxFull'), ['Delivery']] },
  { reports: [['Send'], soft, ['Delivery']] },
  { reports: [['Send'], ['Reject', { reject: { reason: 'Bad content' } }]] },
  { reports: [['Send'], ['Delivery'], ['Open'], ['Click']] },
  { reports: [['Send'], delay('MailboxFull'), delay('SpamDetected'), hard] },
  { reports: [['Send'], ['Rendering Failure', { failure: { errorMessage: 'no such variable' } }]] },
  // Accepted by the receiving server, and bounced later.
  { reports: [['Send'], ['Delivery'], hard] },
  // Delivered, followed by an automatic reply.
  { reports: [['Send'], ['Delivery'], soft] },
  // Five soft bounces in a row suppress an address, four do not.
  ...Array.from({ length: 5 }, () => ({ address: 'full', reports: [['Send'], soft] satisfies Report[] })),
  ...Array.from({ length: 4 }, () => ({ address: 'busy', reports: [['Send'], soft] satisfies Report[] })),
]
const LONGEST = Math.max(...HISTORIES.map(({ reports }) => reports.length))

const historyOf = (index: number) => HISTORIES[index % HISTORIES.length]!

/** Recipients of the emails of a project. The place in the list decides about the reports on an email. */
export const addressesOf = (count: number) =>
  Array.from({ length: count }, (_, index) => {
    const { address } = historyOf(index)
    return address ? `${address}${Math.floor(index / HISTORIES.length)}@example.com` : `m${index}@example.com`
  })

export type Notification = ReturnType<typeof signed>

const MINUTE_MS = 60_000
const BEGAN_AT = Date.now() - 12 * 60 * MINUTE_MS

/** A report carries the time of its event, not of its arrival. */
function reportOn(email: EmailIds, index: number, report: number) {
  const [kind, more] = historyOf(index).reports[report]!
  const timestamp = new Date(BEGAN_AT + report * MINUTE_MS).toISOString()
  const part = PARTS[kind]
  const details = part ? { [part]: { ...(more as Record<string, object> | undefined)?.[part], timestamp } } : more
  return signed({ Message: eventOf(email, kind, details) })
}

/** The field of an SES event that has its time. */
const PARTS: Record<string, string> = { Delivery: 'delivery', Bounce: 'bounce', Complaint: 'complaint', DeliveryDelay: 'deliveryDelay' }

/** The first report on every email, then the second, and so on. */
export const inOrder = (emails: EmailIds[]) =>
  Array.from({ length: LONGEST }, (_, report) =>
    emails.flatMap((email, index) => (report < historyOf(index).reports.length ? [reportOn(email, index, report)] : [])),
  )

/** A report that was sent before, under another notification id. */
export function echoOf(emails: EmailIds[], random: Random) {
  const index = random.below(emails.length)
  return reportOn(emails[index]!, index, random.below(historyOf(index).reports.length))
}

/** Share of emails whose reports Amazon repeats under other ids. */
const ECHO_SHARE = 0.2
/** Deliveries per notification: mostly a few, rarely as many as were ever observed. */
const REPEATS = { few: 3, many: 46, manyShare: 0.05 }

/** The same reports, each delivered up to 46 times, in random order. */
export function inDisorder(emails: EmailIds[], random: Random) {
  const echoes = emails.flatMap((email, index) =>
    random.chance(ECHO_SHARE) ? historyOf(index).reports.map((_, report) => reportOn(email, index, report)) : [],
  )
  const repeated = [...inOrder(emails).flat(), ...echoes].flatMap((notification) =>
    Array<Notification>(1 + random.below(random.chance(REPEATS.manyShare) ? REPEATS.many : REPEATS.few)).fill(notification),
  )
  return random.shuffle(repeated)
}
