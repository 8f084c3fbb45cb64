import { BOTTOM, button, centred, field, heading, link, list, logo, paragraph, section, spacer, starter, TINT, TOP } from './build.ts'

/** Emails that belong to an account. Those that everybody must get have no footer: it would offer to unsubscribe from them. */
export const ACCOUNT = [
  starter('welcome', 'Welcome', [
    ...TOP,
    section(
      TINT,
      heading(1, 'Welcome, ', field('firstName', 'and good to have you'), '!'),
      paragraph('Your account is ready. Most people get their first result within ten minutes; here is the shortest way there.'),
      button('Open your account', 'https://example.com/start'),
    ),
    spacer(8),
    heading(2, 'Three steps to begin with'),
    list(
      'orderedList',
      ['Tell us what you want to do. It takes one minute, and everything else adapts to it.'],
      ['Invite the people you work with. Sharing is free.'],
      ['Try one of the examples. You can change all of it, or throw it away.'],
    ),
    paragraph('Questions? Just reply to this email. A person reads every answer.'),
    ...BOTTOM,
  ]),
  starter('confirmation', 'Confirm an address', [
    spacer(16),
    ...centred(
      logo(),
      spacer(8),
      heading(1, 'Please confirm your email address'),
      paragraph('You are one click away. Confirm that this address is yours, and we will take you straight to your account.'),
      button('Confirm my address', '{{ confirmUrl ?? "https://example.com/confirm" }}'),
      paragraph('The button works for 24 hours. If you did not sign up, you can ignore this email: nothing will happen.'),
    ),
    spacer(24),
  ]),
  starter('password-reset', 'Password reset', [
    ...TOP,
    heading(1, 'Choose a new password'),
    paragraph('Somebody, hopefully you, asked for a new password for ', field('email'), '. Click the button to choose one.'),
    button('Choose a new password', '{{ resetUrl ?? "https://example.com/reset" }}'),
    paragraph('The link works once, and for one hour. If it was not you, your password is unchanged and you need not do anything.'),
    section(
      TINT,
      paragraph('Worried about your account? ', link('Tell us', 'https://example.com/security'), ' and we will look at it together.'),
    ),
    spacer(16),
  ]),
  starter('magic-link', 'Sign-in link', [
    spacer(16),
    ...centred(
      logo(),
      spacer(8),
      heading(1, 'Your sign-in link'),
      paragraph('Click the button to sign in. No password needed.'),
      button('Sign in', '{{ signInUrl ?? "https://example.com/sign-in" }}'),
      paragraph('The link works once, and for 15 minutes. Opened it on another device? Ask for a new one there.'),
      paragraph('You did not ask for it? Then you can ignore this email: nobody can sign in without the link, and nothing was changed.'),
    ),
    spacer(24),
  ]),
  starter('invitation', 'Invitation', [
    ...TOP,
    section(
      TINT,
      ...centred(
        heading(1, field('inviter', 'A colleague'), ' invites you to join ', field('team', 'the team')),
        paragraph('See what the others are working on, comment on it, and add your own. It is free for you.'),
        button('Accept the invitation', '{{ inviteUrl ?? "https://example.com/invitation" }}'),
      ),
    ),
    paragraph('The invitation is open for seven days. Not expecting it? You can simply ignore this email.'),
    spacer(16),
  ]),
  starter('trial-ending', 'Trial ending', [
    ...TOP,
    heading(1, 'Your trial ends in ', field('daysLeft', '3'), ' days'),
    paragraph(
      'Hi ',
      field('firstName', 'there'),
      ', thank you for trying us out. To keep what you have built, choose a plan before then. Nothing is deleted for 30 days after the trial, so there is no hurry.',
    ),
    section(
      TINT,
      heading(3, 'What you keep'),
      list(
        'bulletList',
        ['Everything you made, with its history'],
        ['All people you invited'],
        ['Support by people who build the product'],
      ),
      button('Choose a plan', 'https://example.com/plans'),
    ),
    paragraph('Not the right time? ', link('Tell us what was missing', 'https://example.com/feedback'), '. It helps more than you think.'),
    ...BOTTOM,
  ]),
]
