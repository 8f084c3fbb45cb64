import type { Body } from '@sterna/sdk'

type NewTemplate = Body<'POST /templates'>
export type Starter = { id: string; label: string; name: string } & Pick<NewTemplate, 'type' | 'subject' | 'body'>

/** One column that every mail program shows alike, with a dark mode where it is supported. */
const layout = (content: string[]) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <meta name="color-scheme" content="light dark">
    <style>
      body { margin: 0; background: #f4f6f8; color: #1c2730; font: 16px/1.5 -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
      .card { max-width: 560px; margin: 0 auto; padding: 32px; background: #ffffff; }
      h1 { margin: 0 0 16px; font-size: 24px; line-height: 1.3; }
      h2 { margin: 24px 0 8px; font-size: 18px; line-height: 1.3; }
      .button { display: inline-block; padding: 12px 20px; border-radius: 6px; background: #0b6e82; color: #ffffff; text-decoration: none; }
      .small { color: #50656f; font-size: 13px; }
      @media (prefers-color-scheme: dark) {
        body { background: #10181c; color: #e7eff2; }
        .card { background: #18242a; }
        .small { color: #9aaeb8; }
      }
    </style>
  </head>
  <body>
    <div class="card">
${content.map((line) => `      ${line}`).join('\n')}
    </div>
  </body>
</html>
`

const button = (label: string, href: string) => `<p><a class="button" href="${href}">${label}</a></p>`
const hello = '<p>Hello {{ firstName ?? "there" }},</p>'

/** Texts that a new template or campaign can start from. */
export const STARTERS: Starter[] = [
  {
    id: 'blank',
    label: 'Blank',
    name: '',
    type: 'TRANSACTIONAL',
    subject: 'New template',
    body: layout(['<p>Hello {{ firstName ?? "there" }},</p>', '<p></p>']),
  },
  {
    id: 'welcome',
    label: 'Welcome',
    name: 'Welcome',
    type: 'MARKETING',
    subject: 'Welcome, {{ firstName ?? "and thank you for joining" }}',
    body: layout([
      '<h1>Good to have you here</h1>',
      hello,
      '<p>Your account is ready. The first step takes two minutes.</p>',
      button('Get started', 'https://example.com/start'),
    ]),
  },
  {
    id: 'confirm',
    label: 'Confirm an address',
    name: 'Confirm your address',
    type: 'TRANSACTIONAL',
    subject: 'Confirm your email address',
    body: layout([
      '<h1>Is this your address?</h1>',
      '<p>Confirm {{ email }} to finish signing up. The link works for one day.</p>',
      button('Confirm my address', '{{ confirmUrl }}'),
      '<p class="small">You did not sign up? Ignore this email.</p>',
    ]),
  },
  {
    id: 'password',
    label: 'Password reset',
    name: 'Password reset',
    type: 'TRANSACTIONAL',
    subject: 'Choose a new password',
    body: layout([
      '<h1>Choose a new password</h1>',
      '<p>Someone asked to reset the password of {{ email }}. The link works for one hour.</p>',
      button('Choose a password', '{{ resetUrl }}'),
      '<p class="small">It was not you? Your password stays as it is.</p>',
    ]),
  },
  {
    id: 'code',
    label: 'Sign-in code',
    name: 'Sign-in code',
    type: 'TRANSACTIONAL',
    subject: '{{ code }} is your sign-in code',
    body: layout([
      '<h1>Your sign-in code</h1>',
      '<p style="font-size: 28px; letter-spacing: 4px"><strong>{{ code }}</strong></p>',
      '<p class="small">It works for ten minutes. Never pass it on.</p>',
    ]),
  },
  {
    id: 'receipt',
    label: 'Receipt',
    name: 'Receipt',
    type: 'TRANSACTIONAL',
    subject: 'Your receipt {{ number ?? "" }}',
    body: layout([
      '<h1>Thank you for your order</h1>',
      '<table role="presentation" width="100%">',
      '  {% for item in items %}',
      '  <tr><td>{{ item.name }}</td><td align="right">{{ item.price }}</td></tr>',
      '  {% endfor %}',
      '  <tr><td><strong>Total</strong></td><td align="right"><strong>{{ total }}</strong></td></tr>',
      '</table>',
    ]),
  },
  {
    id: 'invitation',
    label: 'Invitation',
    name: 'Invitation',
    type: 'TRANSACTIONAL',
    subject: '{{ inviter ?? "A colleague" }} invited you',
    body: layout([
      '<h1>You are invited</h1>',
      '<p>{{ inviter ?? "A colleague" }} would like to work with you on {{ team ?? "a project" }}.</p>',
      button('Accept the invitation', '{{ invitationUrl }}'),
    ]),
  },
  {
    id: 'trial',
    label: 'Trial ending',
    name: 'Trial ending',
    type: 'MARKETING',
    subject: 'Your trial ends in {{ daysLeft ?? "a few" }} days',
    body: layout([
      '<h1>Your trial ends soon</h1>',
      hello,
      '<p>In {{ daysLeft ?? "a few" }} days your trial is over. Choose a plan to keep everything you built.</p>',
      button('See the plans', 'https://example.com/plans'),
    ]),
  },
  {
    id: 'newsletter',
    label: 'Newsletter',
    name: 'Newsletter',
    type: 'MARKETING',
    subject: 'What is new this month',
    body: layout([
      '<h1>What is new this month</h1>',
      '<h2>First story</h2>',
      '<p>Two or three sentences. <a href="https://example.com/first">Read on</a></p>',
      '<h2>Second story</h2>',
      '<p>Two or three sentences. <a href="https://example.com/second">Read on</a></p>',
      '<p class="small"><a href="{{ unsubscribeUrl }}">Unsubscribe</a></p>',
    ]),
  },
  {
    id: 'announcement',
    label: 'Announcement',
    name: 'Announcement',
    type: 'MARKETING',
    subject: 'Something new is here',
    body: layout([
      '<h1>Something new is here</h1>',
      '<p>What it is, and what it does for you, in one sentence.</p>',
      button('Have a look', 'https://example.com/new'),
    ]),
  },
  {
    id: 'win-back',
    label: 'Win back',
    name: 'Win back',
    type: 'MARKETING',
    subject: 'We have not seen you for a while',
    body: layout([
      '<h1>It has been a while</h1>',
      hello,
      '<p>A lot has changed since your last visit. Your account is as you left it.</p>',
      button('Come back', 'https://example.com'),
    ]),
  },
]
