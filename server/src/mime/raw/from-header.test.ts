import { expect, test } from 'vitest'
import { readFromHeader } from './from-header.ts'

test.each([
  ['ada@shop.example', '', 'ada@shop.example'],
  ['<ada@shop.example>', '', 'ada@shop.example'],
  ['Ada <ada@shop.example>', 'Ada', 'ada@shop.example'],
  ['Ada M. Lovelace <Ada@Shop.example>', 'Ada M. Lovelace', 'ada@shop.example'],
  ['"Lovelace, Ada \\"L\\"" <ada@shop.example>', 'Lovelace, Ada "L"', 'ada@shop.example'],
  ['=?utf-8?q?Gr=C3=A4ce?= <ada@shop.example>', 'Gräce', 'ada@shop.example'],
  ['=?iso-8859-1?b?R3LkY2U=?= <ada@shop.example>', 'Gräce', 'ada@shop.example'],
  ['Zoë <zoë@shop.example>', 'Zoë', 'zoë@shop.example'],
  ['(before) Ada (in (side)) <ada@shop.example> (after)', 'Ada', 'ada@shop.example', 'before in side after'],
  ['ada@shop.example (Ada)', '', 'ada@shop.example', 'Ada'],
  ['ada@shop.example (=?utf-8?q?ceo=40bank=2Eexample?=)', '', 'ada@shop.example', 'ceo@bank.example'],
  ['ada@shop.example (c\\eo@bank.example)', '', 'ada@shop.example', 'ceo@bank.example'],
  ['ada@shop.example <ada@shop.example>', 'ada@shop.example', 'ada@shop.example'],
])('%s', (value, name, address, comment?: string) => {
  expect(readFromHeader(value)).toEqual({ name, address, comment })
})

test.each([
  '',
  'Ada',
  'ada@shop.example, ceo@bank.example',
  'Ada <ada@shop.example>, ceo@bank.example',
  '<ada@shop.example> <ceo@bank.example>',
  'ceo@bank.example <ada@shop.example>',
  'ada@shop.example ceo@bank.example',
  'Ada <ada@shop.example> ceo',
  'friends: ada@shop.example;',
  'friends: ada@shop.example, bob@shop.example;',
  '<@relay.example:ada@shop.example>',
  '"unclosed <ada@shop.example>',
  'Ada (unclosed <ada@shop.example>',
  'Ada <ada@shop.example',
  'Ada <"ada"@shop.example>',
  'Ada <ada@[127.0.0.1]>',
  'a@b@shop.example',
  '=?utf-7?q?ceo+AEA-bank.example?= <ada@shop.example>',
  'ada@shop.example (=?utf-7?q?ceo+AEA-bank.example?=)',
  `${'x'.repeat(3_000)} <ada@shop.example>`,
])('%s is not one address', (value) => {
  expect(readFromHeader(value)).toBeUndefined()
})
