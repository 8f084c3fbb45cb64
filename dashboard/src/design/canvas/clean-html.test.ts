import { Fragment } from '@tiptap/pm/model'
import { expect, test } from 'vitest'
import { designSchema } from '../document/extensions.ts'
import { cleanHtml } from './clean-html.ts'
import { altOf, withChips } from './paste.ts'
import { queryBefore } from './typed-menu.ts'

test.each([
  ['comments of Word', '<p>a<!--[if gte mso 9]><xml>x</xml><![endif]-->b</p>', '<p>ab</p>'],
  ['style and script', '<style>p{color:red}</style><script>alert(1)</script><p>a</p>', '<p>a</p>'],
  ['tags of Office', '<p>a<o:p>&nbsp;</o:p></p>', '<p>a&nbsp;</p>'],
  [
    'lists of Word',
    '<p class=MsoListParagraphCxSpFirst><span>·<span>&nbsp;&nbsp; </span></span>One</p>\n<p class="MsoListParagraphCxSpLast">2.&nbsp;Two</p>',
    '<ul><li><p>One</p></li><li><p>Two</p></li></ul>',
  ],
  ['fixed spaces and tags in a variable', '<p>{{ first&nbsp;<b>name</b>&#160;?? "you" }}</p>', '<p>{{ first name ?? "you" }}</p>'],
])('%s', (_, html, cleaned) => {
  expect(cleanHtml(html).replace(/<\/span>/g, '')).toBe(cleaned)
})

test('expressions in pasted text become chips', () => {
  const schema = designSchema()
  const pasted = Fragment.from(schema.nodes.paragraph!.create(null, schema.text('Hi {{ name }}!', [schema.marks.bold!.create()])))
  expect(withChips(pasted, schema).toJSON()).toMatchObject([
    {
      type: 'paragraph',
      content: [{ text: 'Hi ' }, { type: 'variable', attrs: { path: 'name' }, marks: [{ type: 'bold' }] }, { text: '!' }],
    },
  ])
})

test.each([
  ['/', { kind: 'block', query: '' }],
  ['Hello /but', { kind: 'block', query: 'but' }],
  ['1/2', undefined],
  ['https://', undefined],
  ['Hi {{', { kind: 'field', query: '' }],
  ['Hi {{ first na', { kind: 'field', query: 'first na' }],
  ['Hi {{ name }} /', { kind: 'block', query: '' }],
  ['{{ name ?? "', undefined],
])('the menu for %j is %j', (text, expected) => {
  const found = queryBefore(text)
  expect(found && { kind: found.kind, query: found.query }).toEqual(expected)
})

test.each([
  ['team-photo.png', 'team photo'],
  ['IMG_2041.jpg', ''],
  ['image.png', ''],
])('the picture %s is called %j', (name, alt) => {
  expect(altOf(name)).toBe(alt)
})
