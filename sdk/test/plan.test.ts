import { expect, test } from 'vitest'
import { compare, isPulled, isPushed } from '../cli/plan.ts'
import { hashOf, type LocalTemplate, settingsOf } from '../cli/template-files.ts'
import type { Template } from '../src/index.ts'

const remote = (changes: Partial<Template> = {}): Template => ({
  id: 't1',
  name: 'Welcome',
  description: null,
  subject: 'Hello',
  previewText: null,
  body: '<p>Hello</p>',
  hasDesign: false,
  workflowId: null,
  from: null,
  fromName: null,
  replyTo: null,
  type: 'TRANSACTIONAL',
  version: 1,
  projectId: 'p1',
  createdAt: '2026-01-01',
  updatedAt: '2026-01-01',
  design: null,
  ...changes,
})

function local(body = '<p>Hello</p>', source = 'welcome.html'): LocalTemplate {
  const settings = settingsOf(remote())
  return { key: 'welcome', source, settings, content: { body }, hash: hashOf(settings, { body }) }
}

const last = { id: 't1', updatedAt: '2026-01-01', hash: local().hash }
const CHANGED_THERE = remote({ body: '<p>There</p>', updatedAt: '2026-02-02' })

test.each<[string, string, Parameters<typeof compare>[0]]>([
  ['new here', 'create', { local: [local()], remote: [], synced: {} }],
  ['deleted there', 'create', { local: [local()], remote: [], synced: { welcome: last } }],
  ['new there', 'only-there', { local: [], remote: [remote()], synced: {} }],
  ['the same on first sight', 'unchanged', { local: [local()], remote: [remote()], synced: {} }],
  ['different on first sight', 'conflict', { local: [local('<p>Here</p>')], remote: [remote()], synced: {} }],
  ['the same', 'unchanged', { local: [local()], remote: [remote()], synced: { welcome: last } }],
  ['changed here', 'update', { local: [local('<p>Here</p>')], remote: [remote()], synced: { welcome: last } }],
  ['changed there', 'behind', { local: [local()], remote: [CHANGED_THERE], synced: { welcome: last } }],
  ['changed on both sides', 'conflict', { local: [local('<p>Here</p>')], remote: [CHANGED_THERE], synced: { welcome: last } }],
  ['renamed there', 'behind', { local: [local()], remote: [remote({ name: 'X', updatedAt: '2' })], synced: { welcome: last } }],
])('a template that is %s: %s', (_, action, sides) => {
  expect(compare(sides).map((step) => step.action)).toEqual([action])
})

test('only one side is written, and a conflict only by force', () => {
  const written = (sides: Parameters<typeof compare>[0], force: boolean) =>
    compare(sides).map((step) => [isPulled(step, force), isPushed(step, force)])
  const synced = { welcome: last }
  expect(written({ local: [local()], remote: [CHANGED_THERE], synced }, false)).toEqual([[true, false]])
  expect(written({ local: [local('<p>Here</p>')], remote: [remote()], synced }, false)).toEqual([[false, true]])
  const both = { local: [local('<p>Here</p>')], remote: [CHANGED_THERE], synced }
  expect([written(both, false), written(both, true)]).toEqual([[[false, false]], [[true, true]]])
})

test('a rendered source is never overwritten', () => {
  const [step] = compare({ local: [local('<p>Hello</p>', 'welcome.tsx')], remote: [CHANGED_THERE], synced: { welcome: last } })
  expect([isPulled(step!, false), isPulled(step!, true)]).toEqual([false, false])
})
