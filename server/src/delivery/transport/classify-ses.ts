import type { Disposition } from './classify.ts'

type Refusal = { status: number; name: string; message: string }
type Means = Omit<Disposition, 'reason'>
type Rule = { when: RegExp; means: Means }

const PROVIDER: Means = { action: 'retry', about: 'provider' }
const DOMAIN: Means = { action: 'retry', about: 'sender-domain' }
const THROTTLED: Means = { action: 'retry', about: 'provider', throttled: true }

const TRY_LATER: Means = { action: 'retry', about: 'recipient' }

/** The first that matches "status Name: text" decides. In the text, the sender's address and domain read `<sender>`. */
const RULES: Rule[] = [
  // Of a day: nothing helps but waiting. It comes under the name of throttling too.
  { when: /daily (message|sending) quota|LimitExceeded/i, means: PROVIDER },
  { when: /^429 |Throttl|TooManyRequests|SlowDown|RequestLimitExceeded|maximum sending rate/i, means: THROTTLED },
  // The account: suspended, paused, or without the rights it needs; or a clock that is wrong.
  { when: /AccountSuspended|SendingPaused|sending (is |has been )?(suspended|paused|disabled)/i, means: PROVIDER },
  { when: /^(401|403) |AccessDenied|NotAuthorized|InvalidClientTokenId|UnrecognizedClient|InvalidSignature/i, means: PROVIDER },
  {
    when: /SignatureDoesNotMatch|IncompleteSignature|MissingAuthenticationToken|(Expired|Invalid)Token|RequestExpired|TooSkewed/i,
    means: PROVIDER,
  },
  { when: /Configuration ?set .*does not exist/i, means: PROVIDER },
  { when: /MailFromDomainNotVerified|not verified.*<sender>/i, means: DOMAIN },
  // The recipient's address: this account is still in Amazon's sandbox, where recipients must be verified too. That may hold for one of them.
  { when: /not verified/i, means: { action: 'retry', about: 'recipient', repeatable: true } },
  { when: /^4\d\d RequestTimeout/, means: TRY_LATER },
  { when: /^4/, means: { action: 'fail', about: 'recipient', repeatable: true } },
  { when: /^5/, means: TRY_LATER },
]

export function classifySesRefusal({ status, name, message }: Refusal, sender: string): Means {
  const own = [sender, sender.slice(sender.lastIndexOf('@') + 1)]
  const words = message.split(/[\s,]+/).map((word) => (own.includes(word.toLowerCase().replace(/\.$/, '')) ? '<sender>' : word))
  const text = `${status} ${name}: ${words.join(' ')}`
  return RULES.find(({ when }) => when.test(text))?.means ?? TRY_LATER
}
