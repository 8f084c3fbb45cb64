import { expect, test } from 'vitest'
import { classify } from './classify.ts'
import type { Stage } from './transport.ts'

// Replies of real servers, each at every command. Many servers refuse us only after RCPT TO, since Postfix delays its checks until then.

/** The commands of a session, and the party that a refusal of each can be about. */
const COMMANDS: [string, Stage][] = [
  ['greeting', 'session'],
  ['EHLO', 'session'],
  ['AUTH', 'session'],
  ['MAIL FROM', 'sender'],
  ['RCPT TO', 'recipient'],
  ['DATA', 'message'],
  ['the final dot', 'message'],
]

const BOB = 'bob@example.com'

const meaningOf = (response: string, at: Stage, recipient = BOB) =>
  classify({ is: 'refused', at, code: Number(response.slice(0, 3)), response }, recipient)

/** Permanent refusals that are about us: the account, the address, the domain or the message. */
const ABOUT_US = [
  // Relays, about an account or a customer
  '550 Your account has been disabled, please contact support',
  '554 Message rejected: account 4711 is inactive',
  '550 Domain shop.example not found in our customer database',
  '550 Mail from your domain is disabled: domain suspended, account inactive',
  '550 5.1.1 Your account has been disabled',
  '550 5.1.1 Account 4711 is suspended',
  '550 5.1.2 Domain shop.example not found in our customer database',
  '550 5.1.1 Unknown user: the IP 192.0.2.7 is not in the allow list of this account',
  '550 User unknown: client host [192.0.2.7] rejected',
  '550 Unusual sending activity detected for this account',
  '550 Monthly quota used up',
  '550 192.0.2.7 is not in the allow list',
  '550 Unknown user, authentication required',
  '553 No such user: sender mailer is not allowed',
  '550 The sending limit of this customer account is reached',
  // Postfix
  '554 5.7.1 Service unavailable; Client host [192.0.2.7] blocked using zen.spamhaus.org; https://www.spamhaus.org/query/ip/192.0.2.7',
  '550 5.7.1 <relay.example>: Helo command rejected: Host not found',
  '504 5.5.2 <localhost>: Helo command rejected: need fully-qualified hostname',
  '550 5.1.8 <news@shop.example>: Sender address rejected: Domain not found',
  '550 5.1.0 <news@shop.example>: Sender address rejected: User unknown in virtual mailbox table',
  '554 5.7.1 <unknown[192.0.2.7]>: Client host rejected: Access denied',
  '550 5.7.23 <bob@example.com>: Recipient address rejected: Message rejected due to: SPF fail - not authorized',
  '550 5.1.1 <bob@example.com>: Recipient address rejected: unknown user in relay recipient table',
  '554 5.7.1 <bob@example.com>: Relay access denied',
  // Exchange Online
  '550 5.7.606 Access denied, banned sending IP [192.0.2.7]. To request removal from this list please visit https://sender.office.com/',
  '550 5.7.1 Service unavailable, Client host [192.0.2.7] blocked using Spamhaus (S3140)',
  '550 5.7.511 Access denied, banned sender[192.0.2.7]',
  '550 5.7.23 The message was rejected because of Sender Policy Framework violation -> 550 5.7.1 SPF fail',
  '550 5.7.509 Access denied, sending domain SHOP.EXAMPLE does not pass DMARC verification and has a DMARC policy of reject.',
  '554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException; Failed to process message',
  '550 5.1.8 Access denied, bad outbound sender AS(42004)',
  // Gmail
  '550-5.7.26 Your email has been blocked because the sender is unauthenticated.\r\n550 5.7.26 Gmail requires all senders to authenticate. - gsmtp',
  '550-5.7.1 [192.0.2.7] The IP you are using to send mail is not authorized to send email\r\n550 5.7.1 directly to our servers. - gsmtp',
  '550 5.7.1 Our system has detected that this message is likely suspicious due to the very low reputation of the sending domain. - gsmtp',
  '550 5.4.5 Daily user sending limit exceeded. - gsmtp',
  // Yahoo
  '554 5.7.9 Message not accepted for policy reasons. See https://postmaster.yahooinc.com/error-codes',
  '553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.7, because the ip is in Spamhaus',
  '554 Message not allowed - [PH01] Email not accepted for policy reasons. Please visit https://help.yahoo.com',
  // Amazon SES
  '554 Message rejected: Sending paused for this account. For more information, please check the inbox of the email address',
  '554 Message rejected: Email address is not verified. The following identities failed the check in region EU-WEST-1: news@shop.example',
  '554 Message rejected: Your account is at risk of being suspended',
  // Mailgun
  '550 5.7.1 Domain shop.example is not allowed to send: Free accounts are for test purposes only',
  '550 5.7.1 Your account is temporarily disabled. (Business verification)',
  // Postmark
  '550 5.7.1 Inactive server: the account of the sender is not approved yet',
  '422 The Sender Signature is not verified',
  // Proofpoint
  '550 5.7.0 Local Policy Violation',
  '554 5.7.1 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.7',
  '554 Blocked - see https://support.proofpoint.com/dnsbl-lookup.cgi?ip=192.0.2.7',
  // Barracuda
  '554 Service unavailable; Client host [mx.shop.example] blocked using Barracuda Reputation; http://www.barracudanetworks.com/reputation/',
  '550 permanent failure for one or more recipients (bob@example.com:blocked)',
  '550 Mailbox unknown or your sending rate is too high',
]

