import type { Email } from '@sterna/sdk'

export type Tone = 'plain' | 'good' | 'warning' | 'danger'
export type StoryEntry = {
  title: string
  /** The meaning, in plain words. */
  words?: string
  /** The reply of the receiving server, verbatim. */
  reply?: string
  tone: Tone
}
type Entry = { what: string; details: Record<string, unknown> }

type Shown = Pick<Email, 'status' | 'outcomeUnknownSince' | 'sourceType' | 'sendAt' | 'attempts'>

/** The status that is shown. An email without a reply is "sending" for the API, but nothing is being sent any more. */
export function shownEmailStatus(email: Shown) {
  if (email.sourceType === 'INBOUND') return 'RECEIVED'
  if (isScheduled(email)) return 'SCHEDULED'
  return email.outcomeUnknownSince ? 'UNKNOWN' : email.status
}

/** Waits for the time that its request gave. */
export const isScheduled = ({ status, sendAt, attempts }: Pick<Email, 'status' | 'sendAt' | 'attempts'>) =>
  status === 'PENDING' && sendAt !== null && attempts === 0

export const canResend = ({ status, sourceType }: Pick<Email, 'status' | 'sourceType'>) =>
  status === 'FAILED' && sourceType === 'TRANSACTIONAL'

const REASONS: Partial<Record<NonNullable<Email['errorCode']>, string>> = {
  unsubscribed: 'The contact is not subscribed, and this is not a transactional email.',
  suppressed: 'The address or its domain is suppressed. It gets no email until the suppression is lifted.',
  invalid: 'The address that the contact has now is not valid.',
  contact_deleted: 'The contact was deleted before the email was sent.',
  project_deleted: 'The project was deleted before the email was sent.',
  cancelled: 'It was cancelled before it was sent.',
  bounced: 'The address does not exist.',
  rejected: 'The receiving server refuses this email permanently.',
  domain_not_verified: 'The sender domain was removed or lost its records. Verify it, then resend.',
  rendering: 'The template failed. Correct it before you resend.',
  too_large: 'The message is larger than 40 MB.',
  transient: 'It was temporarily refused at every attempt. After three days no further attempt is made.',
  expired: 'It could not be sent within seven days of being accepted.',
  outcome_unknown: 'It was transmitted without a reply, and not sent again because a second copy would be worse.',
  crashed: 'The worker crashed several times while sending it.',
  provider_paused: 'All sending is paused. It is sent automatically when the pause is over.',
  domain_paused: 'Sending from this domain is paused. It is sent automatically when the pause is over.',
  throttled: 'The receiving server asks for fewer emails. It is sent automatically, more slowly.',
  project_disabled: 'The project is disabled. It waits until the project is enabled.',
  verifying_refusal: 'The server refused it. Whether that is about this recipient or about the sender is being checked.',
}

/** Meanings of enhanced status codes (RFC 3463), by their second and third number; the first says whether the failure is permanent. */
const CODES: Record<string, string> = {
  '1.1': 'There is no mailbox with this address.',
  '1.2': 'The domain of the address does not exist or takes no email.',
  '1.10': 'The domain of the address takes no email.',
  '2.1': 'The mailbox is temporarily closed.',
  '2.2': 'The mailbox is full.',
  '2.3': 'The message is larger than the mailbox accepts.',
  '3.4': 'The message is larger than the server accepts.',
  '4.1': 'The receiving server does not respond.',
  '4.2': 'The connection to the receiving server was lost.',
  '4.7': 'The receiving server gave up after many attempts.',
}
const CLASSES: Record<string, string> = {
  '1': 'The address is not accepted.',
  '2': 'The mailbox does not take the message.',
  '3': 'The receiving server has a problem of its own.',
  '4': 'The receiving server could not be reached.',
  '5': 'A protocol error between the two mail servers.',
  '6': 'The receiving server does not accept the content.',
  '7': 'The receiving server refuses it by its policy, often because it distrusts the sender or the content.',
}

