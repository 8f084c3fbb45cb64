import { beforeAll, describe, expect, test } from 'vitest'
import { issues, outcome } from '../../support/answers.ts'
import { useSharedApp } from '../../support/app.ts'
import { TRACK_ROUTES } from './track-routes.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())
type Project = Awaited<ReturnType<typeof newProject>>

const ADA = 'ada@example.com'

describe.each(TRACK_ROUTES)('%s', (_, track) => {
  /** One project for all refused requests: none of them may leave anything behind. */
  let quiet: Project
  beforeAll(async () => {
    quiet = await newProject()
  })
  const expectQuiet = async () => {
    expect((await quiet.contacts.list()).total).toBe(0)
    expect(await quiet.events.list()).toEqual([])
  }

  test.each([
    'email.opened',
    'email.',
    'EMAIL.Sent',
    'contact.subscribed',
    'contact.unsubscribed',
    'Contact.Subscribed',
    'segment.vip.entry',
    'segment.a.b.exit',
    'SEGMENT.x.EXIT',
    ' email.sent',
    'email.sent ',
    'e mail.sent',
    'contact . subscribed',
    'email\u00a0.sent',
    'ｅｍａｉｌ.sent',
    'email．sent',
    'email․sent',
    'contact.ſubscribed',
    'em\u200bail.sent',
    '\ufeffemail.sent',
    'em\u00adail.sent',
    'email\u2060.sent',
    'email\u180e.sent',
    'em\u034fail.sent',
    'contact.sub\u202escribed',
    'ema\u{e0001}il.x',
    'segment.\u3000x.entry',
  ])('refuses the reserved event name %j', async (event) => {
    const answer = await track(quiet, { email: ADA, event, data: { a: 1 } })
    expect([...outcome(answer), ...issues(answer)]).toEqual([422, 'VALIDATION_ERROR', ['event', 'reserved_event']])
    await expectQuiet()
  })

  test.each([
    'email',
    'emails.sent',
    'my email.sent',
    'contact.created',
    'contact.subscribed.twice',
    'contactXsubscribed',
    'segment.entry',
    'segment.x.entered',
    'segment.x.entry.late',
    'x',
    '🛒 bought 👨‍👩‍👧',
    'événement',
    '__proto__',
    "'; drop table events; --",
    '%2f/..?#&',
    'x'.repeat(255),
    '字'.repeat(255),
  ])('accepts the event name %j', async (event) => {
    lively ??= await newProject()
    expect((await track(lively, { email: ADA, event })).status).toBe(200)
    expect((await lively.events.names())[0]).toBe(event)
    expect((await lively.call('GET', '/events/names')).body.eventNames).toContain(event)
    const usage = await lively.call('GET', `/events/${encodeURIComponent(event)}/usage`)
    expect(usage.body).toMatchObject({ totalCount: 1, uniqueContacts: 1, canDelete: true })
  })
  let lively: Project | undefined

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'required'],
    ['null', null, 'invalid_type'],
    ['a number', 5, 'invalid_type'],
    ['a list', ['e'], 'invalid_type'],
    ['an empty string', '', 'too_small'],
    ['256 characters', 'x'.repeat(256), 'too_big'],
    ['10 kB', 'x'.repeat(10_000), 'too_big'],
    ['spaces', '  \u00a0', 'invalid_string'],
    ['U+0000', 'a\0b', 'invalid_string'],
    ['two lines', 'a\nb', 'invalid_string'],
    ['a Unicode line separator', 'a\u2028b', 'invalid_string'],
    ['a carriage return', 'a\r', 'invalid_string'],
    ['an escape', '\u001b[31m', 'invalid_string'],
    ['invisible characters', '\u200b\u00ad', 'invalid_string'],
    ['half a surrogate pair', '\ud800', 'invalid_string'],
  ])('refuses %s as an event name', async (__, event, code) => {
    const answer = await track(quiet, { email: ADA, event })
    expect([...outcome(answer), issues(answer)[0]]).toEqual([422, 'VALIDATION_ERROR', ['event', code]])
    await expectQuiet()
  })
})
