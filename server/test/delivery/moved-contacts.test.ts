import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, one, transact } from '../../src/db/index.ts'
import { recordFeedback } from '../../src/delivery/feedback/reports/record.ts'
import { resolveUnknown } from '../../src/delivery/outbox/outcomes/evidence.ts'
import { outcome } from '../support/answers.ts'
import { useSmtpSending } from '../support/delivery/smtp-sending.ts'
import { eventually, until } from '../support/eventually.ts'
import { times } from '../support/times.ts'

const { sterna, sink, newProject, startLocalWorker } = useSmtpSending()

type Contact = { id: string; email: string; subscribed: boolean }
let projects = 0

/** A project of its own, with requests about contacts and campaigns. */
async function useProject() {
  const domain = `moved${++projects}.example`
  const { id, sk } = await newProject(domain)
  const call = (method: string, url: string, body?: object) => sterna.call(method, url, { key: sk, ...(body ? { body } : {}) })
  const from = `news@${domain}`

  /** Addresses are unique to the test: the SMTP server serves all of them. The part before the plus sign is its behaviour. */
  const at = (name: string) => `${name.includes('+') ? name : `ok+${name}`}.${id}@example.com`
  const contact = async (name: string, subscribed = true): Promise<Contact> =>
    (await call('POST', '/contacts', { email: at(name), subscribed })).body
  const move = async ({ id: contactId }: Contact, name: string) => {
    const answer = await call('PATCH', `/contacts/${contactId}`, { email: at(name) })
    expect(outcome(answer)).toEqual([200])
  }

  /** A campaign to all contacts whose recipients are written, and which is paused. Starts the worker. */
  async function pausedCampaign(more: object = {}): Promise<string> {
    const content = { name: 'News', subject: 'Hello', body: '<p>Dear {{ email }}</p>', from, audienceType: 'ALL' }
    const campaignId = (await call('POST', '/campaigns', { ...content, ...more })).body.data.id
    for (const action of ['send', 'pause']) expect(outcome(await call('POST', `/campaigns/${campaignId}/${action}`))).toEqual([200])
    await startLocalWorker()
    await until('recipients are written', async () =>
      (await many(sterna.db, sql`select 1 from campaigns where id = ${campaignId} and frozen_at is not null`)).at(0),
    )
    return campaignId
  }
  const resume = (campaignId: string) => call('POST', `/campaigns/${campaignId}/resume`)
  const recipients = async (campaignId: string, query = '') => (await call('GET', `/campaigns/${campaignId}/recipients${query}`)).body.data
  /** The recipients, once every email has ended. */
  const ended = (campaignId: string) =>
    eventually(async () => {
      const all = await recipients(campaignId, '?limit=100')
      expect(all.filter((each: { outcome: string }) => each.outcome === 'open')).toEqual([])
      return all
    })
  const emailOf = async ({ id: contactId }: Contact) => (await call('GET', `/emails?contactId=${contactId}`)).body.data[0]
  /** The only email of a contact, once it has that error. */
  const waiting = (to: Contact, state = 'deferred') =>
    eventually(async () => {
      const rows = await many(sterna.db, sql<{ id: string }>`select id from emails where contact_id = ${to.id} and state = ${state}`)
      expect(rows).toHaveLength(1)
      return rows[0]!.id
    })
  const retryNow = () => sql`update emails set due_at = now() where project_id = ${id} and state = 'deferred'`.execute(sterna.db)
  /** Addresses of this project, with the number of messages that each has got. */
  const arrived = () => {
    const to = sink.messages.flatMap((message) => message.recipients).filter((address) => address.includes(id))
    return Object.fromEntries(to.map((address) => [address, to.filter((each) => each === address).length]))
  }

  return { id, call, from, at, contact, move, pausedCampaign, resume, recipients, ended, emailOf, waiting, retryNow, arrived }
}

