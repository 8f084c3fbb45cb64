import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { lookOf, STATUSES, Status } from './status.tsx'

test('a status that this version does not know is shown by its name', () => {
  expect(lookOf('email', 'LOST_IN_SPACE')).toEqual({ word: 'Lost in space', tone: 'neutral', shape: 'ring' })
  expect(lookOf('email', 'toString').word).toBe('Tostring')
})

test('no two statuses of one kind have the same word', () => {
  for (const kind of Object.keys(STATUSES) as (keyof typeof STATUSES)[]) {
    const looks = Object.values(STATUSES[kind])
    const words = looks.map(({ word }) => word)
    expect(new Set(words).size).toBe(words.length)
  }
})

test('a status is a hidden dot and a word', () => {
  const html = renderToStaticMarkup(<Status kind="email" status="BOUNCED" />)
  expect(html).toContain('aria-hidden="true"')
  expect(html).toContain('text-danger')
  expect(html).toContain('Bounced')
})

test('text inside a status is escaped', () => {
  expect(renderToStaticMarkup(<Status kind="email" status="<img src=x>" />)).not.toContain('<img')
})
