import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { many, one, transact } from '../../../src/db/index.ts'
import { amazonSns, confirmationUrl, isSnsCertificateUrl } from '../../../src/delivery/feedback/ses/sns-client.ts'
import { dropOldNotifications } from '../../../src/delivery/feedback/ses/store.ts'
import { newId } from '../../../src/lib/id.ts'
import { createLog } from '../../../src/lib/process/log.ts'
import { type Answer, useApp } from '../../support/app.ts'
import { eventually } from '../../support/eventually.ts'
import { bounce, type EmailIds, eventOf } from '../../support/servers/ses-event.ts'
import { CERTIFICATE, confirmation, createFakeSns, SUBSCRIBE, signed, TOPIC } from '../../support/servers/sns-server.ts'

const sns = createFakeSns()
const log = createLog('silent')
const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0', SNS_TOPIC_ARNS: TOPIC }, sns, log, intervals: { notificationsMs: 25 } })

const post = (body: unknown, type = 'text/plain; charset=UTF-8'): Promise<Answer> =>
  sterna.call('POST', '/webhooks/sns', { body, headers: { 'content-type': type } })
const outcome = ({ status, body }: Answer) => (status < 400 ? [status] : [status, body.error.code])

type Project = Awaited<ReturnType<typeof newProject>>
let projects = 0

/** A project whose emails have left, by the sandbox. */
async function newProject() {
  const project = await sterna.newProject()
  const domain = `told${++projects}.example`
  await sterna.call('POST', '/domains', { key: project.sk, body: { domain } })
  const call = async (url: string) => (await sterna.call('GET', url, { key: project.sk })).body
  async function send(count: number): Promise<EmailIds[]> {
    const to = Array.from({ length: count }, (_, index) => `m${index}@example.com`)
    const body = { to, from: `news@${domain}`, subject: 'Hi', body: 'Hi', subscribed: true }
    const answer = await sterna.call('POST', '/v1/send', { key: project.sk, body })
    await eventually(async () => {
      const open = await many(sterna.db, sql`select id from emails where project_id = ${project.id} and state <> 'sent' limit 1`)
      expect(open).toEqual([])
    })
    const emails = await many(
      sterna.db,
      sql<EmailIds>`select id, project_id as "projectId", message_id as "messageId", contact_id as "contactId" from emails where project_id = ${project.id}`,
    )
    const byId = new Map(emails.map((email) => [email.id, email]))
    return answer.body.data.emails.map(({ email }: { email: string }) => byId.get(email)!)
  }
  return { ...project, call, send, email: (id: string) => call(`/emails/${id}`) }
}

const tell = async (message: string) => outcome(await post(signed({ Message: message })))

const settled = () =>
  eventually(async () => {
    const due = await many(sterna.db, sql`select id from provider_notifications where due_at <= now() limit 1`)
    expect(due).toEqual([])
  })
const eventsOf = ({ id }: EmailIds) =>
  many(sterna.db, sql<{ name: string; data: Record<string, unknown> }>`select name, data from events where email_id = ${id} order by id`)

// Who may tell us anything ------------------------------------------------------------------------------------------------

describe('what Amazon SNS has signed for our topic', () => {
  test.each(['1', '2'] as const)('is taken, once, signed by version %s, as text or as JSON', async (version) => {
    const body = signed({ Message: '{"no":"event"}', Subject: 'Amazon SES' }, version)
    expect(outcome(await post(body))).toEqual([200])
    expect(outcome(await post(body, 'application/json'))).toEqual([200])
    const kept = await many(sterna.db, sql`select message from provider_notifications where id = ${body.MessageId}`)
    expect(kept).toEqual([{ message: '{"no":"event"}' }])
  })

  test('needs its certificate once', async () => {
    await post(signed({ Message: '{}' }))
    const before = sns.fetched.length
    await Promise.all(Array.from({ length: 20 }, () => post(signed({ Message: '{}' }))))
    expect(sns.fetched.length).toBe(before)
    expect(new Set(sns.fetched)).toEqual(new Set([CERTIFICATE]))
  })

  test('confirms a subscription where Amazon is, and nowhere else', async () => {
    expect(outcome(await post(confirmation()))).toEqual([200])
    const [url] = sns.confirmed.splice(0)
    expect(new URL(url!).host).toBe('sns.eu-central-1.amazonaws.com')
    expect(Object.fromEntries(new URL(url!).searchParams)).toEqual({ Action: 'ConfirmSubscription', TopicArn: TOPIC, Token: 'abc123' })
  })

  test('that a subscription has ended does not renew it', async () => {
    expect(outcome(await post(confirmation({ Type: 'UnsubscribeConfirmation' })))).toEqual([200])
    expect(sns.confirmed).toEqual([])
  })
})