describe('an email of a campaign', () => {
  test('goes to the address that the contact has when it leaves, and not to the one that another contact has now', async () => {
    const { call, at, contact, move, pausedCampaign, resume, ended, emailOf, arrived } = await useProject()
    const [x, b, c] = [await contact('shared'), await contact('b'), await contact('c')]
    const campaignId = await pausedCampaign()

    await move(x, 'new')
    const y = await contact('shared', false)
    // Two recipients swap their addresses.
    await move(b, 'between')
    await move(c, 'b')
    await move(b, 'c')
    await resume(campaignId)

    const shown = Object.fromEntries(
      (await ended(campaignId)).map((each: { contactId: string; email: string }) => [each.contactId, each.email]),
    )
    expect(shown).toEqual({ [x.id]: at('new'), [b.id]: at('c'), [c.id]: at('b') })
    expect(arrived()).toEqual({ [at('new')]: 1, [at('b')]: 1, [at('c')]: 1 })
    const email = await emailOf(x)
    expect(email).toMatchObject({ to: at('new'), status: 'SENT', attempts: 1 })
    const body = sink.bodies.get(email.id)!.replaceAll('=\r\n', '')
    expect([body.includes(`To: ${at('new')}`), body.includes(`Dear ${at('new')}`), body.includes(at('shared'))]).toEqual([
      true,
      true,
      false,
    ])
    expect(await emailOf(y)).toBeUndefined()

    // One-click: the contact that the email was sent to.
    const [, link] = /List-Unsubscribe: <([^>]+)>/i.exec(sink.bodies.get(email.id)!.replaceAll(/\r\n\s+/g, ' '))!
    expect((await sterna.call('POST', new URL(link!).pathname, { body: { 'List-Unsubscribe': 'One-Click' } })).status).toBe(200)
    expect((await call('GET', `/contacts/${x.id}`)).body.subscribed).toBe(false)
  })

  test('is skipped when the new address is suppressed or invalid, and bounces at the address that was tried', async () => {
    const { call, id, at, contact, move, pausedCampaign, resume, ended } = await useProject()
    const [suppressed, unknown, invalid] = [await contact('a'), await contact('b'), await contact('c')]
    const campaignId = await pausedCampaign()
    await call('POST', '/suppressions', { address: at('stopped') })
    await move(suppressed, 'stopped')
    await move(unknown, 'p550+gone')
    // Requests are refused with such an address.
    await sql`update contacts set email = 'nonsense' where id = ${invalid.id}`.execute(sterna.db)
    await resume(campaignId)

    const all = await ended(campaignId)
    const of = ({ id: contactId }: Contact) => all.find((each: { contactId: string }) => each.contactId === contactId)
    expect(of(suppressed)).toMatchObject({ email: at('stopped'), outcome: 'skipped', reason: 'suppressed' })
    expect(of(invalid)).toMatchObject({ email: 'nonsense', outcome: 'skipped', reason: 'invalid' })
    expect(of(unknown)).toMatchObject({ email: at('p550+gone'), outcome: 'failed', reason: 'bounced' })
    const addresses = () =>
      many(sterna.db, sql<{ address: string }>`select address from suppressions where project_id = ${id} order by created_at`)
    await eventually(async () => expect((await addresses()).map(({ address }) => address)).toEqual([at('stopped'), at('p550+gone')]))
    await eventually(async () => expect((await call('GET', `/contacts/${unknown.id}`)).body.subscribed).toBe(false))
  })

  test('is dropped before its end when the contact moves during transmission, and then goes to the new address', async () => {
    const { at, contact, move, pausedCampaign, resume, ended, emailOf, arrived } = await useProject()
    const x = await contact('old')
    const campaignId = await pausedCampaign()
    let moving = 0
    sink.script.RCPT = (address) => {
      if (address !== at('old')) return undefined
      moving++
      return move(x, 'new').then(() => undefined)
    }
    await resume(campaignId)
    await ended(campaignId)
    delete sink.script.RCPT

    expect([moving, arrived()]).toEqual([1, { [at('new')]: 1 }])
    expect(await emailOf(x)).toMatchObject({ to: at('new'), status: 'SENT', attempts: 1, errorCode: null })
    const { failures } = await one(sterna.db, sql<{ failures: number }>`select failures from emails where contact_id = ${x.id}`)
    expect(failures).toBe(0)
  })

  test('follows the contact after a refusal of the recipient, and never after a hand-over', async () => {
    const { at, contact, move, pausedCampaign, resume, ended, waiting, retryNow, arrived } = await useProject()
    const [before, after] = [await contact('t451once+before'), await contact('t451dotonce+after')]
    const campaignId = await pausedCampaign()
    await resume(campaignId)
    const ids = [await waiting(before), await waiting(after)]
    const messageIds = () =>
      many(
        sterna.db,
        sql<{ id: string; messageId: string }>`select id, message_id as "messageId" from emails where id = any(${ids}::uuid[]) order by id`,
      )
    const original = await messageIds()
    await move(before, 'before2')
    await move(after, 'after2')
    await retryNow()

    await ended(campaignId)
    expect(arrived()).toEqual({ [at('before2')]: 1, [at('t451dotonce+after')]: 1 })
    expect(await messageIds()).toEqual(original)
  })

  test('that was handed over once is not sent again to an address whose new contact is unsubscribed', async () => {
    const { contact, move, pausedCampaign, resume, ended, waiting, retryNow, arrived } = await useProject()
    const x = await contact('t451dotonce+left')
    const campaignId = await pausedCampaign()
    await resume(campaignId)
    await waiting(x)
    await move(x, 'new')
    await contact('t451dotonce+left', false)
    await retryNow()
    expect(await ended(campaignId)).toMatchObject([{ outcome: 'skipped', reason: 'unsubscribed' }])
    expect(arrived()).toEqual({})
  })

  test('keeps its address while the outcome is unknown, and for the one retry', async () => {
    const { at, contact, move, pausedCampaign, resume, ended, waiting, arrived } = await useProject()
    const x = await contact('rst-dotonce+x')
    const campaignId = await pausedCampaign({ type: 'TRANSACTIONAL' })
    await resume(campaignId)
    await waiting(x, 'unknown')
    await move(x, 'new')
    await transact(sterna.db, (tx) => resolveUnknown(tx, { afterMs: 0, limit: 10 }))
    expect(await ended(campaignId)).toMatchObject([{ email: at('rst-dotonce+x'), outcome: 'sent' }])
    expect(arrived()).toEqual({ [at('rst-dotonce+x')]: 2 })
  })
})

