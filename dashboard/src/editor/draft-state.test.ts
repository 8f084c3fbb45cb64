import { expect, test } from 'vitest'
import { changeDraft, type DraftAction, type DraftState, isDirty, startDraft } from './draft-state.ts'

type Values = { subject: string }
const start = startDraft({ subject: 'one' }, 'r1')
const after = (state: DraftState<Values>, ...actions: DraftAction<Values>[]) => actions.reduce(changeDraft<Values>, state)
const edited: DraftAction<Values> = { type: 'edited', patch: { subject: 'mine' } }
const theirs: DraftAction<Values> = { type: 'fetched', values: { subject: 'theirs' }, revision: 'r2' }

test('a draft is dirty while it differs from what is saved', () => {
  expect(isDirty(start)).toBe(false)
  expect(isDirty(after(start, edited))).toBe(true)
  expect(isDirty(after(start, edited, { type: 'edited', patch: { subject: 'one' } }))).toBe(false)
})

test('a clean editor follows a newer version, a changed one shows the conflict and keeps its values', () => {
  expect(after(start, theirs)).toEqual(startDraft({ subject: 'theirs' }, 'r2'))
  const conflicting = after(start, edited, theirs)
  expect(conflicting).toMatchObject({ values: { subject: 'mine' }, theirs: { values: { subject: 'theirs' }, revision: 'r2' } })
})

test('"Load theirs" drops my changes, "Keep mine" saves over their revision', () => {
  const conflicting = after(start, edited, theirs)
  expect(after(conflicting, { type: 'tookTheirs' })).toEqual(startDraft({ subject: 'theirs' }, 'r2'))
  const kept = after(conflicting, { type: 'keptMine' })
  expect(kept).toMatchObject({ revision: 'r2', values: { subject: 'mine' } })
  expect(kept.theirs).toBeUndefined()
  expect(isDirty(kept)).toBe(true)
})

test('what is typed while saving stays and is not saved yet', () => {
  const typing = after(start, edited, { type: 'edited', patch: { subject: 'mine, longer' } })
  const saved = after(typing, { type: 'saved', values: { subject: 'mine' }, revision: 'r2', sent: { subject: 'mine' } })
  expect(saved.values).toEqual({ subject: 'mine, longer' })
  expect(isDirty(saved)).toBe(true)
})

test('after saving the editor shows what the server stored', () => {
  const saved = after(start, edited, { type: 'saved', values: { subject: 'Mine' }, revision: 'r2', sent: { subject: 'mine' } })
  expect(saved).toEqual(startDraft({ subject: 'Mine' }, 'r2'))
})

test('work that was begun on an older revision is restored with its conflict', () => {
  const restored = after(start, { type: 'restored', values: { subject: 'mine' }, revision: 'r0', at: '2026-11-16T08:00:00Z' })
  expect(restored).toMatchObject({ values: { subject: 'mine' }, theirs: { values: { subject: 'one' }, revision: 'r1' } })
  const current = after(start, { type: 'restored', values: { subject: 'mine' }, revision: 'r1', at: '2026-11-16T08:00:00Z' })
  expect(current.theirs).toBeUndefined()
  expect(after(current, { type: 'discarded' })).toEqual(start)
})

test('stored work that equals the saved state restores nothing', () => {
  expect(after(start, { type: 'restored', values: { subject: 'one' }, revision: 'r0', at: '2026-11-16T08:00:00Z' })).toBe(start)
})
