import { sql } from 'kysely'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { ADA, BOB, TIME, times, UUID7, useSending } from '../support/delivery/sending.ts'
import { eventually } from '../support/eventually.ts'

const { newProject, busy, expectRefused, sterna } = useSending()

describe('a request', () => {
  test('returns the contact and the email of every recipient, and the email arrives', async () => {
    const project = await newProject({ name: 'Ada’s Shop' })
    const answer = await project.send({
      to: ' Ada@Example.com',
      subject: 'Order {{n}}',
      body: '<p>Hello {{name}}</p>',
      data: { n: 7, name: 'Ada' },
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      success: true,
      data: {
        emails: [{ contact: { id: expect.stringMatching(UUID7), email: ADA }, email: expect.stringMatching(UUID7) }],
        timestamp: expect.stringMatching(TIME),
      },
    })
    const contact = await project.contact()
    expect(contact).toMatchObject({ id: answer.body.data.emails[0].contact.id, subscribed: false, data: { n: 7, name: 'Ada' } })

    const [email] = await project.ended(answer)
    expect(email).toEqual({
      id: answer.body.data.emails[0].email,
      projectId: project.id,
      contactId: contact.id,
      messageId: expect.stringMatching(new RegExp(`^[0-9a-f]{52}@${project.domain}$`)),
      subject: 'Order 7',
      from: `hello@${project.domain}`,
      fromName: null,
      to: ADA,
      toName: null,
      replyTo: null,
      sourceType: 'TRANSACTIONAL',
      type: 'TRANSACTIONAL',
      templateId: null,
      campaignId: null,
      workflowExecutionId: null,
      status: 'SENT',
      sendAt: null,
      sentAt: expect.stringMatching(TIME),
      deliveredAt: null,
      openedAt: null,
      clickedAt: null,
      bouncedAt: null,
      complainedAt: null,
      outcomeUnknownSince: null,
      opens: 0,
      clicks: 0,
      error: null,
      errorCode: null,
      resentFrom: null,
      test: false,
      templateVersion: null,
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      attempts: 1,
      createdAt: answer.body.data.timestamp,
      updatedAt: expect.stringMatching(TIME),
      timeline: [
        { at: answer.body.data.timestamp, what: 'queued', details: {} },
        {
          at: expect.stringMatching(TIME),
          what: 'email.sent',
          details: expect.objectContaining({ emailId: answer.body.data.emails[0].email }),
        },
      ],
    })

    const source = await project.source(email!.id)
    expect(source).toMatch(/^[\x20-\x7e\t\r\n]+$/)
    expect(source.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
    const parsed = await PostalMime.parse(source)
    expect(parsed).toMatchObject({
      from: { name: 'Ada’s Shop', address: `hello@${project.domain}` },
      to: [{ name: '', address: ADA }],
      subject: 'Order 7',
      messageId: `<${email!.messageId}>`,
      html: '<p>Hello Ada</p>\n',
      text: expect.stringMatching(/^Hello Ada\n+$/),
      attachments: [],
    })
    expect(parsed.replyTo).toBeUndefined()
    expect(Date.parse(parsed.date!)).toBe(Math.floor(Date.parse(email!.createdAt as string) / 1000) * 1000)
    expect(parsed.headers.filter(({ key }) => /^(list-unsubscribe|bcc|cc|sender|return-path)/.test(key))).toEqual([])
  })

  test.each<[string, unknown, { name: string; address: string }[]]>([
    ['a text', ADA, [{ name: '', address: ADA }]],
    ['an object', { email: ADA }, [{ name: '', address: ADA }]],
    ['an object with a name', { name: 'Ada', email: ADA }, [{ name: 'Ada', address: ADA }]],
    ['an object with an empty name', { name: '', email: ADA }, [{ name: '', address: ADA }]],
    ['an object whose name is null', { name: null, email: ADA }, [{ name: '', address: ADA }]],
    ['an object with more in it', { name: 'Ada', email: ADA, id: 7 }, [{ name: 'Ada', address: ADA }]],
    ['a list of one', [ADA], [{ name: '', address: ADA }]],
    [
      'a mixed list',
      [BOB, { name: 'Ada', email: ADA }, { email: 'c@example.com' }],
      [
        { name: '', address: BOB },
        { name: 'Ada', address: ADA },
        { name: '', address: 'c@example.com' },
      ],
    ],
    [
      'the same address twice',
      [ADA, { name: 'Ada', email: 'ADA@EXAMPLE.com' }],
      [
        { name: '', address: ADA },
        { name: 'Ada', address: ADA },
      ],
    ],
    ['a domain in another script', 'a@почта.рф', [{ name: '', address: 'a@xn--80a1acny.xn--p1ai' }]],
    ['a name with their address in it', { name: `Ada, ${ADA}`, email: ADA }, [{ name: `Ada, ${ADA}`, address: ADA }]],
    ['a name with another address in it', { name: 'A <b@y.example>', email: ADA }, [{ name: 'A <b@y.example>', address: ADA }]],
    ['a name with quotes and a comma', { name: '"A", \\B\\', email: ADA }, [{ name: '"A", \\B\\', address: ADA }]],
    ['a name in another script', { name: 'Ада 🦜', email: ADA }, [{ name: 'Ада 🦜', address: ADA }]],
  ])('to %s returns one email for each, in the same order', async (_, to, expected) => {
    const answer = await busy.send({ to })
    expect(answer.body.data.emails.map(({ contact }: { contact: { email: string } }) => contact.email)).toEqual(
      expected.map(({ address }) => address),
    )
    const emails = await busy.ended(answer)
    expect(new Set(emails.map(({ id }) => id)).size).toBe(expected.length)
    const parsed = await Promise.all(emails.map(async ({ id }) => PostalMime.parse(await busy.source(id))))
    expect(parsed.map((each) => each.to)).toEqual(expected.map((mailbox) => [mailbox]))
  })

  test('to a thousand recipients makes one contact and one email for each', async () => {
    const project = await newProject()
    const to = times(1_000, (index) => `r${index}@example.com`)
    const answer = await project.send({ to })
    expect(answer.status).toBe(200)
    expect(answer.body.data.emails.map(({ contact }: { contact: { email: string } }) => contact.email)).toEqual(to)
    expect((await project.contacts()).total).toBe(1_000)
    expect((await project.call('GET', '/emails?limit=1')).body.total).toBe(1_000)
    await eventually(async () => expect((await project.call('GET', '/emails?status=SENT&limit=1')).body.total).toBeGreaterThan(10))
    // The next tests wait until no email is under way, and sending them all says nothing more.
    await sql`update emails set state = 'cancelled' where project_id = ${project.id} and state = 'queued'`.execute(sterna.db)
  })
})

describe('recipients are refused', () => {
  test('together when one of them is not an address, and nothing is written', () =>
    expectRefused([
      ['missing', { to: undefined }, [['to', 'required']]],
      ['null', { to: null }, [['to', 'invalid_type']]],
      ['a number', { to: 7 }, [['to', 'invalid_type']]],
      ['nobody', { to: [] }, [['to', 'too_small']]],
      ['1,001', { to: times(1_001, (index) => `r${index}@example.com`) }, [['to', 'too_big']]],
      ['10,000', { to: times(10_000, () => ADA) }, [['to', 'too_big']]],
      ['a list in a list', { to: [[ADA]] }, [['to.0', 'invalid_type']]],
      ['an object without an address', { to: { name: 'Ada' } }, [['to.email', 'required']]],
      ['one bad among good', { to: [ADA, 'nobody', { email: 'x' }, BOB] }, [['to.1', 'invalid_string'], ['to.2.email', 'invalid_string']]], // biome-ignore format: one case
      ['a megabyte', { to: `${'x'.repeat(1_000_000)}@example.com` }, [['to', 'invalid_string']]],
      ...[
        'a@x.example, b@y.example',
        'a@x.example;b@y.example',
        'a@x.example\r\nRCPT TO:<b@y.example>',
        'a@x.example\nBcc: b@y.example',
        '"b@y.example x"@z.example',
        'g: a@x.example, b@y.example;',
        'Ada <a@x.example>',
        '<a@x.example>',
        'a(b)@x.example',
        `${'('.repeat(5_000)}a@x.example`,
        'a@[127.0.0.1]',
        'a@127.0.0.1',
        'a@localhost',
        'a@x..example',
        '@x.example',
        'a@',
        '',
        ' ',
        'a b@x.example',
        'a\u200b@x.example',
        `${'a'.repeat(65)}@x.example`,
      ].flatMap((bad): [string, object, [string, string][]][] => [
        [bad, { to: bad }, [['to', 'invalid_string']]],
        [bad, { to: { name: 'A', email: bad } }, [['to.email', 'invalid_string']]],
      ]),
      ['a line break in a name', { to: { name: 'A\r\nBcc: x@y.example', email: ADA } }, [['to.name', 'invalid_string']]],
      ['a lone line feed in a name', { to: { name: 'A\nB', email: ADA } }, [['to.name', 'invalid_string']]],
      ['a lone CR in a name', { to: { name: 'A\rB', email: ADA } }, [['to.name', 'invalid_string']]],
      ['64 kB of a name', { to: { name: 'x'.repeat(65_536), email: ADA } }, [['to.name', 'invalid_string']]],
      ['256 characters of a name', { to: [{ name: 'x'.repeat(256), email: ADA }] }, [['to.0.name', 'invalid_string']]],
      ['a name that is a list', { to: { name: ['A'], email: ADA } }, [['to.name', 'invalid_type']]],
    ]))
})
