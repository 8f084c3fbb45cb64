import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.ts'
import { startCpuClock } from '../../../test/support/faults/cpu-clock.ts'
import { classify, fingerprintOf, waitBeforeRetry } from './classify.ts'
import type { Stage } from './transport.ts'

/** `account or domain`: retried and counted; many in a row pause the sender domain. `slower`: the whole installation slows down. */
type Expected = 'retry' | 'throttled' | 'slower' | 'fail' | 'unknown recipient' | 'account or domain' | 'domain' | 'provider' | 'this email'

const BOB = 'bob@example.com'

function expectationOf(response: string, at: Stage = 'recipient', recipient = BOB): Expected {
  const outcome = { is: 'refused', at, code: Number(response.slice(0, 3)), response } as const
  const { action, about, unknownRecipient, throttled, repeatable, reason } = classify(outcome, recipient)
  expect(reason).toBe(response)
  expect([unknownRecipient, throttled, repeatable].filter(Boolean).length).toBeLessThan(2)
  if (about === 'email') return 'this email'
  if (action === 'fail') {
    expect(repeatable).toBe(unknownRecipient ? undefined : true)
    return unknownRecipient ? 'unknown recipient' : 'fail'
  }
  expect(action).toBe('retry')
  if (about === 'provider') return throttled ? 'slower' : 'provider'
  if (about === 'sender-domain') return 'domain'
  return throttled ? 'throttled' : repeatable ? 'account or domain' : 'retry'
}