/** Refusals for now: greylisting, rates and outages. */
const FOR_NOW = [
  '450 4.2.0 <bob@example.com>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/help/example.com.html',
  '451 4.7.1 Greylisting in action, please come back later',
  '450 4.1.1 <bob@example.com>: Recipient address rejected: unverified address: Address lookup failed',
  '451 4.7.500 Server busy. Please try again later from [192.0.2.7]. (S77714)',
  '421 4.7.0 [TSS04] Messages from 192.0.2.7 temporarily deferred due to unexpected volume or user complaints',
  '450 4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.',
  '452 4.2.2 The recipient is over quota',
  '454 4.7.0 Temporary authentication failure',
  '451 Your account is temporarily limited',
]

/** Genuine unknown recipients. */
const UNKNOWN: [string, string?][] = [
  // Postfix, Exim, qmail, sendmail
  ['550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown in virtual mailbox table'],
  ['550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown in local recipient table'],
  ['550 5.1.2 <bob@nowhere.example>: Recipient address rejected: Domain not found', 'bob@nowhere.example'],
  ['550 No such user here'],
  ['550 Unknown user'],
  ['550 bob@example.com: recipient not found'],
  ['550 User bob@example.com does not exist'],
  ['550 sorry, no mailbox here by that name (#5.1.1)'],
  ['553 5.3.0 <bob@example.com>... User unknown'],
  // Exchange, Exchange Online
  ['550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient bob@example.com not found by SMTP address lookup'],
  ['550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [DB5EUR03FT001]'],
  ['550 5.4.1 [bob@example.com]: Recipient address rejected: Access denied. [DB5EUR03FT001]'],
  ['550 5.1.1 RESOLVER.ADR.ExRecipNotFound; not found'],
  // Gmail
  [
    "550-5.1.1 The email account that you tried to reach does not exist. Please try\r\n550-5.1.1 double-checking the recipient's email address for typos or\r\n550 5.1.1 unnecessary spaces. https://support.google.com/mail/?p=NoSuchUser x1-si1 - gsmtp",
  ],
  // Yahoo
  ["554 delivery error: dd This user doesn't have a yahoo.com account (bob@yahoo.com) [0] - mta4001.mail.ne1.yahoo.com", 'bob@yahoo.com'],
  ['552 1 Requested mail action aborted, mailbox not found'],
  // Amazon SES, Mailgun, Postmark, Proofpoint, Barracuda
  ['550 5.1.1 user unknown'],
  ['550 5.1.3 Invalid address'],
  ["550 5.1.1 The recipient's mailbox does not exist"],
  ['550 5.1.1 <bob@example.com> User Unknown'],
  ['550 5.1.1 User Unknown - psmtp'],
  ['550 No such user (bob@example.com)'],
  // Null MX, and a mailbox that has moved
  ['556 5.1.10 <bob@example.com>: Recipient address rejected: Domain example.com does not accept mail (nullMX)'],
  ['550 5.1.6 Recipient no longer on server'],
  // Names of the recipient are no words about us.
  ['550 5.1.1 <quota@policy.example>: unknown user', 'quota@policy.example'],
  ['550 5.1.1 user unknown at relay.example, <your@relay.example>', 'your@relay.example'],
  ['550 5.1.1 <Sender@Example.COM>: User unknown', 'sender@example.com'],
]

test.each(ABOUT_US.map((reply) => [reply]))('at no command suppresses a recipient: %s', (reply) => {
  for (const [command, at] of COMMANDS) {
    const { unknownRecipient = false, about } = meaningOf(reply, at)
    expect([command, unknownRecipient]).toEqual([command, false])
    if (at === 'session') expect(about).toBe('provider')
  }
})

test.each(FOR_NOW.map((reply) => [reply]))('at no command ends an email: %s', (reply) => {
  for (const [command, at] of COMMANDS) expect([command, meaningOf(reply, at).action]).toEqual([command, 'retry'])
})

test.each(UNKNOWN)('is a hard bounce after RCPT TO, DATA and the dot: %s', (reply, recipient) => {
  for (const [command, at] of COMMANDS) {
    const { unknownRecipient = false } = meaningOf(reply, at, recipient)
    expect([command, unknownRecipient]).toEqual([command, at === 'recipient' || at === 'message'])
  }
})

test('a permanent refusal of us at RCPT TO or at the dot is counted, however the server puts it', () => {
  for (const reply of ABOUT_US.filter((each) => each.startsWith('5')))
    for (const at of ['recipient', 'message'] as const)
      expect([reply, meaningOf(reply, at)]).toMatchObject([
        reply,
        { about: 'recipient', repeatable: true, fingerprint: expect.any(String) },
      ])
})
