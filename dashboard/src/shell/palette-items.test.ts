import type { Sterna } from '@sterna/sdk'
import { Users } from 'lucide-react'
import { expect, test } from 'vitest'
import { commandsOf, matchItems, searchEverything } from './palette-items.ts'

const items = ['Go to contacts', 'Switch to project Acme', 'Copy the public key'].map((label) => ({ id: label, label, icon: Users }))
const matches = (q: string) => matchItems(items, q).map(({ label }) => label)

test('a page or an action matches if all words of the query are in its label', () => {
  expect(matches('acme switch')).toEqual(['Switch to project Acme'])
  expect(matches('KEY')).toEqual(['Copy the public key'])
  expect(matches('')).toHaveLength(3)
  expect(matches('no such page')).toEqual([])
})

test('the shortcuts of a page are offered as commands, but not those that need a row', () => {
  const shortcut = (keys: string, label?: string, group = 'List') => ({ keys, group, run: () => {}, ...(label && { label }) })
  const shortcuts = [
    shortcut('[', 'Fold', 'Everywhere'),
    shortcut('c', 'Old page'),
    shortcut('c', 'New template'),
    shortcut('x', 'Select the row'),
    shortcut('g c', 'Contacts', 'Go to'),
    shortcut('z'),
  ]
  expect(commandsOf(shortcuts, (keys) => keys.toUpperCase(), Users).map(({ label, hint }) => [label, hint])).toEqual([
    ['New template', 'C'],
    ['Fold', '['],
  ])
})

test('an address leads to its emails, and a domain to its records, whatever else fails', async () => {
  const refuse = () => Promise.reject(new Error('refused'))
  const failing = { list: refuse, get: refuse }
  const domains = { list: async () => [{ id: 'd1', domain: 'mail.example.com' }] }
  const api = { contacts: failing, campaigns: failing, segments: failing, templates: failing, workflows: failing, emails: failing, domains }
  const pathsOf = async (q: string) =>
    (await searchEverything(api as unknown as Sterna, '/p', q)).flatMap(({ items }) => items.map(({ path }) => path))
  expect(await pathsOf('ada+1@example.com')).toEqual(['/p/emails?q=ada%2B1%40example.com'])
  expect(await pathsOf('EXAMPLE')).toEqual(['/p/domains?q=mail.example.com'])
})