describe('a reply', () => {
  test.each<[Expected, string]>([
    // Gmail
    [
      'unknown recipient',
      "550-5.1.1 The email account that you tried to reach does not exist. Please try\r\n550-5.1.1 double-checking the recipient's email address for typos or\r\n550 5.1.1 unnecessary spaces. https://support.google.com/mail/?p=NoSuchUser x1-si1 - gsmtp",
    ],
    [
      'fail',
      '550-5.2.1 The email account that you tried to reach is disabled. Learn more at\n550 5.2.1 https://support.google.com/mail/?p=DisabledUser x1-si1 - gsmtp',
    ],
    [
      'retry',
      '450-4.2.1 The user you are trying to contact is receiving mail at a rate that\r\n450 4.2.1 prevents additional messages from being delivered. x1-si1 - gsmtp',
    ],
    [
      'fail',
      '550-5.2.1 The user you are trying to contact is receiving mail too quickly. Please resend\r\n550 5.2.1 your message at a later time. x1-si1 - gsmtp',
    ],
    [
      'retry',
      "452-4.2.2 The recipient's inbox is out of storage space. Please direct the\r\n452 4.2.2 recipient to https://support.google.com/mail/?p=OverQuotaTemp x1-si1 - gsmtp",
    ],
    [
      'fail',
      '552-5.2.2 The email account that you tried to reach is over quota and inactive.\r\n552 5.2.2 https://support.google.com/mail/?p=OverQuotaPerm x1-si1 - gsmtp',
    ],
    [
      'throttled',
      '421-4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address. To protect our\r\n421 4.7.28 users from spam, mail sent from your IP address has been temporarily rate limited. - gsmtp',
    ],
    ['throttled', '421 4.7.0 Try again later, closing connection. (EHLO) x1-si1 - gsmtp'],
    [
      'account or domain',
      '550-5.7.26 Your email has been blocked because the sender is unauthenticated.\r\n550-5.7.26 Gmail requires all senders to authenticate with either SPF or DKIM. - gsmtp',
    ],
    ['account or domain', '550-5.7.27 Your email has been blocked because SPF did not pass. x1-si1 - gsmtp'],
    ['account or domain', '550-5.7.30 Your email has been blocked because DKIM did not pass. x1-si1 - gsmtp'],
    ['account or domain', '550-5.7.25 The IP address sending this message does not have a PTR record setup. x1-si1 - gsmtp'],
    [
      'fail',
      '550-5.7.1 [192.0.2.1] Gmail has detected that this message is likely unsolicited mail. To reduce\r\n550 5.7.1 the amount of spam sent to Gmail, this message has been blocked. - gsmtp',
    ],
    ['fail', '552-5.7.0 This message was blocked because its content presents a potential security issue. x1-si1 - gsmtp'],
    ['this email', "552 5.3.4 Your message exceeded Google's message size limits. x1-si1 - gsmtp"],
    [
      'account or domain',
      '535-5.7.8 Username and Password not accepted. For more information, go to\r\n535 5.7.8 https://support.google.com/mail/?p=BadCredentials x1-si1 - gsmtp',
    ],
    ['account or domain', '550 5.4.5 Daily user sending limit exceeded. For more information on Gmail sending limits go to x1-si1 - gsmtp'],
    // Outlook and Exchange Online
    [
      'fail',
      '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302). [DB5EUR03FT001.eop-EUR03.prod.protection.outlook.com]',
    ],
    [
      'unknown recipient',
      '550 5.4.1 Recipient address rejected: Access denied. For more information see https://aka.ms/EXOSmtpErrors [DB5EUR03FT001]',
    ],
    ['unknown recipient', '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient bob@example.com not found by SMTP address lookup'],
    [
      'account or domain',
      "550 5.7.515 Access denied, sending domain EXAMPLE.COM doesn't meet the required authentication level. [DB5EUR03FT001]",
    ],
    [
      'account or domain',
      '550 5.7.509 Access denied, sending domain EXAMPLE.COM does not pass DMARC verification and has a DMARC policy of reject.',
    ],
    [
      'fail',
      "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3150).",
    ],
    [
      'fail',
      "550 SC-001 (COL004-MC1F3) Unfortunately, messages from 192.0.2.1 weren't sent. Please contact your Internet service provider.",
    ],
    [
      'throttled',
      '451 4.7.650 The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation. For e-mail delivery information see https://aka.ms/postmaster (S775)',
    ],
    ['throttled', '451 4.7.500 Server busy. Please try again later from [192.0.2.1]. (S77714) [DB5EUR03FT001]'],
    ['throttled', '432 4.3.2 Concurrent connections limit exceeded. Visit https://aka.ms/concurrent_sending for more information.'],
    ['retry', '451 4.3.2 Temporary server error. Please try again later ATTR5 [DB5EUR03FT001]'],
    ['account or domain', '550 5.1.8 Access denied, bad outbound sender AS(42004)'],
    ['account or domain', '550 5.7.708 Service unavailable. Access denied, traffic not accepted from this IP.'],
    ['account or domain', '535 5.7.139 Authentication unsuccessful, basic authentication is disabled. [DB5EUR03FT001]'],
    ['account or domain', '554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException; Failed to process message'],
    ['account or domain', '530 5.7.57 Client not authenticated to send mail. [DB5EUR03FT001]'],
    // Yahoo
    [
      'unknown recipient',
      "554 delivery error: dd This user doesn't have a yahoo.com account (bob@yahoo.com) [0] - mta4001.mail.ne1.yahoo.com",
    ],
    ['fail', '554 30 Sorry, your message to bob@yahoo.com cannot be delivered. This mailbox is disabled (554.30).'],
    ['unknown recipient', '552 1 Requested mail action aborted, mailbox not found'],
    [
      'throttled',
      '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints - 4.16.55.1; see https://postmaster.yahooinc.com/error-codes',
    ],
    ['retry', '451 Message temporarily deferred - [170]'],
    ['fail', '554 5.7.9 Message not accepted for policy reasons. See https://postmaster.yahooinc.com/error-codes'],
    [
      'fail',
      "553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1, because the ip is in Spamhaus's list; see http://postmaster.yahoo.com/550-bl23.html",
    ],
    // Postfix, Exim, qmail
    ['unknown recipient', '550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown in virtual mailbox table'],
    ['unknown recipient', '550 5.1.2 <bob@nowhere.example>: Recipient address rejected: Domain not found'],
    ['unknown recipient', '556 5.1.10 <bob@example.com>: Recipient address rejected: Domain example.com does not accept mail (nullMX)'],
    ['unknown recipient', '550 Unknown user'],
    ['unknown recipient', '550 No Such User Here"'],
    ['unknown recipient', '550 sorry, no mailbox here by that name (#5.1.1)'],
    ['unknown recipient', '553 <bob@example.com>... No such user here'],
    ['retry', '450 4.1.2 <bob@nowhere.example>: Recipient address rejected: Domain not found'],
    [
      'retry',
      '450 4.2.0 <bob@example.com>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/help/example.com.html',
    ],
    ['retry', '451 4.7.1 Greylisting in action, please come back later'],
    ['retry', '452 4.3.1 Insufficient system storage'],
    ['retry', '452 4.2.2 <bob@example.com>: mailbox size limit exceeded'],
    ['fail', '552 5.2.2 <bob@example.com>: Quota exceeded (mailbox for user is full)'],
    ['fail', '550 5.1.8 <ada@example.com>: Sender address rejected: Domain not found'],
    ['fail', '550 5.1.0 <ada@example.com>: Sender address rejected: User unknown in virtual alias table'],
    ['account or domain', '553 5.7.1 <ada@example.com>: Sender address rejected: not owned by user mailer'],
    ['account or domain', '554 5.7.1 <bob@example.com>: Relay access denied'],
    ['retry', '454 4.7.1 <bob@example.com>: Relay access denied'],
    ['account or domain', '535 5.7.8 Error: authentication failed: UGFzc3dvcmQ6'],
    ['retry', '454 4.7.0 Temporary authentication failure: Connection lost to authentication server'],
    ['throttled', '421 4.7.0 mail.example.com Error: too many errors'],
    ['throttled', '421 4.7.0 mail.example.com Error: too many connections from 192.0.2.1'],
    ['throttled', '450 4.7.1 Error: too much mail from 192.0.2.1'],
    ['retry', '421 4.4.2 mail.example.com Error: timeout exceeded'],
    ['throttled', '421 4.3.2 Service shutting down and closing transmission channel'],
    [
      'fail',
      '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org; https://www.spamhaus.org/query/ip/192.0.2.1',
    ],
    ['this email', '552 5.3.4 Message size exceeds fixed limit'],
    ['fail', '550 Message rejected: this looks like spam from an unknown user'],
    ['fail', '550 Administrative prohibition'],
    ['fail', '554'],
    // SES
    ['slower', '454 Throttling failure: Maximum sending rate exceeded.'],
    ['retry', '454 Throttling failure: Daily message quota exceeded.'],
    ['retry', '454 Temporary service failure'],
    ['account or domain', '535 Authentication Credentials Invalid'],
    ['account or domain', '530 Authentication required'],
    [
      'account or domain',
      '554 Message rejected: Sending paused for this account. For more information, please check the inbox of the email address',
    ],
    [
      'account or domain',
      "554 Access denied: User `arn:aws:iam::123456789012:user/x' is not authorized to perform `ses:SendRawEmail' on resource",
    ],
    [
      'account or domain',
      '554 Message rejected: Email address is not verified. The following identities failed the check in region US-EAST-1: ada@example.com',
    ],
    ['fail', '554 Message rejected: Message contains a virus'],
    ['fail', "554 Transaction failed: Duplicate header 'Subject'."],
    ['retry', '451 4.4.2 Timeout waiting for data from client.'],
    // GMX and web.de, for messages they dislike
    ['fail', '550 Requested action not taken: mailbox unavailable. Reject due to policy restrictions.'],
    // Odd ones
    ['retry', '250 Ok'],
    ['retry', '354 go on'],
  ])('means %s: %s', (expected, response) => {
    expect(expectationOf(response)).toBe(expected)
  })

  test('means the same whatever its line breaks', () => {
    const words = '550 5.1.1 The email account that you tried to reach does not exist'
    expect(expectationOf(words.replace('account ', 'account\r\n550 5.1.1 ').replace('550 ', '550-'))).toBe('unknown recipient')
    expect(expectationOf("554-delivery error: dd This user\r\n554-doesn't have a\r\n554 yahoo.com account")).toBe('unknown recipient')
    expect(expectationOf('454-Throttling failure:\r\n454 Maximum sending\r\n454 rate exceeded.')).toBe('slower')
  })

  test('is classified for every code and text, and a temporary code never fails the email', () => {
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), fc.string({ unit: anyCharacter }), (code, text) => {
        const { action, unknownRecipient } = classify({ is: 'refused', at: 'recipient', code, response: `${code} ${text}` }, BOB)
        if (code < 500) expect(action).toBe('retry')
        else expect(['retry', 'fail']).toContain(action)
        if (unknownRecipient) expect(action).toBe('fail')
      }),
    )
  })

  test('is classified quickly even if it is crafted to be slow', () => {
    const cpuMs = startCpuClock()
    for (const part of ['user ', 'a ', ' ', 'daily x ', '\n550 ', 'address address '])
      classify({ is: 'refused', at: 'recipient', code: 550, response: `550 ${part.repeat(64_000 / part.length)}` }, BOB)
    expect(cpuMs()).toBeLessThan(1_000)
  })
})

