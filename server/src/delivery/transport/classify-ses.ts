import type { Disposition } from './classify.ts'

export type SesRefusal = { status: number; name: string; message: string }
type Means = Omit<Disposition, 'reason'>
type Rule = { when: Pick<RegExp, 'test'>; means: Means }

/** Words that may stand anywhere: one expression for all of them would take time by the square of the text. */
const all = (...words: RegExp[]): Rule['when'] => ({ test: (text) => words.every((each) => each.test(text)) })

const PROVIDER: Means = { action: 'retry', about: 'provider' }
const USED_UP: Means = { action: 'retry', about: 'provider', quotaUsedUp: true }
const DOMAIN: Means = { action: 'retry', about: 'sender-domain' }
const THROTTLED: Means = { action: 'retry', about: 'provider', throttled: true }

const TRY_LATER: Means = { action: 'retry', about: 'recipient' }

/** The first rule that matches "status Name: text" decides. In the text, the from address and its domain are replaced by `<sender>`. */
const RULES: Rule[] = [
  // The daily quota: only waiting helps. SES also reports it under the name of throttling.
  { when: /daily (message|sending) quota|LimitExceeded/i, means: USED_UP },
  { when: /^429 |Throttl|TooManyRequests|SlowDown|RequestLimitExceeded|maximum sending rate/i, means: THROTTLED },
  // The account is suspended, paused or lacks permissions, or our clock is wrong.
  { when: /AccountSuspended|SendingPaused|sending (is |has been )?(suspended|paused|disabled)/i, means: PROVIDER },
  { when: /^(401|403) |AccessDenied|NotAuthorized|InvalidClientTokenId|UnrecognizedClient|InvalidSignature/i, means: PROVIDER },
  {
    when: /SignatureDoesNotMatch|IncompleteSignature|MissingAuthenticationToken|(Expired|Invalid)Token|RequestExpired|TooSkewed/i,
    means: PROVIDER,
  },
  { when: all(/Configuration ?set /i, /does not exist/i), means: PROVIDER },
  { when: /MailFromDomainNotVerified/i, means: DOMAIN },
  { when: all(/not verified/i, /<sender>/), means: DOMAIN },
  // The recipient is not verified: the account is still in the SES sandbox. May concern a single recipient.
  { when: /not verified/i, means: { action: 'retry', about: 'recipient', repeatable: true } },
  { when: /^4\d\d RequestTimeout/, means: TRY_LATER },
  { when: /^4/, means: { action: 'fail', about: 'recipient', repeatable: true } },
]

/** Replies below 500: after the others Amazon may have accepted the email. */
export function classifySesRefusal({ status, name, message }: SesRefusal, sender: string): Means {
  const ownNames = [sender, sender.slice(sender.lastIndexOf('@') + 1)]
  const words = message.split(/[\s,]+/).map((word) => (ownNames.includes(word.toLowerCase().replace(/\.$/, '')) ? '<sender>' : word))
  const text = `${status} ${name}: ${words.join(' ')}`
  return RULES.find(({ when }) => when.test(text))?.means ?? TRY_LATER
}
