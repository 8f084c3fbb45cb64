import { expect, test } from 'vitest'
import { readVariable, splitVariables } from './variables.ts'

test.each([
  ['{{ plan }}', { path: 'plan' }],
  ['{{first\u00a0name ?? "you"}}', { path: 'first name', fallback: 'you' }],
  ["{{ name ?? 'you' | upcase }}", { path: 'name', fallback: 'you', filter: 'upcase' }],
  ['{{ price | round: 2 | append: " €" }}', { path: 'price', filter: 'round: 2 | append: " €"' }],
  ['{{ order.total }}', { path: 'order.total' }],
  ['{{ a or b }}', undefined],
  ['{{ items[0].name }}', undefined],
  ['{{ name ?? other }}', undefined],
  ['{{ "text" }}', undefined],
  ['{{ true }}', undefined],
])('%s becomes %j', (expression, attrs) => {
  expect(readVariable(expression)).toEqual(attrs)
})

test('a text is split at its variables; what a chip cannot show stays text, with plain spaces', () => {
  expect(splitVariables('Hi {{ name }}, {{ items[0]\u00a0}} of\u00a05')).toEqual([
    'Hi ',
    { path: 'name' },
    ', ',
    '{{ items[0] }}',
    ' of\u00a05',
  ])
})
