import { Users } from 'lucide-react'
import { expect, test } from 'vitest'
import { matchItems } from './palette-items.ts'

const items = ['Go to contacts', 'Switch to project Acme', 'Copy the public key'].map((label) => ({ id: label, label, icon: Users }))
const matches = (q: string) => matchItems(items, q).map(({ label }) => label)

test('a page or an action matches if all words of the query are in its label', () => {
  expect(matches('acme switch')).toEqual(['Switch to project Acme'])
  expect(matches('KEY')).toEqual(['Copy the public key'])
  expect(matches('')).toHaveLength(3)
  expect(matches('no such page')).toEqual([])
})
