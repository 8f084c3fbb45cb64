import { HOUR, MINUTE, SECOND } from '../../lib/text/units.ts'
import { isPlainRefusal } from './plain-refusal.ts'
import type { SendOutcome } from './transport.ts'

/** The decision about an email after an attempt, and the subject of the reply. */
export type Disposition = {
  action: 'sent' | 'retry' | 'fail' | 'unknown' | 'put-back'
  reason: string | null
  /**
   * The subject of the refusal. `provider`: our connection or account. `sender-domain`: the domain in MAIL FROM. Neither counts against the
   * email. `recipient` and `email` do.
   */
  about?: 'provider' | 'sender-domain' | 'recipient' | 'email'
  /** The address does not exist: a hard bounce. */
  unknownRecipient?: boolean
  /** Sending is too fast: for the provider if `about` says so, otherwise for the recipient domain. */
  throttled?: boolean
  /** A further connection was refused, or not made, while others were open. */
  tooManyConnections?: boolean
  /** The quota of the account is used up: nothing can be sent until it is renewed. */
  quotaUsedUp?: boolean
  /** A refusal that other emails of the sender domain may get too. Many identical ones in a row pause that domain. */
  repeatable?: boolean
  /** Only for refusals that are counted: equal for replies that differ only in addresses, hosts, ids and numbers. */
  fingerprint?: string
  /** Only for refusals that are counted: the reply says nothing but that the recipient is unknown. */
  plain?: boolean
}

/** The result of a rule for a reply. The rest follows from its text. */
export type Means = Omit<Disposition, 'reason' | 'fingerprint' | 'plain'>
type Rule = { when: { test(text: string, recipient: string): boolean }; means: Means }

const TRY_LATER: Means = { action: 'retry', about: 'recipient' }
const THROTTLED: Means = { action: 'retry', about: 'recipient', throttled: true }
const UNKNOWN_RECIPIENT: Means = { action: 'fail', about: 'recipient', unknownRecipient: true }
const REFUSED: Means = { action: 'fail', about: 'recipient', repeatable: true }
const THIS_EMAIL_ONLY: Means = { action: 'fail', about: 'email' }
/**
 * The reply blames the account or the sender domain. But it was given for one recipient, and relays say some of this about a single
 * destination. So the email is retried up to its limit, and only many such replies in a row pause anything.
 */
const BLAMES_ACCOUNT_OR_DOMAIN: Means = { action: 'retry', about: 'recipient', repeatable: true }

/** Enhanced codes by which a receiver says that an address does not exist. */
const UNKNOWN_RECIPIENT_CODES = new Set(['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10'])

type Words = { test(text: string): boolean }

/** The longest phrase that `near` looks for, in words. */
const PHRASE = 3

/**
 * A word that ends with `first`, and a phrase that begins with `then`, at most `apart` words behind it. An expression for both would try each
 * start against each end.
 */
const near = (first: RegExp, then: RegExp, apart: number): Words => ({
  test(text) {
    const words = text.split(' ')
    const phraseAt = (index: number) => words.slice(index, index + PHRASE).join(' ')
    const follows = (index: number) => words.slice(index, index + apart + 1).some((_, after) => then.test(phraseAt(index + after)))
    return words.some((word, index) => first.test(word) && follows(index + 1))
  },
})