describe('the same reply', () => {
  const SUSPENDED = '550 Your account has been disabled, please contact support'

  test('to the session concerns the provider and never the recipient', () => {
    for (const response of [SUSPENDED, '554 5.7.1 Client host blocked', '535 5.7.8 no', '550 5.1.1 No such user', '421 4.3.2 later', '550'])
      expect(expectationOf(response, 'session')).toBe('provider')
    expect(classify({ is: 'not-sent', at: 'session', error: 'ECONNREFUSED' }, BOB)).toMatchObject({ action: 'retry', about: 'provider' })
  })

  test('to a further connection while others work only slows down, unless it is permanent', () => {
    const busy = (code: number) =>
      classify({ is: 'refused', at: 'session', busy: true, code, response: `${code} too many connections` }, BOB)
    expect(busy(421)).toMatchObject({ about: 'provider', throttled: true })
    expect(busy(554)).toMatchObject({ about: 'provider', throttled: false })
  })

  test('to MAIL FROM concerns the sender domain and never the recipient', () => {
    for (const response of [
      SUSPENDED,
      '550 5.1.1 User unknown',
      '553 5.7.1 not owned by user',
      '451 4.3.0 later',
      '530 5.7.0 authenticate first',
    ])
      expect(expectationOf(response, 'sender')).toBe('domain')
  })

  test('about the sending rate of the account slows the installation, at any command', () => {
    for (const at of ['sender', 'recipient', 'message'] as const)
      expect(expectationOf('454 Throttling failure: Maximum sending rate exceeded.', at)).toBe('slower')
  })

  test('to MAIL FROM about size or syntax concerns this one email', () => {
    for (const response of [
      '552 5.3.4 too big',
      '501 5.1.7 Bad sender address syntax',
      '555 5.5.4 Unsupported option',
      '500 5.5.2 Syntax error',
    ])
      expect(expectationOf(response, 'sender')).toBe('this email')
  })

  test('to RCPT TO or the message concerns that recipient', () => {
    for (const at of ['recipient', 'message'] as const) {
      expect(expectationOf('554 5.7.1 <x@example.com>: Relay access denied', at)).toBe('account or domain')
      expect(expectationOf('450 4.7.1 Too many messages to this mailbox', at)).toBe('throttled')
      expect(expectationOf('550 5.1.1 No such user', at)).toBe('unknown recipient')
    }
  })
})