test.each(['bounce', 'complaint'] as const)('a %s of an address that the contact has left says nothing about the contact', async (is) => {
  const { id, call, at, contact, move, pausedCampaign, resume, ended, emailOf } = await useProject()
  const [moved, stayed] = [await contact('moved'), await contact('stayed')]
  const campaignId = await pausedCampaign()
  await resume(campaignId)
  await ended(campaignId)
  await move(moved, 'new')
  for (const each of [moved, stayed]) {
    const email = await emailOf(each)
    await transact(sterna.db, (tx) => recordFeedback(tx, { projectId: id, id: email.id }, { is, reason: 'gone' }))
  }
  const { data } = (await call('GET', '/suppressions')).body
  expect(data.map(({ address }: { address: string }) => address).sort()).toEqual([at('moved'), at('stayed')].sort())
  const subscribed = async ({ id: contactId }: Contact) => (await call('GET', `/contacts/${contactId}`)).body.subscribed
  expect([await subscribed(moved), await subscribed(stayed)]).toEqual([true, false])
  const activities = (await call('GET', '/activity?types=contact.suppressed')).body.data
  expect(
    new Set(
      activities.map(
        ({ contactId, metadata }: { contactId: string | null; metadata: { address: string } }) => `${contactId} ${metadata.address}`,
      ),
    ),
  ).toEqual(new Set([`null ${at('moved')}`, `${stayed.id} ${at('stayed')}`]))
})

test('an email is found by the address it went to, which another contact may have by now', async () => {
  const { id, call, at, contact, move, pausedCampaign, resume, ended, recipients } = await useProject()
  const x = await contact('taken')
  const campaignId = await pausedCampaign()
  await resume(campaignId)
  await ended(campaignId)
  await move(x, 'new')
  await contact('taken')
  const search = `?search=${encodeURIComponent(at('taken'))}`
  expect(await recipients(campaignId, search)).toMatchObject([{ contactId: x.id, email: at('taken') }])
  const { data } = (await call('GET', `/emails${search}`)).body
  expect(data).toMatchObject([{ contactId: x.id, to: at('taken') }])

  await call('DELETE', `/contacts/${x.id}`)
  expect(await many(sterna.db, sql`select 1 from former_addresses where project_id = ${id}`)).toEqual([])
})