/** Texts that say the same without such a code. A bare 550 is not enough: as many servers use it for a message or for its origin. */
const UNKNOWN_RECIPIENT_TEXTS: Words[] = [
  /\b(no such|unknown|non-?existent) (user|recipient|mailbox|address)\b/,
  near(/\b(user|recipient|mailbox|address)$/, /^(unknown|not found|does(n't| not) exist)\b/, 6),
  /\bno (user|mailbox) here\b/,
  /\buser does(n't| not) have an? (\S+ )?account\b/,
]

const ABOUT_US = /\b(your|sender|client host|helo|ehlo|ip|authentication|quota|rate|relay|spf|dkim|dmarc|policy|blocked|blacklist(ed)?)\b/
/** An account or a domain may be that of the recipient. Beside such a word it is ours. */
const OUR_ACCOUNT_OR_DOMAIN = [
  near(/\b(account|domain)[^\w\s]*$/, /^[^\w\s]*(your|our|customer|sender|disabled|suspended|inactive)\b/, 4),
  near(/\b(your|our|customer|sender|disabled|suspended|inactive)[^\w\s]*$/, /^[^\w\s]*(account|domain)\b/, 4),
]
const isAboutUs = (text: string) => ABOUT_US.test(text) || OUR_ACCOUNT_OR_DOMAIN.some((words) => words.test(text))

/** A text without a code of its own may also speak of a user while it rejects the message. */
const ABOUT_MESSAGE = /\b(spam|reputation|policies)\b/

/** "code enhanced-code text"; qmail writes the enhanced code at the end, as (#5.1.1). */
const enhancedCodeOf = (text: string) =>
  (/^\d{3} ([245]\.\d{1,3}\.\d{1,3})\b/.exec(text) ?? /\(#([245]\.\d{1,3}\.\d{1,3})\)/.exec(text))?.[1]

/**
 * Whether a reply proves that the recipient does not exist. Servers also refuse us after RCPT TO, because Postfix delays its checks of client
 * and sender until then, and some of them with the code of an unknown mailbox. Such a reply must not suppress a recipient.
 */
function provesUnknownRecipient(text: string, recipient: string) {
  const code = enhancedCodeOf(text)
  if (/^556\b/.test(text) || (code === '5.4.1' && /recipient address rejected/i.test(text))) return true
  const said = withoutRecipient(text.toLowerCase().replaceAll('’', "'"), recipient)
  if (isAboutUs(said)) return false
  if (code !== undefined && UNKNOWN_RECIPIENT_CODES.has(code)) return true
  return !code?.startsWith('5.7.') && !ABOUT_MESSAGE.test(said) && UNKNOWN_RECIPIENT_TEXTS.some((words) => words.test(said))
}

/** Without the address and the domain of the recipient, whose names may contain any word. */
function withoutRecipient(text: string, recipient: string) {
  const address = recipient.toLowerCase()
  const domain = address.slice(address.lastIndexOf('@') + 1)
  return [address, domain]
    .filter(Boolean)
    .reduce((rest, name) => rest.replaceAll(name, ''), text)
    .replace(/\s+/g, ' ')
}

/** The sending rate of the account: Amazon SES replies this to any command, for all emails. */
const ACCOUNT_RATE: Rule = {
  when: /^454 Throttling failure: Maximum sending rate/i,
  means: { action: 'retry', about: 'provider', throttled: true },
}

/** A permanent refusal that says one of these. */
const permanent = (...said: Words[]): Words => ({ test: (text) => text.startsWith('5') && said.some((words) => words.test(text)) })

/** Replies to RCPT TO, DATA and the final dot. The first rule that matches "code enhanced-code text" decides. */
const RECIPIENT_RULES: Rule[] = [
  ACCOUNT_RATE,
  // Credentials or account.
  { when: /^(530|534|535|538)\b/, means: BLAMES_ACCOUNT_OR_DOMAIN },
  {
    when: permanent(/relay access denied|relaying denied|unable to relay|sending paused|not authorized to perform/i),
    means: BLAMES_ACCOUNT_OR_DOMAIN,
  },
  {
    when: permanent(near(/daily$/i, /^(quota|limit) exceeded/i, 4), /submission ?quota ?exceeded/i),
    means: BLAMES_ACCOUNT_OR_DOMAIN,
  },
  { when: /^\d+ 5\.(1\.8 .*outbound|7\.25|7\.7\d\d)\b/, means: BLAMES_ACCOUNT_OR_DOMAIN },
  // The receiver requires authentication: SPF, DKIM or DMARC of the domain are wrong.
  { when: /^\d+ 5\.7\.(26|27|30|32|40|509|515)\b/, means: BLAMES_ACCOUNT_OR_DOMAIN },
  // The provider does not allow this from address.
  { when: permanent(/email address is not verified|sender address rejected: not owned by/i), means: BLAMES_ACCOUNT_OR_DOMAIN },
  // Not for 4.2.x: a mailbox may be full or busy for its own reasons. Not for a daily quota, which a slower pace does not avoid.
  {
    when: /^4\d\d (?!4\.2\.)(?!.*\bdaily\b).*(throttl|rate.?limit|too many|too much mail|slow down|server busy|(thread|connections?) limit exceeded)/i,
    means: THROTTLED,
  },
  // A timeout of the server on an open connection: the rate is not the cause.
  { when: /^421 4\.4\./, means: TRY_LATER },
  { when: /^421\b/, means: THROTTLED },
  { when: /^4/, means: TRY_LATER },
  { when: { test: (text, recipient) => /^5/.test(text) && provesUnknownRecipient(text, recipient) }, means: UNKNOWN_RECIPIENT },
  { when: /^5\d\d 5\.3\.4\b/, means: THIS_EMAIL_ONLY },
  { when: /^5/, means: REFUSED },
]

/** Replies to MAIL FROM. Size and syntax concern this email; everything else concerns the sender domain. */
const SENDER_RULES: Rule[] = [
  ACCOUNT_RATE,
  { when: /^552\b|^5\d\d 5\.3\.4\b/, means: THIS_EMAIL_ONLY },
  // Syntax of the address or of the command.
  { when: /^(500|501|504|555)\b|^5\d\d 5\.(1\.7|5\.[24])\b/, means: THIS_EMAIL_ONLY },
  // Bad sequence of commands: the session is out of step.
  { when: /^503\b/, means: TRY_LATER },
  { when: /^[45]/, means: { action: 'retry', about: 'sender-domain' } },
]

/** `recipient` is the address of RCPT TO, which the reply may repeat. */
export function classify(outcome: SendOutcome, recipient: string): Disposition {
  if (outcome.is === 'accepted') return { action: 'sent', reason: null }
  if (outcome.is === 'withheld') return { action: 'put-back', reason: null }
  if (outcome.is === 'unknown') return { action: 'unknown', reason: outcome.error, ...(outcome.aboutProvider ? { about: 'provider' } : {}) }
  const reason = outcome.is === 'refused' ? outcome.response : outcome.error
  if (outcome.at === 'session') {
    const means = { action: 'retry', about: 'provider', reason } as const
    return isBusy(outcome) ? { ...means, throttled: true, tooManyConnections: true } : { ...means, throttled: false }
  }
  if (outcome.is === 'not-sent') return { ...TRY_LATER, reason }
  const means = outcome.disposition ?? meaningOf(outcome, recipient)
  const isCounted = means.repeatable || means.unknownRecipient
  if (!isCounted) return { ...means, reason }
  return { ...means, reason, fingerprint: fingerprintOf(outcome.response, recipient), plain: isPlainRefusal(outcome.response, recipient) }
}

function meaningOf(outcome: SendOutcome & { is: 'refused' }, recipient: string): Means {
  const rules = outcome.at === 'sender' ? SENDER_RULES : RECIPIENT_RULES
  const text = normalise(outcome)
  return rules.find(({ when }) => when.test(text, recipient))?.means ?? TRY_LATER
}

/** A server that limits connections refuses a further one while others work: slowing down is enough. A 5xx is a refusal all the same. */
const isBusy = (outcome: SendOutcome & { is: 'refused' | 'not-sent' }) =>
  outcome.busy === true && (outcome.is === 'not-sent' || outcome.code < 500)

/** One line "code text": a multi-line reply repeats its codes. */
const normalise = ({ code, response }: { code: number; response: string }) =>
  `${code} ${response
    .replace(/^\d{3}(?:[- ]|$)/gm, '')
    .replace(/(?<=\n)\d\.\d{1,3}\.\d{1,3} /g, '')
    .replace(/\s+/g, ' ')
    .trim()}`

const MAX_FINGERPRINT = 200

const escapeRegExp = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Equal for replies that differ only in addresses, hosts, ids and numbers. Some name the recipient by the local part of its address alone. */
export function fingerprintOf(response: string, recipient: string) {
  const local = recipient.slice(0, recipient.lastIndexOf('@')).toLowerCase()
  const isRecipient = new RegExp(`^\\W*${escapeRegExp(local)}\\W*$`, 'u')
  return response
    .slice(0, 2 * MAX_FINGERPRINT)
    .toLowerCase()
    .replace(/^(\d{3})[- ]/gm, '$1 ')
    .split(/\s+/)
    .filter((word, index) => isCode(word, index) || !(/[\d@<[]/.test(word) || (local && isRecipient.test(word))))
    .join(' ')
    .slice(0, MAX_FINGERPRINT)
}

const isCode = (word: string, index: number) => index < 2 && /^\d{3}$|^\d\.\d{1,3}\.\d{1,3}$/.test(word)

/** Seconds to wait after the nth failure. */
const WAITS = [1, 2, 5, 10, 20, 40, 60, 120, 240, 360].map((minutes) => (minutes * MINUTE) / SECOND)
const GIVE_UP_AFTER_SECONDS = (72 * HOUR) / SECOND

const nominalWait = (failures: number) => WAITS[Math.min(failures, WAITS.length - 1)]!

/**
 * Seconds until the next attempt; null to give up. Counts the waits between failures, not elapsed time: while provider, domain or project are
 * paused nothing fails, and that time must not be used up. With jitter, so that emails that failed together are not retried together. The
 * last wait ends when the three days are over.
 */
export function waitBeforeRetry({ failures }: { failures: number }) {
  let waited = 0
  for (let index = 0; index < failures && waited < GIVE_UP_AFTER_SECONDS; index++) waited += nominalWait(index)
  const left = GIVE_UP_AFTER_SECONDS - waited
  if (left <= 0) return null
  return Math.min(left, nominalWait(failures) * (0.8 + Math.random() * 0.4))
}
