import { button, field, heading, link, list, paragraph } from '../../templates/starters/build.ts'
import { exit, ifHappened, type Recipe, send, unless, wait } from './recipe.ts'

const HELLO = [paragraph('Hi ', field('firstName', 'there'), ',')]

/** Flows around an account: its beginning, its trial, its sleep. */
export const ACCOUNT_RECIPES: Recipe[] = [
  {
    key: 'welcome',
    name: 'Welcome',
    description: 'Greets everyone who signs up, and two days later helps those who have not begun.',
    trigger: { type: 'EVENT', eventName: 'signup' },
    allowReentry: false,
    needs: [
      { kind: 'event', name: 'signup', when: 'when somebody signs up', data: { firstName: 'Ada' } },
      { kind: 'event', name: 'activated', when: 'when they have done the first useful thing', data: {} },
    ],
    emails: {
      welcome: {
        name: 'Welcome',
        subject: 'Welcome, {{ firstName ?? "good to have you" }}',
        previewText: 'The shortest way to your first result',
        content: [
          heading(1, 'Welcome, ', field('firstName', 'and good to have you'), '!'),
          paragraph('Your account is ready. Most people get their first result within ten minutes; here is the shortest way there.'),
          button('Open your account', 'https://example.com/start'),
          list(
            'orderedList',
            ['Tell us what you want to do. It takes one minute.'],
            ['Invite the people you work with.'],
            ['Try one of the examples, and change it as you like.'],
          ),
          paragraph('Questions? Just reply to this email. A person reads every answer.'),
        ],
      },
      help: {
        name: 'Welcome: need a hand?',
        subject: 'Can we help you to get started?',
        previewText: 'Ten minutes are enough',
        content: [
          ...HELLO,
          paragraph(
            'you signed up two days ago and have not begun yet. Is something in the way? Reply to this email, and we will sort it out.',
          ),
          button('Pick up where you left', 'https://example.com/start'),
        ],
      },
    },
    steps: [
      send('welcome', 'Welcome'),
      wait(2, 'days'),
      ifHappened('activated', 'Has begun?', [exit('Has begun', 'activated')], [send('help', 'Offer help')]),
    ],
  },
  {
    key: 'trial-ending',
    name: 'Trial ending',
    description: 'Three days before a trial of 14 days ends, and once it has ended. Stops when somebody buys.',
    trigger: { type: 'EVENT', eventName: 'trial started' },
    allowReentry: false,
    needs: [
      { kind: 'event', name: 'trial started', when: 'when a trial of 14 days begins', data: { plan: 'pro' } },
      { kind: 'event', name: 'purchase', when: 'when somebody buys', data: { amount: 49 } },
    ],
    emails: {
      ending: {
        name: 'Trial: three days left',
        subject: 'Your trial ends in 3 days',
        previewText: 'What you keep, and how',
        content: [
          heading(1, 'Your trial ends in 3 days'),
          ...HELLO,
          paragraph('thank you for trying us out. To keep what you have built, choose a plan before then.'),
          button('Choose a plan', 'https://example.com/plans'),
          paragraph('Not the right time? ', link('Tell us what was missing', 'https://example.com/feedback'), '.'),
        ],
      },
      ended: {
        name: 'Trial: it has ended',
        subject: 'Your trial has ended. Your work is still here',
        previewText: 'Nothing is deleted for 30 days',
        content: [
          heading(1, 'Your trial has ended'),
          ...HELLO,
          paragraph('nothing is lost: we keep everything you made for 30 days. Choose a plan, and go on where you stopped.'),
          button('Choose a plan', 'https://example.com/plans'),
        ],
      },
    },
    steps: [
      wait(11, 'days'),
      ifHappened('purchase', 'Bought already?', [exit('Bought', 'bought')], []),
      send('ending', 'Three days left'),
      unless('purchase', { days: 3 }, 'Buys within 3 days?', [send('ended', 'The trial has ended')]),
    ],
  },
  {
    key: 'win-back',
    name: 'Win back',
    description: 'Every Monday: writes to subscribers who have not been active for 60 days, and once more two weeks later.',
    trigger: {
      type: 'SCHEDULE',
      schedule: '0 9 * * 1',
      segment: {
        name: 'Not active for 60 days',
        description: 'Made for the workflow "Win back".',
        condition: {
          logic: 'AND',
          groups: [
            {
              filters: [
                { field: 'subscribed', operator: 'equals', value: true },
                { field: 'event.active', operator: 'triggeredOlderThan', value: 60, unit: 'days' },
              ],
            },
          ],
        },
      },
    },
    allowReentry: false,
    needs: [{ kind: 'event', name: 'active', when: 'when somebody uses your product, at most once a day', data: {} }],
    emails: {
      missed: {
        name: 'Win back: what is new',
        subject: 'A lot has happened since you left',
        previewText: 'Three things that people asked for most',
        content: [
          heading(1, 'A lot has happened since you left'),
          ...HELLO,
          paragraph(
            'it has been some time. Three things that people asked for most are ready. Have a look: your account is as you left it.',
          ),
          button('See what is new', 'https://example.com/whats-new'),
        ],
      },
      last: {
        name: 'Win back: the last one',
        subject: 'Shall we stop writing?',
        previewText: 'One click, and you hear from us no more',
        content: [
          ...HELLO,
          paragraph(
            'we do not want to fill your inbox. If we can still be useful, come back with one click. If not, unsubscribe below: no hard feelings.',
          ),
          button('Come back', 'https://example.com/start'),
        ],
      },
    },
    steps: [send('missed', 'We miss you'), unless('active', { days: 14 }, 'Active within two weeks?', [send('last', 'The last one')])],
  },
  {
    key: 're-permission',
    name: 'Re-permission',
    description: 'Asks people whether they still want your emails, and unsubscribes those who do not answer within 30 days.',
    trigger: { type: 'EVENT', eventName: 'permission asked' },
    allowReentry: false,
    needs: [
      { kind: 'event', name: 'permission asked', when: 'for everyone who is to be asked', data: {} },
      { kind: 'event', name: 'email.click', when: 'recorded by Sterna: nothing to do', data: {} },
    ],
    emails: {
      ask: {
        name: 'Re-permission: the question',
        subject: 'Do you still want to hear from us?',
        previewText: 'One click keeps you on the list',
        content: [
          heading(1, 'Do you still want to hear from us?'),
          ...HELLO,
          paragraph(
            'we only want to write to people who like to read it. Click the button to stay. If you do nothing, we stop writing to you.',
          ),
          button('Yes, keep me on the list', 'https://example.com/stay'),
        ],
      },
      remind: {
        name: 'Re-permission: the reminder',
        subject: 'Last call: stay on the list?',
        previewText: 'Otherwise this is goodbye',
        content: [
          ...HELLO,
          paragraph('this is our last question: shall we keep writing? Without a click we stop in two weeks.'),
          button('Yes, keep me on the list', 'https://example.com/stay'),
        ],
      },
    },
    steps: [
      send('ask', 'The question'),
      unless('email.click', { days: 16 }, 'Clicks within 16 days?', [
        send('remind', 'The reminder'),
        unless('email.click', { days: 14 }, 'Clicks within two weeks?', [
          { type: 'UPDATE_CONTACT', name: 'Unsubscribe', config: { subscriptionAction: 'unsubscribe' } },
        ]),
      ]),
    ],
  },
]