test('an email by request keeps the address that was given', async () => {
  const { call, from, at, contact, move, retryNow, waiting, arrived, emailOf } = await useProject()
  const x = await contact('t451once+given')
  await call('POST', '/v1/send', { to: x.email, from, subject: 'Hi', body: '<p>Hi</p>' })
  await startLocalWorker()
  await waiting(x)
  await move(x, 'new')
  await retryNow()
  await eventually(async () => expect(await emailOf(x)).toMatchObject({ status: 'SENT', to: at('t451once+given') }))
  expect(arrived()).toEqual({ [at('t451once+given')]: 1 })
})

test('an email of a workflow follows the contact of the execution, and keeps a custom address', async () => {
  const { call, from, at, contact, move, retryNow, waiting, arrived } = await useProject()
  const [x, custom] = [await contact('t451once+x'), await contact('t451once+custom')]
  const template = (await call('POST', '/templates', { name: 'T', subject: 'S', body: '<p>B</p>', type: 'TRANSACTIONAL', from })).body
  const workflow = (await call('POST', '/workflows', { name: 'W', eventName: 'signup' })).body
  let last = workflow.steps[0].id
  for (const recipient of [{ type: 'CONTACT' }, { type: 'CUSTOM', customEmail: custom.email }]) {
    const step = await call('POST', `/workflows/${workflow.id}/steps`, {
      type: 'SEND_EMAIL',
      name: recipient.type,
      config: { templateId: template.id, recipient },
    })
    expect([step.status, step.body.error]).toEqual([201, undefined])
    await call('POST', `/workflows/${workflow.id}/transitions`, { fromStepId: last, toStepId: step.body.id })
    last = step.body.id
  }
  await call('PATCH', `/workflows/${workflow.id}`, { enabled: true })
  await call('POST', `/workflows/${workflow.id}/executions`, { contactId: x.id })
  await startLocalWorker()
  await waiting(x)
  await waiting(custom)
  await move(x, 'x2')
  await move(custom, 'custom2')
  await retryNow()
  await eventually(() => expect(arrived()).toEqual({ [at('x2')]: 1, [at('t451once+custom')]: 1 }))
})

test('contacts that keep moving get exactly one email each, at the address that they had at its mark', async () => {
  const CONTACTS = 40
  const MOVES = 6
  const { id, at, contact, move, pausedCampaign, resume, ended, arrived } = await useProject()
  const contacts = await Promise.all(times(CONTACTS, (index) => contact(`c${index}m0`)))
  const campaignId = await pausedCampaign()
  /** Per contact, when the request of each move began and was answered. */
  const moves = contacts.map(() => [{ began: 0, answered: 0 }])
  const moving = contacts.map(async (each, index) => {
    for (let n = 1; n <= MOVES; n++) {
      const began = Date.now()
      await move(each, `c${index}m${n}`)
      moves[index]!.push({ began, answered: Date.now() })
    }
  })
  await resume(campaignId)
  await Promise.all(moving)
  await ended(campaignId)

  expect(arrived()).toEqual(
    Object.fromEntries(
      (await many(sterna.db, sql<{ to: string }>`select to_address as to from emails where project_id = ${id}`)).map(({ to }) => [to, 1]),
    ),
  )
  const rows = await many(
    sterna.db,
    sql<{ contactId: string; to: string; at: Date }>`
      select contact_id as "contactId", to_address as to, handed_over_at as at from emails where project_id = ${id} and state = 'sent'
    `,
  )
  expect(rows).toHaveLength(CONTACTS)
  for (const { contactId, to, at: markedAt } of rows) {
    const index = contacts.findIndex((each) => each.id === contactId)
    const number = times(MOVES + 1, (n) => at(`c${index}m${n}`)).indexOf(to)
    const [own, next] = [moves[index]![number]!, moves[index]![number + 1]]
    expect(own.began).toBeLessThanOrEqual(markedAt.getTime() + 1)
    if (next) expect(markedAt.getTime()).toBeLessThanOrEqual(next.answered)
  }
})