describe('anything else changes nothing and fetches nothing', () => {
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const good = () => signed({ Message: '{}' })
  const without = (name: string) => {
    const { [name]: _, ...rest } = good()
    return rest
  }
  const FOREIGN = TOPIC.replace('sterna', 'other')
  const HOSTS = [
    CERTIFICATE.replace('https:', 'http:'),
    CERTIFICATE.replace('.com/', '.com.evil.example/'),
    CERTIFICATE.replace('https://', 'https://evil.example/'),
    CERTIFICATE.replace('https://sns.', 'https://sns.eu-central-1.amazonaws.com@evil.example/sns.'),
    CERTIFICATE.replace('https://', 'https://user:pass@'),
    CERTIFICATE.replace('.com/', '.com:8443/'),
    CERTIFICATE.replace('.com/', '.com/../'),
    CERTIFICATE.replace('.com/', '.com\\@evil.example/'),
    CERTIFICATE.replace('eu-central-1', 'us-east-1'),
    CERTIFICATE.replace('sns.eu', 'bucket.s3.eu'),
    CERTIFICATE.replace('.amazonaws.com', 'xamazonaws.com'),
    CERTIFICATE.replace('.pem', '.pem?x=.pem'),
    CERTIFICATE.replace('.pem', '.pem#.pem'),
    CERTIFICATE.replace('SimpleNotificationService-', 'redirect/'),
    'https://169.254.169.254/SimpleNotificationService-1.pem',
  ]

  let before: string
  let calls: number
  const quiet = { except: ['senders'] }
  beforeAll(async () => {
    await post(good()) // the certificate is known from here on
    await settled()
  })
  beforeEach(async () => {
    before = await sterna.digest(quiet)
    calls = sns.fetched.length
  })
  async function refused(body: unknown, status: number, type?: string) {
    expect((await post(body, type)).status).toBe(status)
    expect(await sterna.digest(quiet)).toBe(before)
    expect([sns.fetched.length, sns.confirmed.length]).toEqual([calls, 0])
  }

  test.each(['Signature', 'SigningCertURL', 'SignatureVersion', 'TopicArn', 'MessageId', 'Type', 'Timestamp', 'Message'])(
    'what has no %s',
    (name) => refused(without(name), 401),
  )
  test.each([
    ['is no object', '[]', 401],
    ['is no JSON', '{', 400],
    ['is nothing', '', 400],
    ['is no text', '\xff\xfe', 400],
    ['is signed by somebody else', signed({ Message: '{}' }, '2', other), 401],
    ['says that it is signed by the other version', { ...good(), SignatureVersion: '1' }, 401],
    ['is signed by a version that does not exist', { ...good(), SignatureVersion: '3' }, 401],
    ['is of another topic', signed({ Message: '{}', TopicArn: FOREIGN }), 403],
    ['is of our topic and another', { ...good(), TopicArn: `${TOPIC}\n` }, 401],
    ['is older than our memory', signed({ Message: '{}', Timestamp: new Date(Date.now() - 30 * 86_400_000).toISOString() }), 403],
    ['is of an unknown type', { ...good(), Type: 'Other' }, 401],
    ['has an id of its own kind', signed({ Message: '{}', MessageId: 'x' }), 401],
  ])('what %s', (_, body, status) => refused(body, status as number))
  test.each(['Message', 'MessageId', 'Timestamp', 'Subject'])('what was altered in its %s', (name) => {
    const altered = {
      Message: '{"a":1}',
      MessageId: randomUUID(),
      Timestamp: new Date(0).toISOString().replace('1970', '2199'),
      Subject: 'x',
    }
    return refused({ ...good(), [name]: altered[name as 'Message'] }, 401)
  })
  test.each(HOSTS)('what names %s as its certificate', (SigningCertURL) => refused(signed({ Message: '{}', SigningCertURL }), 403))
  test.each([
    SUBSCRIBE.replace('https:', 'http:'),
    SUBSCRIBE.replace('.com/', '.com.evil.example/'),
    SUBSCRIBE.replace('https://', 'https://x@'),
    SUBSCRIBE.replace('.com/', '.com:444/'),
    SUBSCRIBE.replace('eu-central-1.amazonaws', 'us-east-1.amazonaws'),
    SUBSCRIBE.replace('ConfirmSubscription', 'DeleteTopic'),
    SUBSCRIBE.replace(TOPIC, FOREIGN),
    SUBSCRIBE.replace('/?', '/x?'),
    SUBSCRIBE.replace('abc123', '../x'),
    'http://169.254.169.254/latest/meta-data/',
    'http://127.0.0.1:3000/?Action=ConfirmSubscription',
  ])('what wants to be confirmed at %s', (SubscribeURL) => refused(confirmation({ SubscribeURL }), 403))
  test('a confirmation for another topic, or not signed by Amazon', async () => {
    await refused(confirmation({ TopicArn: FOREIGN }), 403)
    await refused({ ...confirmation(), Token: 'other' }, 401)
    await refused({ ...confirmation(), SubscribeURL: SUBSCRIBE.replace('abc123', 'abc124') }, 401)
  })
  test('what is larger than 256 KB, or in another format', async () => {
    await refused(signed({ Message: 'x'.repeat(260 * 1024) }), 413)
    await refused(new URLSearchParams(good()).toString(), 415, 'application/x-www-form-urlencoded')
  })
  test('and is logged at once, then once a minute with the count', async () => {
    const now = performance.now.bind(performance)
    let later = 60_001
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + later)
    const warn = vi.spyOn(log, 'warn')
    try {
      for (let times = 0; times < 3; times++) await post(signed({ Message: '{}', TopicArn: FOREIGN }))
      const [fields, message] = warn.mock.calls[0] as unknown as [object, string]
      expect(message).toBe('refused a notification')
      expect(fields).toMatchObject({ reason: 'The topic is not in SNS_TOPIC_ARNS.', ip: '127.0.0.1', count: expect.any(Number) })
      expect(warn).toHaveBeenCalledTimes(1)
      later += 60_001
      await post('[]')
      expect(warn).toHaveBeenCalledTimes(2)
      expect(warn.mock.calls[1]![0]).toMatchObject({ reason: 'Not a signed message of Amazon SNS.', count: 3 })
    } finally {
      warn.mockRestore()
      clock.mockRestore()
    }
  })
  test('text elsewhere: only this route accepts JSON with a text content type', async () => {
    const answer = await sterna.call('POST', '/auth/login', { body: '{}', headers: { 'content-type': 'text/plain' } })
    expect(answer.status).toBe(415)
  })
})

