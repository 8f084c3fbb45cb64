import type { Outcome } from './transport/transport.ts'

/** What an answer means for the mail, and for everybody else's. */
export type Meaning = {
  action: 'sent' | 'retry' | 'fail' | 'unknown' | 'put-back'
  reason: string | null
  /** The address does not exist: never again. */
  suppress?: boolean
  /** It is we who are too fast: slow down, and do not count it against the mail. */
  throttled?: boolean
  /** It is our account or domain that is refused: every other mail would be too. */
  pause?: 'provider' | 'domain'
}

type Rule = { when: RegExp; means: Omit<Meaning, 'reason'> }

/** The first that matches "code enhanced-code text" decides. */
const RULES: Rule[] = [
  // Our credentials or our account.
  { when: /^(530|534|535|538)\b/, means: { action: 'retry', pause: 'provider' } },
  // Receivers that want authenticated mail, and say that ours is not: SPF, DKIM or DMARC of the domain are wrong.
  { when: /^\d+ 5\.7\.(515|26|27|509)\b/, means: { action: 'retry', pause: 'domain' } },
  { when: /^454\b/, means: { action: 'retry', throttled: true } },
  { when: /^4\d\d .*(throttl|rate limit|too many|slow down|try again later.*limit)/i, means: { action: 'retry', throttled: true } },
  { when: /^421\b/, means: { action: 'retry', throttled: true } },
  { when: /^4/, means: { action: 'retry' } },
  // No such mailbox or domain.
  { when: /^5\d\d 5\.1\.(1|2|3|6|10)\b/, means: { action: 'fail', suppress: true } },
  { when: /^(550|551|553) (?!5\.)/, means: { action: 'fail', suppress: true } },
  { when: /^5/, means: { action: 'fail' } },
]

export function meaningOf(outcome: Outcome): Meaning {
  if (outcome.is === 'accepted') return { action: 'sent', reason: null }
  if (outcome.is === 'withheld') return { action: 'put-back', reason: null }
  if (outcome.is === 'unknown') return { action: 'unknown', reason: outcome.error }
  if (outcome.is === 'not-sent') return { action: 'retry', reason: outcome.error }
  const text = normalise(outcome)
  const rule = RULES.find(({ when }) => when.test(text))
  return { ...(rule?.means ?? { action: 'retry' }), reason: outcome.response }
}

/** A reply of several lines repeats its code; one without an enhanced code has none. */
const normalise = ({ code, response }: { code: number; response: string }) =>
  `${code} ${response
    .replace(/^\d{3}[- ]/gm, '')
    .replace(/\s+/g, ' ')
    .trim()}`

const MINUTE = 60
/** Seconds to wait after the nth failure. */
const WAITS = [1, 2, 5, 10, 20, 40, 60, 120, 240, 360].map((minutes) => minutes * MINUTE)
const GIVE_UP_AFTER_MS = 72 * 3_600_000

/** Null: given up. Some earlier, some later, so that what failed together is not tried together. */
export function waitBeforeRetry({ failures, firstFailedAt }: { failures: number; firstFailedAt: Date | null }, now = Date.now()) {
  if (firstFailedAt && now - firstFailedAt.getTime() > GIVE_UP_AFTER_MS) return null
  return WAITS[Math.min(failures, WAITS.length - 1)]! * (0.8 + Math.random() * 0.4)
}
