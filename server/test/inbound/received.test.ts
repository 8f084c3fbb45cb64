import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { postfix } from '../support/files/reports.ts'
import { connectSmtp, deliver } from '../support/servers/smtp-client.ts'
import { LETTER, useInbound } from './use-inbound.ts'

const { sterna, newProject, bounceTo, place } = useInbound()
let port: number
beforeAll(() => {
  port = place.port
})

describe('another message to a verified domain', () => {
  test('is recorded as an event with its content, and as a received email', async () => {
    const project = await newProject()
    await sterna.call('POST', '/contacts', { key: project.sk, body: { email: 'grace@example.com' } })
    expect(await deliver(port, { from: 'grace@example.com', to: `Help@${project.domain}`, message: LETTER })).toMatch(/^250 /)
    const [event, ...more] = await project.received()
    expect(more).toEqual([])
    expect(event).toMatchObject({
      messageId: 'letter-1@example.com',
      from: 'grace@example.com',
      fromName: 'Gräce',
      to: `help@${project.domain}`,
      replyTo: 'reply@example.com',
      subject: 'Frage 🐦',
      text: 'Grüße\n.with a dot\n',
      textTruncated: false,
      html: '<p>Grüße</p>\n',
      htmlTruncated: false,
      attachments: [{ filename: 'résumé.pdf', contentType: 'application/pdf', size: 9 }],
      automatic: false,
      sourceType: 'INBOUND',
      templateId: null,
      campaignId: null,
      workflowExecutionId: null,
    })
    expect(event!.headers).toMatchObject({ 'in-reply-to': '<before@shop.example>', 'x-twice': 'first', subject: 'Frage 🐦' })
    const email = await project.get(`/emails/${event!.emailId}`)
    expect(email).toMatchObject({
      sourceType: 'INBOUND',
      status: 'DELIVERED',
      from: 'grace@example.com',
      to: `help@${project.domain}`,
      sentAt: null,
    })
    expect(email.contactId).toBe(event!.contactId)
    expect(email.contactId).not.toBeNull()
    expect(email.timeline.map(({ what }: { what: string }) => what)).toEqual(['email.received'])
    expect((await project.get('/emails?limit=10')).data).toHaveLength(1)
  })

  test('creates no contact', async () => {
    const project = await newProject()
    await deliver(port, { from: 'x@example.com', to: `help@${project.domain}`, message: LETTER })
    expect((await project.received())[0]).toMatchObject({ contactId: null, from: 'grace@example.com' })
    expect((await project.get('/contacts')).total).toBe(0)
  })

  test('that is sent again, because our answer was lost, is one', async () => {
    const project = await newProject()
    const nameless = LETTER.replace(/^Message-ID.*\n/m, '')
    for (const message of [LETTER, nameless]) {
      await Promise.all(Array.from({ length: 3 }, () => deliver(port, { from: 'x@example.com', to: `help@${project.domain}`, message })))
    }
    await deliver(port, { from: 'x@example.com', to: `other@${project.domain}`, message: LETTER })
    expect((await project.received()).map(({ to }) => to)).toEqual([
      `help@${project.domain}`,
      `help@${project.domain}`,
      `other@${project.domain}`,
    ])
  })

  test('that differs from another one under the same Message-ID is kept as well, once', async () => {
    const project = await newProject()
    const to = `help@${project.domain}`
    const other = LETTER.replace('Subject: ', 'Subject: Another: ')
    for (const message of [LETTER, other, LETTER, other])
      expect(await deliver(port, { from: 'x@example.com', to, message })).toMatch(/^250 /)
    const received = await project.received()
    expect(received.map(({ subject }) => /^Another/.test(subject as string))).toEqual([false, true])
    const [first, second] = received.map(({ messageId }) => messageId)
    expect(first).toBe('letter-1@example.com')
    expect(second).toMatch(/^[0-9a-f]{64}@unnamed\.invalid$/)
    expect(received[1]!.headers).toMatchObject({ 'message-id': '<letter-1@example.com>' })
    const listed = (await project.get('/emails?limit=10')).data.map(({ messageId }: { messageId: string }) => messageId)
    expect(listed.toSorted()).toEqual([first, second].toSorted())
  })

  test('that comes many times at once beside another one under its Message-ID is kept once', async () => {
    const project = await newProject()
    const messages = Array.from({ length: 8 }, (_, index) => LETTER.replace('Subject: ', `Subject: ${index % 2} `))
    const answers = await Promise.all(
      messages.map((message) => deliver(port, { from: 'x@example.com', to: `help@${project.domain}`, message })),
    )
    expect(answers.filter((answer) => !answer.startsWith('250'))).toEqual([])
    expect((await project.received()).map(({ subject }) => (subject as string).slice(0, 1)).toSorted()).toEqual(['0', '1'])
  })

  test('in windows-1252, or of no charset at all, keeps its euro sign', async () => {
    const project = await newProject()
    const head = 'From: a@example.com\nSubject: =?windows-1252?Q?5_=80?=\nMIME-Version: 1.0\nContent-Transfer-Encoding: 8bit\n'
    for (const type of ['text/plain; charset=windows-1252', 'text/plain']) {
      const message = Buffer.from(`${head}Content-Type: ${type}\n\n5 \x80 \x93ok\x94\n`, 'latin1')
      expect(await deliver(port, { from: 'a@example.com', to: `help@${project.domain}`, message })).toMatch(/^250 /)
    }
    expect((await project.received()).map(({ subject, text }) => [subject, (text as string).trim()])).toEqual([
      ['5 €', '5 € “ok”'],
      ['5 €', '5 € “ok”'],
    ])
  })

  test('for a disabled project is refused for now, while reports about its emails count', async () => {
    const project = await newProject()
    const email = await project.send()
    const disable = (disabled: boolean) => sql`update projects set disabled = ${disabled} where id = ${project.id}`.execute(sterna.db)
    await disable(true)
    const letter = { from: 'x@example.com', to: `help@${project.domain}`, message: LETTER }
    expect(await deliver(port, letter)).toMatch(/^451 /)
    await bounceTo(email, postfix(email))
    expect(await project.bouncesOf(email.id)).toHaveLength(1)
    await disable(false)
    expect(await deliver(port, letter)).toMatch(/^250 /)
    expect(await project.received()).toHaveLength(1)
  })

  test('for a project that is disabled while it comes in is refused for now', async () => {
    const project = await newProject()
    const client = await connectSmtp(port)
    await client.say('EHLO x')
    for (const line of ['MAIL FROM:<>', `RCPT TO:<help@${project.domain}>`, 'DATA']) expect(await client.say(line)).toMatch(/^[23]/)
    await sql`update projects set disabled = true where id = ${project.id}`.execute(sterna.db)
    expect(await client.sendBody(LETTER)).toMatch(/^451 /)
    client.end()
    expect(await project.received()).toEqual([])
  })

  test('goes to each of those it is for, in whatever project', async () => {
    const [a, b] = [await newProject(), await newProject()]
    const to = [`one@${a.domain}`, `two@${a.domain}`, `one@${b.domain}`]
    expect(await deliver(port, { from: 'x@example.com', to, message: LETTER })).toMatch(/^250 /)
    expect([(await a.received()).length, (await b.received()).length]).toEqual([2, 1])
  })

  test.each([
    ['an answering machine', 'x@example.com', 'Auto-Submitted: auto-replied\n'],
    ['a list', 'x@example.com', 'List-Id: <list.example.com>\n'],
    ['ourselves', 'x@example.com', 'X-Sterna-Id: 1\n'],
    ['nobody', '', ''],
  ])('from %s is marked as automatic, so that workflows need not answer it', async (_, from, header) => {
    const project = await newProject()
    await deliver(port, { from, to: `help@${project.domain}`, message: header + LETTER })
    expect((await project.received())[0]).toMatchObject({ automatic: true })
  })

  test('is cut where it is too long, and holds nothing that cannot be stored', async () => {
    const project = await newProject()
    const many = Array.from({ length: 300 }, (_, index) => `X-Header-${index}: ${'v'.repeat(200)}`).join('\n')
    const message = Buffer.from(
      `From: a@example.com\nSubject: zero\0 and =?utf-16be?b?2D0=?=\n${many}\nContent-Type: text/plain; charset=utf-8\n\n${'ü'.repeat(100_000)}\0`,
    )
    expect(await deliver(port, { from: 'a@example.com', to: `help@${project.domain}`, message })).toMatch(/^250 /)
    const [event] = await project.received()
    expect(event).toMatchObject({ textTruncated: true, html: null })
    expect((event!.text as string).length).toBe(65_536)
    expect(Object.keys(event!.headers as object).length).toBeLessThanOrEqual(100)
    expect(event!.subject).toMatch(/^zero and/)
  })
})
