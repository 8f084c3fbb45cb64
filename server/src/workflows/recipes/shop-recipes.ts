import { bold, button, divider, field, heading, loop, paragraph } from '../../templates/starters/build.ts'
import { exit, ifHappened, type Recipe, send, unless, wait } from './recipe.ts'

const ITEMS = [{ name: 'Tea, green', quantity: 2, price: '9.80' }]
const itemList = [loop('item', 'event.items', paragraph(bold('{{ item.quantity }} × {{ item.name }}'), '  {{ item.price }}')), divider()]

/** Flows around orders and customers. */
export const SHOP_RECIPES: Recipe[] = [
  {
    key: 'abandoned-cart',
    name: 'Abandoned cart',
    description: 'Four hours after the last change of a cart, and once more a day later. Stops when the order is placed.',
    trigger: { type: 'EVENT', eventName: 'cart updated' },
    allowReentry: true,
    needs: [
      { kind: 'event', name: 'cart updated', when: 'when a cart changes', data: { cartUrl: 'https://example.com/cart/1', items: ITEMS } },
      { kind: 'event', name: 'order placed', when: 'when an order is placed', data: { total: '19.60' } },
    ],
    emails: {
      first: {
        name: 'Cart: still there',
        subject: 'Your cart is waiting',
        previewText: 'We kept everything for you',
        content: [
          heading(1, 'You left something behind'),
          paragraph('Hi ', field('firstName', 'there'), ', we kept your cart for you:'),
          ...itemList,
          button('Back to the cart', '{{ event.cartUrl ?? "https://example.com/cart" }}'),
        ],
      },
      second: {
        name: 'Cart: the last reminder',
        subject: 'Shall we put it back on the shelf?',
        previewText: 'Your cart is kept for one more day',
        content: [
          paragraph('Hi ', field('firstName', 'there'), ', your cart is kept for one more day. Is a question open? Just reply.'),
          button('Back to the cart', '{{ event.cartUrl ?? "https://example.com/cart" }}'),
        ],
      },
    },
    steps: [
      unless('order placed', { hours: 4 }, 'Orders within 4 hours?', [
        send('first', 'The cart is waiting'),
        unless('order placed', { days: 1 }, 'Orders within a day?', [send('second', 'The last reminder')]),
      ]),
    ],
  },
  {
    key: 'receipt',
    name: 'Receipt',
    description: 'A receipt for every order, at once. Also for people who did not subscribe: it is no marketing.',
    trigger: { type: 'EVENT', eventName: 'order placed' },
    allowReentry: true,
    needs: [
      { kind: 'event', name: 'order placed', when: 'when an order is placed', data: { number: 'A-1042', total: '19.60', items: ITEMS } },
    ],
    emails: {
      receipt: {
        name: 'Receipt',
        subject: 'Your receipt {{ event.number ?? "" }}',
        previewText: 'Thank you for your order',
        type: 'TRANSACTIONAL',
        content: [
          heading(1, 'Thank you for your order'),
          paragraph('Order ', field('event.number', 'received'), ':'),
          ...itemList,
          paragraph(bold('Total '), field('event.total', 'see your invoice')),
          paragraph('Something wrong? Reply to this email within 30 days, and we will put it right.'),
        ],
      },
    },
    steps: [send('receipt', 'The receipt')],
  },
  {
    key: 'feedback',
    name: 'Feedback',
    description: 'A week after a delivery asks how it was, and reminds once those who have not answered.',
    trigger: { type: 'EVENT', eventName: 'order delivered' },
    allowReentry: true,
    needs: [
      { kind: 'event', name: 'order delivered', when: 'when an order has arrived', data: { number: 'A-1042' } },
      { kind: 'event', name: 'feedback given', when: 'when somebody has answered', data: { score: 3 } },
    ],
    emails: {
      ask: {
        name: 'Feedback: the question',
        subject: 'How was it, {{ firstName ?? "honestly" }}?',
        previewText: 'One question, one minute',
        content: [
          heading(1, 'How was it?'),
          paragraph(
            'Hi ',
            field('firstName', 'there'),
            ', your order arrived a week ago. Are you happy with it? One minute of yours helps us a lot.',
          ),
          button('Tell us', 'https://example.com/feedback'),
        ],
      },
      remind: {
        name: 'Feedback: the reminder',
        subject: 'A minute for one question?',
        previewText: 'We read every answer',
        content: [
          paragraph(
            'Hi ',
            field('firstName', 'there'),
            ', we would still like to know what you think. We read every answer, and this is the last time we ask.',
          ),
          button('Tell us', 'https://example.com/feedback'),
        ],
      },
    },
    steps: [
      wait(7, 'days'),
      ifHappened('feedback given', 'Answered already?', [exit('Answered', 'answered')], []),
      send('ask', 'The question'),
      unless('feedback given', { days: 5 }, 'Answers within 5 days?', [send('remind', 'The reminder')]),
    ],
  },
  {
    key: 'birthday',
    name: 'Birthday',
    description: 'Every year at nine on the birthday of a contact, from the field "birthday".',
    trigger: {
      type: 'SCHEDULE',
      schedule: '0 3 * * *',
      segment: {
        name: 'Birthday is known',
        description: 'Made for the workflow "Birthday".',
        condition: { logic: 'AND', groups: [{ filters: [{ field: 'data.birthday', operator: 'exists' }] }] },
      },
    },
    allowReentry: false,
    needs: [{ kind: 'field', name: 'birthday', when: 'a date such as 1990-05-17', data: { birthday: '1990-05-17' } }],
    emails: {
      birthday: {
        name: 'Birthday',
        subject: 'Happy birthday, {{ firstName ?? "you" }}!',
        previewText: 'Something small from us',
        content: [
          heading(1, 'Happy birthday, ', field('firstName', 'you'), '!'),
          paragraph('Today is your day, so here is something small from us: 10 % on anything, until the end of the week.'),
          button('Choose something nice', 'https://example.com/birthday'),
        ],
      },
    },
    steps: [
      {
        type: 'DELAY',
        name: 'Until the birthday',
        config: { until: 'data.birthday', repeats: 'yearly', hour: 9 },
        branches: { '': [{ ...send('birthday', 'Happy birthday'), again: 'Until the birthday' }] },
      },
    ],
  },
]
