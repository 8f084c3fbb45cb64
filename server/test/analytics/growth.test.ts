import { expect, test } from 'vitest'
import { contactLedger, countContacts } from '../../src/contacts/record/counts.ts'
import { useSharedApp } from '../support/app.ts'
import { stayWithinDay, today } from '../support/clock.ts'

const sterna = useSharedApp()

test('the growth of contacts is counted by day and source, and equals a recount', async () => {
  await stayWithinDay()
  const project = await sterna.newProject()
  const { call, contacts, track } = project
  const growth = async (query = '') => (await call('GET', `/analytics/growth${query}`)).body
  const check = async (sources: Record<string, number[]>) => {
    for (const step of ['waiting', 'added up', 'recounted']) {
      if (step === 'added up') await contactLedger.fold(sterna.db)
      if (step === 'recounted') expect(await contactLedger.repair(sterna.db, project.id)).toEqual({ contact_counts: 0, contact_days: 0 })
      const { days, sources: listed, total, subscribed } = await growth()
      expect(days).toHaveLength(30)
      expect(days.slice(0, -1).every((day: Record<string, unknown>) => day.newContacts === 0)).toBe(true)
      expect(days.at(-1).date).toBe(today())
      type Row = { source: string; newContacts: number; newSubscribers: number; unsubscribed: number; deletedContacts: number }
      const numbers = (row: Row) => [row.newContacts, row.newSubscribers, row.unsubscribed, row.deletedContacts]
      expect(Object.fromEntries(listed.map((row: Row) => [row.source, numbers(row)]))).toEqual(sources)
      const sum = Object.values(sources).reduce((sums, row) => sums.map((n, index) => n + row[index]!), [0, 0, 0, 0])
      expect(numbers(days.at(-1))).toEqual(sum)
      expect({ total, subscribed }).toEqual(await countContacts(sterna.db, project.id))
    }
  }
  const ada = await contacts.create('ada@example.com')
  await contacts.create('bob@example.com', { subscribed: false })
  await track({ email: 'eve@example.com', event: 'signup' })
  await check({ 'secret-key': [2, 1, 0, 0], 'public-key': [1, 1, 0, 0] })
  await contacts.update(ada.id, { subscribed: false })
  await contacts.create('bob@example.com', { subscribed: true })
  await track({ email: 'eve@example.com', event: 'signup', subscribed: false })
  // Both in one batch: created, subscribed, and unsubscribed at once.
  await Promise.all([
    track({ email: 'new@example.com', event: 'signup', subscribed: true }),
    track({ email: 'new@example.com', event: 'signup', subscribed: false }),
  ])
  await check({ 'secret-key': [2, 2, 1, 0], 'public-key': [2, 2, 2, 0] })
  // What happened stays counted when contacts are deleted.
  await call('DELETE', `/contacts/${ada.id}`)
  await check({ 'secret-key': [2, 2, 1, 1], 'public-key': [2, 2, 2, 0] })
  expect(await countContacts(sterna.db, project.id)).toEqual({ total: 3, subscribed: 1 })
  await check({ 'secret-key': [2, 2, 1, 1], 'public-key': [2, 2, 2, 0] })
})
