import type { Design } from '@sterna/sdk'
import { expect, test } from 'vitest'
import { designLines } from './design-lines.ts'

test('a design reads as one line per block, with everything that can differ', () => {
  const design: Design = {
    version: 1,
    settings: { width: 640 },
    content: [
      {
        type: 'heading',
        attrs: { id: 'h', level: 1 },
        content: [
          { type: 'text', text: 'Hi ' },
          { type: 'variable', attrs: { path: 'name', fallback: 'you' }, marks: [{ type: 'bold' }] },
        ],
      },
      {
        type: 'condition',
        attrs: { id: 'c', field: 'data.plan', operator: 'equals', value: 'pro' },
        content: [{ type: 'button', attrs: { id: 'b', href: 'https://x.test' }, content: [{ type: 'text', text: 'Go' }] }],
      },
      { type: 'bulletList', content: [{ type: 'listItem', content: [{ type: 'paragraph', content: [{ type: 'text', text: 'One' }] }] }] },
    ],
  }
  expect(designLines(design).split('\n')).toEqual([
    'Email width: 640',
    'Heading: Hi {{ name ?? "you" }}[bold] (level: 1)',
    'Shown if plan is pro',
    '  Button: Go (href: https://x.test)',
    'Bullet list',
    '  •',
    '    Text: One',
  ])
})