describe('asking Amazon', () => {
  test('follows no redirect, reads no more than it must, and gives up', async () => {
    const asked: string[] = []
    const server = createServer((req, res) => {
      asked.push(req.url!)
      if (req.url === '/redirect') return res.writeHead(302, { location: '/secret' }).end()
      if (req.url === '/large') return res.end('x'.repeat(100_000))
      if (req.url === '/missing') return res.writeHead(404).end()
      return res.end('PEM')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await amazonSns.certificate(`${base}/plain`)).toBe('PEM')
    for (const path of ['/redirect', '/large', '/missing']) {
      await expect(amazonSns.certificate(base + path)).rejects.toThrow()
      await expect(amazonSns.confirm(base + path)).rejects.toThrow()
    }
    expect(asked).not.toContain('/secret')
    server.close()
  })

  test('happens at the host of the topic: also in China and for governments', () => {
    const path = '/SimpleNotificationService-abc.pem'
    expect(isSnsCertificateUrl(`https://sns.cn-north-1.amazonaws.com.cn${path}`, 'arn:aws-cn:sns:cn-north-1:123456789012:t')).toBe(true)
    expect(isSnsCertificateUrl(`https://sns.cn-north-1.amazonaws.com${path}`, 'arn:aws-cn:sns:cn-north-1:123456789012:t')).toBe(false)
    expect(isSnsCertificateUrl(`https://sns.us-gov-west-1.amazonaws.com${path}`, 'arn:aws-us-gov:sns:us-gov-west-1:123456789012:t')).toBe(
      true,
    )
    expect(confirmationUrl(SUBSCRIBE, TOPIC)).toMatch(/^https:\/\/sns\.eu-central-1\.amazonaws\.com\/\?Action=ConfirmSubscription&/)
  })

  test('is not worth doing for everybody who names a new certificate', async () => {
    const before = sns.fetched.length
    const names = Array.from({ length: 60 }, (_, index) => CERTIFICATE.replace('0123', `a${index}`))
    const forged = names.map((SigningCertURL) => ({ ...signed({ Message: '{}', SigningCertURL }), Signature: 'AAAA' }))
    const statuses = await Promise.all(forged.map(async (body) => (await post(body)).status))
    expect(new Set(statuses)).toEqual(new Set([401, 503]))
    expect(sns.fetched.length - before).toBeLessThanOrEqual(10)
    // Which takes nothing from those that are known.
    expect(outcome(await post(signed({ Message: '{}' })))).toEqual([200])
  })
})

// What follows --------------------------------------------------------------------------------------------------------------

describe('a notification about an email', () => {
  let project: Project
  let emails: EmailIds[]
  let next = 0
  beforeEach(async () => {
    project ??= await newProject()
    emails ??= await project.send(60)
  })
  const newMail = () => emails[next++]!
  /** As if it had come no further than that. */
  const PLACES = {
    'is handed over': sql`state = 'sending', handed_over_at = now()`,
    'has an unknown outcome': sql`state = 'unknown', handed_over_at = now(), unknown_since = now()`,
    'waits for a second try': sql`state = 'deferred', handed_over_at = null, due_at = now() + interval '1 hour'`,
    'is about to be tried again': sql`state = 'sending', handed_over_at = null, attempts = 2`,
  }
  const putBack = (email: EmailIds, place: keyof typeof PLACES) =>
    sql`update emails set sent_at = null, ${PLACES[place]} where project_id = ${email.projectId} and id = ${email.id}`.execute(sterna.db)
  const isSubscribed = async ({ contactId }: EmailIds) => (await project.call(`/contacts/${contactId}`)).subscribed

  test.each(Object.keys(PLACES) as (keyof typeof PLACES)[])('that %s is evidence that it was accepted', async (place) => {
    for (const kind of ['Send', 'Delivery', 'DeliveryDelay']) {
      const email = newMail()
      await putBack(email, place)
      await tell(eventOf(email, kind))
      const status = kind === 'Delivery' ? 'DELIVERED' : 'SENT'
      await eventually(async () => expect(await project.email(email.id)).toMatchObject({ status, outcomeUnknownSince: null }))
      const row = await one(sterna.db, sql<{ providerId: string }>`select provider_id as "providerId" from emails where id = ${email.id}`)
      expect(row.providerId).toBe(`ses-${email.id}`)
    }
  })

  test('Delivery delivers it', async () => {
    const email = newMail()
    await tell(eventOf(email, 'Delivery'))
    await eventually(async () =>
      expect(await project.email(email.id)).toMatchObject({ status: 'DELIVERED', deliveredAt: expect.any(String) }),
    )
    expect((await eventsOf(email)).map(({ name }) => name)).toEqual(['email.sent', 'email.delivery'])
  })

  test('has the time of its event, but not before the email was created nor in the future', async () => {
    const createdAt = new Date(Date.now() - 3 * 86_400_000).toISOString()
    const deliveredAt = async (timestamp: unknown) => {
      const email = newMail()
      await sql`update emails set created_at = ${createdAt} where id = ${email.id}`.execute(sterna.db)
      await tell(eventOf(email, 'Delivery', { delivery: { timestamp } }))
      await eventually(async () => expect(await project.email(email.id)).toMatchObject({ status: 'DELIVERED' }))
      const { deliveredAt: at } = await project.email(email.id)
      expect((await eventsOf(email)).at(-1)!.data.deliveredAt).toBe(at)
      return at
    }
    const yesterday = new Date(Date.now() - 86_400_000).toISOString()
    expect(await deliveredAt(yesterday)).toBe(yesterday)
    expect(await deliveredAt('1999-01-01T00:00:00.000Z')).toBe(createdAt)
    for (const unbelievable of ['2999-01-01T00:00:00.000Z', 'soon', 7, undefined])
      expect(Date.now() - Date.parse(await deliveredAt(unbelievable))).toBeLessThan(30_000)
  })

  test('of a hard bounce unsubscribes and suppresses; one of a soft bounce is only recorded', async () => {
    const [hard, soft, odd] = [newMail(), newMail(), newMail()]
    await tell(eventOf(hard, 'Bounce', bounce('Permanent')))
    await tell(eventOf(soft, 'Bounce', bounce('Transient', 'smtp; 452 mailbox full')))
    await tell(eventOf(odd, 'Bounce', bounce('Undetermined', '')))
    await settled()
    expect(await project.email(hard.id)).toMatchObject({ status: 'BOUNCED' })
    expect(await project.email(soft.id)).toMatchObject({ status: 'SENT', bouncedAt: null })
    expect(await Promise.all([hard, soft, odd].map(isSubscribed))).toEqual([false, true, true])
    const told = await Promise.all([hard, soft, odd].map(async (email) => (await eventsOf(email)).at(-1)!))
    expect(told.map(({ name, data }) => [name, data.bounceType, data.reason, data.emailId])).toEqual([
      ['email.bounce', 'Permanent', 'smtp; 550 5.1.1 user unknown', hard.id],
      ['email.bounce', 'Transient', 'smtp; 452 mailbox full', soft.id],
      ['email.bounce', 'Transient', '5.1.1', odd.id],
    ])
    const suppressed = await many(sterna.db, sql<{ address: string }>`select address from suppressions where project_id = ${project.id}`)
    expect(suppressed).toHaveLength(1)
    const consents = await many(
      sterna.db,
      sql<{ details: object }>`select details from consents where contact_id = ${hard.contactId} and source = 'bounce'`,
    )
    expect(consents).toEqual([{ details: { emailId: hard.id } }])
  })

  test('a complaint unsubscribes, its opposite does not', async () => {
    const [complained, pleased] = [newMail(), newMail()]
    await tell(eventOf(complained, 'Complaint', { complaint: { complaintFeedbackType: 'abuse' } }))
    await tell(eventOf(pleased, 'Complaint', { complaint: { complaintFeedbackType: 'not-spam' } }))
    await settled()
    expect(await project.email(complained.id)).toMatchObject({ status: 'COMPLAINED' })
    expect(await project.email(pleased.id)).toMatchObject({ status: 'SENT' })
    expect([await isSubscribed(complained), await isSubscribed(pleased)]).toEqual([false, true])
  })

  test('of a delay is in its timeline only', async () => {
    const email = newMail()
    const delay = {
      delayType: 'MailboxFull',
      expirationTime: '2030-01-01T00:00:00Z',
      delayedRecipients: [{ diagnosticCode: 'smtp; 452 full' }],
    }
    // Amazon may tell the same again, under another id.
    for (let times = 0; times < 2; times++) await tell(eventOf(email, 'DeliveryDelay', { deliveryDelay: delay }))
    await settled()
    const { status, timeline } = await project.email(email.id)
    expect(status).toBe('SENT')
    expect(timeline.at(-1)).toMatchObject({
      what: 'delayed',
      details: { reason: 'MailboxFull: smtp; 452 full', until: '2030-01-01T00:00:00Z' },
    })
    expect((await eventsOf(email)).map(({ name }) => name)).toEqual(['email.sent'])
  })

  test.each([
    ['Reject', { reject: { reason: 'Bad content' } }, 'Amazon SES rejected it: Bad content'],
    ['Rendering Failure', { failure: { errorMessage: 'No' } }, 'Amazon SES could not render it: No'],
  ])('%s: it has failed', async (kind, more, error) => {
    const email = newMail()
    await tell(eventOf(email, kind, more))
    await eventually(async () => expect(await project.email(email.id)).toMatchObject({ status: 'FAILED', error }))
    expect((await eventsOf(email)).map(({ name }) => name)).toEqual(['email.sent', 'email.failed'])
  })

  test('opens and clicks of others change nothing, nor does what we do not know or cannot read', async () => {
    const email = newMail()
    const before = await project.email(email.id)
    for (const kind of ['Open', 'Click', 'Subscription', 'constructor', '']) await tell(eventOf(email, kind))
    for (const message of [
      'no json',
      '[]',
      '{"eventType":"Delivery"}',
      '{"eventType":"Delivery","mail":{"messageId":"x","tags":{"emailId":["1"]}}}',
    ])
      expect(await tell(message)).toEqual([200])
    await settled()
    expect(await project.email(email.id)).toEqual(before)
  })

  test('text of strangers is kept short, on one line and free of what is no text', async () => {
    const email = newMail()
    await tell(eventOf(email, 'Bounce', bounce('Permanent', `\u001b[31mred\u0000\r\n<b>\ud800${'😀'.repeat(400)}`)))
    await settled()
    const { reason } = (await eventsOf(email)).at(-1)!.data as { reason: string }
    expect(reason).toMatch(/^\[31mred <b> (😀)+$/u)
    expect(reason.length).toBeLessThanOrEqual(500)
  })

  test('with a forged id has no effect', async () => {
    const [ours, victim] = [newMail(), newMail()]
    const before = await project.email(victim.id)
    const spoofed = [
      // The tags of one email, on another.
      eventOf({ ...victim, messageId: ours.messageId }, 'Bounce', bounce('Permanent'), { messageId: `ses-${ours.id}` }),
      // In the name of another project.
      eventOf({ ...victim, projectId: (await newProject()).id }, 'Bounce', bounce('Permanent')),
      eventOf(victim, 'Bounce', bounce('Permanent'), { tags: { emailId: [victim.id] } }),
      eventOf(victim, 'Bounce', bounce('Permanent'), { tags: { emailId: [victim.id], projectId: ['x'] } }),
      eventOf(victim, 'Bounce', bounce('Permanent'), { commonHeaders: undefined }),
    ]
    for (const message of spoofed) expect(await tell(message)).toEqual([200])
    await settled()
    expect(await project.email(victim.id)).toEqual(before)
    expect(await isSubscribed(victim)).toBe(true)
  })

  test('by the id its provider gave it, it needs no other name; before that is known it waits', async () => {
    const email = newMail()
    const message = eventOf(email, 'Delivery', {}, { commonHeaders: undefined })
    const body = signed({ Message: message })
    await post(body)
    await settled()
    expect(await project.email(email.id)).toMatchObject({ status: 'SENT' })
    await sql`update emails set provider_id = ${`ses-${email.id}`} where id = ${email.id}`.execute(sterna.db)
    await sql`update provider_notifications set due_at = now() where id = ${body.MessageId!}`.execute(sterna.db)
    await eventually(async () => expect(await project.email(email.id)).toMatchObject({ status: 'DELIVERED' }))
  })

  test('that we do not know yet, it waits for a week and no longer', async () => {
    const email: EmailIds = { id: newId(), projectId: project.id, messageId: 'x', contactId: '' }
    const body = signed({ Message: eventOf(email, 'Delivery') })
    await post(body)
    const look = () =>
      one(
        sterna.db,
        sql<{ tries: number; waits: number | null }>`
          select tries, extract(epoch from due_at - now())::float8 as waits from provider_notifications where id = ${body.MessageId!}
        `,
      )
    let total = 0
    for (let tries = 1; ; tries++) {
      await eventually(async () => expect((await look()).tries).toBe(tries))
      const { waits } = await look()
      if (waits === null) break
      total += waits
      await sql`update provider_notifications set due_at = now() where id = ${body.MessageId!}`.execute(sterna.db)
    }
    expect(total / 86_400).toBeGreaterThan(6)
    expect(total / 86_400).toBeLessThan(8)
  })

  test('is forgotten after 30 days, and with its project', async () => {
    const [old, young] = [signed({ Message: '{}' }), signed({ Message: '{}' })]
    await Promise.all([post(old), post(young)])
    await sql`update provider_notifications set received_at = now() - interval '31 days' where id = ${old.MessageId!}`.execute(sterna.db)
    await transact(sterna.db, (tx) => dropOldNotifications(tx, 1_000))
    const left = await many(
      sterna.db,
      sql<{ id: string }>`select id from provider_notifications where id in (${old.MessageId!}, ${young.MessageId!})`,
    )
    expect(left).toEqual([{ id: young.MessageId }])
    const gone = await newProject()
    const [email] = await gone.send(1)
    await tell(eventOf(email!, 'Delivery'))
    await settled()
    await gone.owner.call('DELETE', `/users/@me/projects/${gone.id}`)
    await eventually(async () =>
      expect(await many(sterna.db, sql`select id from provider_notifications where project_id = ${gone.id}`)).toEqual([]),
    )
  })
})