test('refusals that differ only in addresses, hosts and ids have one fingerprint', () => {
  const fingerprint = (name: string, id: string) =>
    fingerprintOf(`550 5.7.1 <${name}@example.com>: rejected by mx${id}.example.net [192.0.2.${id}] (${id})`, `${name}@example.com`)
  expect(fingerprint('ada', '17')).toBe(fingerprint('grace', '4'))
  expect(fingerprintOf('550 5.7.1 rejected as spam', BOB)).not.toBe(fingerprintOf('550 5.7.26 rejected as spam', BOB))
  const unknown = (name: string, text: string) => fingerprintOf(text.replaceAll('NAME', name), `${name}@example.com`)
  for (const text of [
    '553 <NAME@example.com>... No such user here',
    '550 5.1.1 NAME: unknown user',
    '550 Account 4711 of (NAME) is inactive',
  ])
    expect(unknown('ada', text)).toBe(unknown('grace.hopper+x', text))
})

test('an accepted email is sent, one lost before the final dot is retried, one lost after it is unknown', () => {
  expect(classify({ is: 'accepted', response: '250 Ok' }, BOB)).toEqual({ action: 'sent', reason: null })
  expect(classify({ is: 'not-sent', at: 'message', error: 'reset' }, BOB)).toEqual({ action: 'retry', about: 'recipient', reason: 'reset' })
  expect(classify({ is: 'unknown', error: 'no reply' }, BOB)).toEqual({ action: 'unknown', reason: 'no reply' })
})

/** The waits in minutes of an email that always fails. */
function waitsOf() {
  const waits: number[] = []
  for (let failures = 0; ; failures++) {
    const wait = waitBeforeRetry({ failures })
    if (wait === null) return waits
    waits.push(wait / 60)
  }
}

test('a failing email is retried after a minute, then less and less often, at least every six hours, for three days', () => {
  for (let run = 0; run < 200; run++) {
    const waits = waitsOf()
    const nominal = [1, 2, 5, 10, 20, 40, 60, 120, 240, ...waits.slice(9, -1).map(() => 360)]
    for (const [index, wait] of waits.slice(0, -1).entries()) {
      expect(wait).toBeGreaterThanOrEqual(nominal[index]! * 0.8)
      expect(wait).toBeLessThanOrEqual(nominal[index]! * 1.2)
    }
    const last = 72 * 60 - nominal.reduce((sum, wait) => sum + wait, 0)
    expect(waits.at(-1)!).toBeLessThanOrEqual(last)
    expect(waits).toHaveLength(20)
  }
})

test('emails that failed together are retried at different times', () => {
  const waits = Array.from({ length: 100 }, () => waitBeforeRetry({ failures: 3 })!)
  expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(120)
})
