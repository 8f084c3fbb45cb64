import {
  atRight,
  BOTTOM,
  bold,
  button,
  centred,
  columnRow,
  divider,
  field,
  footer,
  heading,
  link,
  list,
  logo,
  loop,
  paragraph,
  section,
  shownIf,
  spacer,
  starter,
  TINT,
  TOP,
} from './build.ts'

const WARM = '#fdf3e7'

export const COMMERCE = [
  starter('receipt', 'Receipt', [
    spacer(16),
    columnRow({ stack: false, widths: [0.6, 0.4] }, [logo()], [atRight('Order ', field('orderNumber', '1001'))]),
    heading(1, 'Thank you for your order'),
    paragraph(
      'Hi ',
      field('firstName', 'there'),
      ', we have received your payment. Here is what you bought; we will write again when it is on its way.',
    ),
    divider(),
    loop('item', 'items', columnRow({ stack: false, widths: [0.7, 0.3] }, [paragraph(field('item.name'))], [atRight(field('item.price'))])),
    divider(),
    columnRow(
      { stack: false, widths: [0.7, 0.3] },
      [paragraph(bold('Total'))],
      [atRight({ ...field('total', '0.00'), marks: [{ type: 'bold' }] })],
    ),
    shownIf({ field: 'data.receiptUrl', operator: 'exists' }, button('View the receipt', '{{ receiptUrl }}', 'outline')),
    section(
      TINT,
      heading(3, 'Something wrong?'),
      paragraph('Reply to this email within 30 days and we will put it right. No form to fill in.'),
    ),
    spacer(16),
  ]),
  starter('feedback', 'Feedback', [
    ...TOP,
    heading(1, 'How are we doing, ', field('firstName', 'honestly'), '?'),
    paragraph('You have been with us for a while now. Two minutes of your time would help us to decide what to build next.'),
    section(
      WARM,
      ...centred(heading(2, 'How likely are you to recommend us?')),
      columnRow(
        { stack: false },
        centred(button('No', 'https://example.com/feedback?score=1', 'outline')),
        centred(button('Maybe', 'https://example.com/feedback?score=2', 'outline')),
        centred(button('Yes', 'https://example.com/feedback?score=3', 'outline')),
      ),
    ),
    paragraph('Prefer words? Reply to this email. We read every answer, and we answer most of them.'),
    ...BOTTOM,
  ]),
  starter('re-engagement', 'We miss you', [
    ...TOP,
    heading(1, 'A lot has happened since you left'),
    paragraph('Hi ', field('firstName', 'there'), ', it has been some time. Three things that people asked for most are ready:'),
    list(
      'bulletList',
      [bold('Faster. '), 'Everything opens in less than a second.'],
      [bold('Together. '), 'Work on one thing at the same time, and see who changed what.'],
      [bold('Yours. '), 'Take your data with you whenever you like, in one click.'],
    ),
    button('Have a look', 'https://example.com/whats-new'),
    divider(),
    paragraph(
      'Would you rather not hear from us? ',
      link('Choose what you get', '{{ manageUrl }}'),
      ', or unsubscribe below. No hard feelings.',
    ),
    ...BOTTOM,
  ]),
]

export const NEWS = [
  starter('newsletter', 'Newsletter', [
    spacer(16),
    columnRow({ stack: false, widths: [0.6, 0.4] }, [logo()], [atRight(link('Read online', 'https://example.com/news'))]),
    section(
      TINT,
      heading(1, 'What we learned this month'),
      paragraph('One long read, two short ones, and a date to keep free. About four minutes in all.'),
    ),
    heading(2, 'The long read: why simple things take time'),
    paragraph(
      'Every team says it wants fewer features. Almost none manages it. We looked at ten that did, and found that they share one unremarkable habit.',
    ),
    button('Read the story', 'https://example.com/news/simple', 'link'),
    divider(),
    columnRow(
      {},
      [
        heading(3, 'Ask before you build'),
        paragraph('Five questions that save a week of work, on one page to print.'),
        button('Get the page', 'https://example.com/news/questions', 'link'),
      ],
      [
        heading(3, 'A calmer inbox'),
        paragraph('How our support team answers faster by reading less.'),
        button('See how', 'https://example.com/news/inbox', 'link'),
      ],
    ),
    divider(),
    section(
      WARM,
      heading(3, 'Keep the date: open house in May'),
      paragraph('Come by, look around, ask anything. We bring the cake.'),
      button('Save my place', 'https://example.com/open-house'),
    ),
    spacer(8),
    {
      type: 'social',
      attrs: {
        links: [
          { kind: 'website', href: 'https://example.com' },
          { kind: 'linkedin', href: 'https://www.linkedin.com' },
          { kind: 'bluesky', href: 'https://bsky.app' },
        ],
      },
    },
    footer(),
  ]),
  starter('product-update', 'Product update', [
    ...TOP,
    paragraph(bold('New this week')),
    heading(1, 'Search that finds what you mean'),
    paragraph(
      'You no longer need to remember what something was called. Type what it was about, and it comes up, with the sentence that matched.',
    ),
    button('Try it now', 'https://example.com/search'),
    divider(),
    heading(2, 'Also new'),
    columnRow(
      {},
      [heading(3, 'Keyboard for everything'), paragraph('Press ? on any page to see what it can do.')],
      [heading(3, 'Lighter pages'), paragraph('Half the size, so they open quickly on a train too.')],
    ),
    heading(2, 'Mended'),
    list(
      'bulletList',
      ['Dates follow the language of your browser.'],
      ['Exports of more than a million rows no longer stop.'],
      ['The page for invoices loads in any time zone.'],
    ),
    paragraph('All changes are in the ', link('list of releases', 'https://example.com/releases'), '.'),
    ...BOTTOM,
  ]),
  starter('announcement', 'Announcement', [
    spacer(16),
    ...centred(logo()),
    section(
      '#12313b',
      spacer(16),
      ...centred(
        heading(1, 'Something big is here'),
        paragraph('Today we open to everybody what a few hundred of you have helped us to build for a year.'),
        button('See what is new', 'https://example.com/launch'),
      ),
      spacer(16),
    ),
    spacer(8),
    heading(2, 'Why it matters'),
    paragraph(
      'You told us that the hard part is not the work, it is keeping track of it. So we took away everything that had to be kept track of, and kept what gets things done.',
    ),
    paragraph('Thank you for coming along. We are only getting started.'),
    paragraph('Your team at ', field('company', 'our place')),
    ...BOTTOM,
  ]),
]
