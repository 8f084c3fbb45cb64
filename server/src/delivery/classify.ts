import type { Outcome } from './transport/transport.ts'

/** What an answer means for the mail, and for everybody else's. */
export type Meaning = {
  action: 'sent' | 'retry' | 'fail' | 'unknown' | 'put-back'
  reason: string | null
  /** The address does not exist: never again. */
  nobody?: boolean
  /** It is we who are too fast: slow down, and do not count it against the mail. */
  throttled?: boolean
  /** It is our account or domain that is refused: every other mail would be too. */
  pause?: 'provider' | 'domain'
}

type Rule = { when: { test(text: string): boolean }; means: Omit<Meaning, 'reason'> }

const PROVIDER: Rule['means'] = { action: 'retry', pause: 'provider' }
const DOMAIN: Rule['means'] = { action: 'retry', pause: 'domain' }
const THROTTLED: Rule['means'] = { action: 'retry', throttled: true }
const NOBODY_THERE: Rule['means'] = { action: 'fail', nobody: true }

/**
 * What receivers say when there is nobody, half of them with a code that means something else, or with none. A bare 550 alone is
 * not enough: as many say that when they dislike the mail or where it comes from.
 */
const NOBODY = [
  /\b(no such|unknown|invalid|non-?existent) (user|recipient|mailbox|address|account|person|domain)\b/,
  /\b(user|recipient|mailbox|account|address|domain)( \S+){0,6}? (unknown|not found|does(n't| not) exist|invalid|disabled|inactive|unavailable)\b/,
  /\bno (mailbox|user|account) here\b/,
  /\bdoes(n't| not) have an? \S+ account\b/,
]
const isNobody = (text: string) =>
  /^5\d\d (?!5\.[367]\.)/.test(text) &&
  !/\b(sender|relay|spam|blocked|quota)\b/i.test(text) &&
  NOBODY.some((words) => words.test(text.toLowerCase()))

/** The first that matches "code enhanced-code text" decides. */
const RULES: Rule[] = [
  // Our credentials or our account.
  { when: /^(530|534|535|538)\b/, means: PROVIDER },
  { when: /^[45].*(relay access denied|relaying denied|unable to relay|sending paused|not authorized to perform)/i, means: PROVIDER },
  { when: /^[45].*(daily (\S+ ){0,4}(quota|limit) exceeded|submission ?quota ?exceeded)/i, means: PROVIDER },
  { when: /^\d+ 5\.(1\.8 .*outbound|7\.25|7\.7\d\d)\b/, means: PROVIDER },
  // Receivers that want authenticated mail, and say that ours is not: SPF, DKIM or DMARC of the domain are wrong.
  { when: /^\d+ 5\.7\.(26|27|30|32|40|509|515)\b/, means: DOMAIN },
  // The provider does not let us send as this address.
  { when: /^5.*(email address is not verified|sender address rejected: not owned by)/i, means: DOMAIN },
  // Never about the recipient's mailbox, which may be full or busy for its own reasons.
  {
    when: /^4\d\d (?!4\.2\.).*(throttl|rate.?limit|too many|too much mail|slow down|server busy|(thread|connections?) limit exceeded)/i,
    means: THROTTLED,
  },
  // Waited too long for us, on a line that was open: nothing is wrong with our speed.
  { when: /^421 4\.4\./, means: { action: 'retry' } },
  { when: /^421\b/, means: THROTTLED },
  { when: /^4/, means: { action: 'retry' } },
  { when: /^5\d\d 5\.1\.(1|2|3|6|10)\b|^556\b/, means: NOBODY_THERE },
  // Exchange Online says this of every address that its owner has not listed.
  { when: /^550 5\.4\.1 recipient address rejected/i, means: NOBODY_THERE },
  { when: { test: isNobody }, means: NOBODY_THERE },
  { when: /^5/, means: { action: 'fail' } },
]

export function meaningOf(outcome: Outcome): Meaning {
  if (outcome.is === 'accepted') return { action: 'sent', reason: null }
  if (outcome.is === 'withheld') return { action: 'put-back', reason: null }
  if (outcome.is === 'unknown') return { action: 'unknown', reason: outcome.error }
  if (outcome.is === 'not-sent') return { action: 'retry', reason: outcome.error }
  if (outcome.means) return { ...outcome.means, reason: outcome.response }
  const text = normalise(outcome)
  const rule = RULES.find(({ when }) => when.test(text))
  return { ...(rule?.means ?? { action: 'retry' }), reason: outcome.response }
}

/** A reply of several lines repeats its codes. */
const normalise = ({ code, response }: { code: number; response: string }) =>
  `${code} ${response
    .replace(/^\d{3}(?:[- ]|$)/gm, '')
    .replace(/(?<=\n)\d\.\d{1,3}\.\d{1,3} /g, '')
    .replace(/\s+/g, ' ')
    .trim()}`

const MINUTE = 60
/** Seconds to wait after the nth failure. */
const WAITS = [1, 2, 5, 10, 20, 40, 60, 120, 240, 360].map((minutes) => minutes * MINUTE)
const GIVE_UP_AFTER_MS = 72 * 3_600_000

/**
 * Null: given up. Some earlier, some later, so that what failed together is not tried together; the last time when the three days
 * are over, not later.
 */
export function waitBeforeRetry({ failures, firstFailedAt }: { failures: number; firstFailedAt: Date | null }, now = Date.now()) {
  const left = firstFailedAt ? (firstFailedAt.getTime() + GIVE_UP_AFTER_MS - now) / 1_000 : GIVE_UP_AFTER_MS / 1_000
  if (left < 1) return null
  return Math.min(left, WAITS[Math.min(failures, WAITS.length - 1)]! * (0.8 + Math.random() * 0.4))
}
