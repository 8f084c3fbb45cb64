import { expect, test } from 'vitest'
import { auditFileUrl, auditQuery, describeAction, describeActor } from './audit-query.ts'

test('an action is a subject and a verb', () => {
  expect(describeAction('campaign.copy_to_segment')).toBe('Campaign: copy to segment')
  expect(describeAction('contact_bulk.delete')).toBe('Contact bulk: delete')
  expect(describeAction('invitation.link')).toBe('Copied an invitation link')
})

test('an actor has a name, also without one', () => {
  const actor = { id: null, name: null }
  expect(describeActor({ actor: { ...actor, type: 'system' } })).toBe('Sterna')
  expect(describeActor({ actor: { ...actor, type: 'key' } })).toBe('Key pair of the project')
  expect(describeActor({ actor: { type: 'user', id: 'u', name: 'ada@example.com' } })).toBe('ada@example.com')
})

test('the file has the filters of the list', () => {
  const filters = { actor: 'u', action: 'template' }
  expect(auditQuery({ limit: 25, filters } as never)).toEqual({ limit: 25, ...filters })
  expect(auditFileUrl('p', { filters })).toBe('/projects/p/audit?format=csv&actor=u&action=template')
})