/** A reply of a receiving server in plain words. Undefined when it has no code, which an IP address is not. */
export function inPlainWords(reply: string | undefined): string | undefined {
  const [, detail, group] = /(?<![\d.])[245]\.((\d{1,3})\.\d{1,3})(?!\.?\d)/.exec(reply ?? '') ?? []
  if (!detail || !group) return undefined
  return CODES[detail] ?? CLASSES[group]
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)
const ordinal = (attempts: number) => (attempts > 1 ? `${attempts} attempts so far` : 'One attempt so far')

/** One step of the story of an email. */
export function tellStep({ what, details }: Entry, email: Pick<Email, 'errorCode' | 'attempts' | 'type'>): StoryEntry {
  const reply = text(details.reason) ?? text(details.error)
  const replied = (title: string, tone: Tone, words?: string): StoryEntry => {
    const meaning = words ?? inPlainWords(reply)
    return { title, tone, ...(meaning && { words: meaning }), ...(reply && { reply }) }
  }
  const by = details.machine === true ? ' by a machine' : ''
  switch (what) {
    case 'scheduled':
      return { title: 'Accepted, to be sent later', tone: 'plain' }
    case 'queued':
      return { title: 'Accepted and queued', tone: 'plain' }
    case 'email.sent':
      return { title: 'Accepted by the receiving server', tone: 'good' }
    case 'email.delivery':
      return { title: 'Delivered to the mailbox', tone: 'good' }
    case 'email.open':
      return {
        title: `Opened${by}`,
        tone: 'plain',
        ...(by && { words: 'A privacy proxy or a scanner loaded the images. Nobody may have read it.' }),
      }
    case 'email.click': {
      const link = text(details.link)
      return { title: `Link clicked${by}`, tone: 'plain', ...(link && { words: link }) }
    }
    case 'email.bounce':
      return details.bounceType === 'Transient' ? replied('Soft bounce', 'warning') : replied('Bounced', 'danger')
    case 'email.complaint':
      return { title: 'Marked as spam', tone: 'danger', words: 'The contact was unsubscribed, and the address is suppressed.' }
    case 'email.failed':
      return replied('Failed', 'danger', reasonOf(email))
    case 'email.received':
      return { title: 'Received', tone: 'good' }
    case 'delayed':
      return replied('Delayed', 'warning', 'The provider accepted it and keeps trying.')
    case 'deferred':
      return replied('Waiting for another attempt', 'warning', waitingFor(email, reply))
    case 'skipped':
      return replied('Skipped', 'plain', reasonOf(email))
    case 'outcome unknown':
      return { title: 'Handed over, no reply', tone: 'warning', words: unknownRule(email) }
    default:
      return replied(what, 'plain')
  }
}

const reasonOf = ({ errorCode }: Pick<Email, 'errorCode'>) => (errorCode ? REASONS[errorCode] : undefined)

function waitingFor(email: Pick<Email, 'errorCode' | 'attempts'>, reply: string | undefined): string | undefined {
  if (email.errorCode !== 'transient') return reasonOf(email)
  const meaning = inPlainWords(reply)
  return `${meaning ? `${meaning} ` : ''}${ordinal(email.attempts)}. It is tried again at growing intervals, for up to three days.`
}

const unknownRule = ({ type }: Pick<Email, 'type'>) =>
  type === 'TRANSACTIONAL'
    ? 'A report about it settles this. After 15 minutes without one it is sent once more, with the same Message-ID.'
    : 'A report about it settles this. After 15 minutes without one it counts as failed, because a second copy would be worse.'

/** How long it took from the call to the receiving server: `0.8 s`, `3 min`. */
export function timeToSend({ createdAt, sentAt }: Pick<Email, 'createdAt' | 'sentAt'>): string | undefined {
  if (!sentAt) return undefined
  const seconds = Math.max(0, Date.parse(sentAt) - Date.parse(createdAt)) / 1_000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`
  return seconds < 48 * 3_600 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`
}
