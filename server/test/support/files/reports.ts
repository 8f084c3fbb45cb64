/** What a report says about the email it concerns. */
export type Reported = { returnPath: string; recipient: string; messageId: string; id: string }

type Shape = (email: Reported) => string

const original = ({ messageId, recipient, id }: Reported) => `From: Shop <news@shop.example>
To: ${recipient}
Subject: Hi
Message-ID: <${messageId}>
X-Sterna-Id: ${id}`

const part = (boundary: string, parts: string[]) => `${parts.map((each) => `--${boundary}\n${each}`).join('\n')}\n--${boundary}--\n`

/** A report with the given groups of fields, one per recipient, for tests that do not depend on a provider's format. */
export const report =
  (groups: string[]): Shape =>
  (email) =>
    `From: MAILER-DAEMON@mx.receiver.example
To: ${email.returnPath}
Subject: Delivery report
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

${part('b', [
  'Content-Type: text/plain\n\nAbout your message.',
  `Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.receiver.example\n\n${groups.join('\n\n')}\n`,
  `Content-Type: text/rfc822-headers\n\n${original(email)}`,
])}`

export const postfix: Shape = (email) => `Return-Path: <>
Received: by mail.receiver.example (Postfix)
	id 4F0A21C0B3; Sun, 15 Nov 2026 10:00:00 +0000 (UTC)
Date: Sun, 15 Nov 2026 10:00:00 +0000 (UTC)
From: MAILER-DAEMON@mail.receiver.example (Mail Delivery System)
Subject: Undelivered Mail Returned to Sender
To: ${email.returnPath}
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
	boundary="1F3C51C0AA.1763200800/mail.receiver.example"
Content-Transfer-Encoding: 8bit
Message-Id: <20261115100000.4F0A21C0B3@mail.receiver.example>

This is a MIME-encapsulated message.

${part('1F3C51C0AA.1763200800/mail.receiver.example', [
  `Content-Description: Notification
Content-Type: text/plain; charset=us-ascii

This is the mail system at host mail.receiver.example.

I'm sorry to have to inform you that your message could not
be delivered to one or more recipients. It's attached below.

<${email.recipient}>: host mx.receiver.example[192.0.2.1] said: 550 5.1.1
    <${email.recipient}>: Recipient address rejected: User unknown (in reply to RCPT TO command)
`,
  `Content-Description: Delivery report
Content-Type: message/delivery-status

Reporting-MTA: dns; mail.receiver.example
X-Postfix-Queue-ID: 1F3C51C0AA
X-Postfix-Sender: rfc822; ${email.returnPath}
Arrival-Date: Sun, 15 Nov 2026 09:59:58 +0000 (UTC)

Final-Recipient: rfc822; ${email.recipient}
Original-Recipient: rfc822;${email.recipient}
Action: failed
Status: 5.1.1
Remote-MTA: dns; mx.receiver.example
Diagnostic-Code: smtp; 550 5.1.1 <${email.recipient}>: Recipient address
    rejected: User unknown
`,
  `Content-Description: Undelivered Message Headers
Content-Type: text/rfc822-headers

Return-Path: <${email.returnPath}>
${original(email)}
`,
])}`

export const exim: Shape = (email) => `Received: from Debian-exim by mx.receiver.example with local (Exim 4.96)
	id 1r3AbC-0001xY-2z
	for ${email.returnPath}; Sun, 15 Nov 2026 10:00:00 +0000
X-Failed-Recipients: ${email.recipient}
Auto-Submitted: auto-replied
From: Mail Delivery System <Mailer-Daemon@mx.receiver.example>
To: ${email.returnPath}
References: <${email.messageId}>
Content-Type: multipart/report; report-type=delivery-status; boundary=1763200800-eximdsn-1804289383
MIME-Version: 1.0
Subject: Mail delivery failed: returning message to sender
Message-Id: <E1r3AbC-0001xY-2z@mx.receiver.example>
Date: Sun, 15 Nov 2026 10:00:00 +0000

${part('1763200800-eximdsn-1804289383', [
  `Content-type: text/plain; charset=us-ascii

This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  ${email.recipient}
    host mx.receiver.example [192.0.2.1]
    SMTP error from remote mail server after RCPT TO:<${email.recipient}>:
    550 5.1.1 No such user here
`,
  `Content-type: message/delivery-status

Reporting-MTA: dns; mx.receiver.example

Action: failed
Final-Recipient: rfc822;${email.recipient}
Status: 5.0.0
Remote-MTA: dns; mx.receiver.example
Diagnostic-Code: smtp; 550 5.1.1 No such user here
`,
  `Content-type: message/rfc822

Return-path: <${email.returnPath}>
${original(email)}

Hello
`,
])}`

export const exchange: Shape = (email) => `From: <postmaster@receiver.example>
To: <${email.returnPath}>
Date: Sun, 15 Nov 2026 10:00:00 +0000
Content-Type: multipart/report; report-type=delivery-status;
	boundary="4a1d3f33-6cf0-4d8e-9f1a-6a6a2b7f1c11"
X-MS-Exchange-Message-Is-Ndr:
Content-Language: en-US
Message-ID: <c1e6fe9e-2ee8-4d0e-8dd0-9d6a3d4b7c55@receiver.example>
In-Reply-To: <${email.messageId}>
References: <${email.messageId}>
Subject: Undeliverable: Hi
Auto-Submitted: auto-replied
MIME-Version: 1.0

${part('4a1d3f33-6cf0-4d8e-9f1a-6a6a2b7f1c11', [
  `Content-Type: multipart/alternative; differences=Content-Type;
	boundary="alt"

--alt
Content-Type: text/plain; charset="us-ascii"
Content-Transfer-Encoding: quoted-printable

Delivery has failed to these recipients or groups:=0D=0A${email.recipient.replace('=', '=3D')}
--alt
Content-Type: text/html; charset="us-ascii"

<html><body>Delivery has failed</body></html>
--alt--
`,
  `Content-Type: message/delivery-status
Content-Transfer-Encoding: base64

${Buffer.from(
  `Reporting-MTA: dns;AM0PR01MB0001.eurprd01.prod.exchangelabs.com
Received-From-MTA: dns;relay.example
Arrival-Date: Sun, 15 Nov 2026 09:59:59 +0000

Original-Recipient: rfc822;${email.recipient}
Final-Recipient: rfc822;${email.recipient}
Action: failed
Status: 5.1.10
Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup
`.replaceAll('\n', '\r\n'),
)
  .toString('base64')
  .replace(/(.{76})/g, '$1\n')}`,
  `Content-Type: message/rfc822

${original(email)}

Hello
`,
])}`

export const gmail: Shape = (email) => `Return-Path: <>
Received: by 2002:a05:600c:0000::1 with SMTP id x1; Sun, 15 Nov 2026 02:00:00 -0800 (PST)
Content-Type: multipart/report; boundary="0000000000004c2a5d0641b2c3d4"; report-type=delivery-status
To: ${email.returnPath}
Auto-Submitted: auto-replied
X-Failed-Recipients: ${email.recipient}
From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>
Subject: Delivery Status Notification (Failure)
References: <${email.messageId}>
Message-ID: <6917a1b0.050a0220.1a2b3c.0001.GMR@mx.google.com>
Date: Sun, 15 Nov 2026 02:00:00 -0800 (PST)

${part('0000000000004c2a5d0641b2c3d4', [
  `Content-Type: multipart/related; boundary="rel"

--rel
Content-Type: multipart/alternative; boundary="alt"

--alt
Content-Type: text/plain; charset="UTF-8"

** Address not found **

--alt--
--rel
Content-Type: image/png; name="icon.png"
Content-Disposition: attachment; filename="icon.png"
Content-Transfer-Encoding: base64
Content-ID: <icon.png>

iVBORw0KGgo=
--rel--
`,
  `Content-Type: message/delivery-status

Reporting-MTA: dns; googlemail.com
Arrival-Date: Sun, 15 Nov 2026 01:59:59 -0800 (PST)
X-Original-Message-ID: <${email.messageId}>

Final-Recipient: rfc822; ${email.recipient}
Action: failed
Status: 5.1.1
Remote-MTA: dns; gmail-smtp-in.l.google.com. (192.0.2.26, the server for the domain example.com.)
Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please try
 550-5.1.1 double-checking the recipient's email address for typos or
 550 5.1.1 unnecessary spaces. a1-20020 - gsmtp
Last-Attempt-Date: Sun, 15 Nov 2026 02:00:00 -0800 (PST)
`,
  `Content-Type: message/rfc822

${original(email)}

Hello
`,
])}`

/** qmail sends plain text instead of a machine-readable report. */
export const qmail: Shape = (email) => `Received: (qmail 12345 invoked for bounce); 15 Nov 2026 10:00:00 -0000
Date: 15 Nov 2026 10:00:00 -0000
From: MAILER-DAEMON@receiver.example
To: ${email.returnPath}
Subject: failure notice

Hi. This is the qmail-send program at receiver.example.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<${email.recipient}>:
Sorry, no mailbox here by that name. (#5.1.1)

--- Below this line is a copy of the message.

${original(email)}

Hello
`

export const outOfOffice: Shape = (email) => `From: ${email.recipient}
To: ${email.returnPath}
Subject: Out of office
Auto-Submitted: auto-replied
Precedence: bulk
Content-Type: text/plain

I am away until 5.1.1, and my colleague said: 550 is the room.
`

type Complaint = { type?: string; fields?: string; header?: string; to?: string }

/** A complaint in the Abuse Reporting Format, as providers send it to a feedback address. */
export const complaint =
  ({ type = 'abuse', fields = '', header = '', to = 'fbl@bounces.example' }: Complaint = {}): Shape =>
  (email) =>
    `From: <feedback@receiver.example>
To: <${to}>
Subject: FW: Hi
Date: Sun, 15 Nov 2026 10:00:00 +0000
Message-ID: <arf-${email.id}@receiver.example>
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="part1"

${part('part1', [
  'Content-Type: text/plain; charset="US-ASCII"\nContent-Transfer-Encoding: 7bit\n\nThis is an email abuse report.\n',
  `Content-Type: message/feedback-report

Feedback-Type: ${type}
User-Agent: ReceiverFeedback/1.0
Version: 1
Original-Rcpt-To: <redacted@receiver.example>
${fields}Received-Date: Sun, 15 Nov 2026 09:00:00 +0000
Source-IP: 192.0.2.1
`,
  `Content-Type: message/rfc822\nContent-Disposition: inline\n\n${header}${original(email)}\n\nHello\n`,
])}`
