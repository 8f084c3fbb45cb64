import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { until } from '../support/eventually.ts'
import { idsIn, plainToken, TO, useSubmission } from './use-submission.ts'

const { sterna, listen, newProject, connect, submit } = useSubmission()

const newKey = async ({ id, owner }: Awaited<ReturnType<typeof newProject>>, more: object): Promise<string> =>
  (await owner.call('POST', `/projects/${id}/keys`, { body: { name: newId(), kind: 'secret', scopes: ['send'], ...more } })).body.key

describe('logging in', () => {
  test('the greeting offers what the client may use', async () => {
    const { extensions } = await connect({ key: null })
    for (const each of ['SIZE 41943040', '8BITMIME', 'SMTPUTF8', 'PIPELINING', 'ENHANCEDSTATUSCODES', 'AUTH PLAIN LOGIN'])
      expect(extensions).toContain(each)
    expect(extensions).not.toMatch(/STARTTLS|DSN|VRFY/)
  })

  test('any user name with a secret key, by PLAIN and LOGIN', async () => {
    const { sk } = await newProject()
    const plain = await connect({ key: null })
    expect(await plain.say(`AUTH PLAIN ${plainToken(sk, 'whoever')}`)).toMatch(/^235 2\.7\.0 /)
    const login = await connect({ key: null })
    expect(await login.say('AUTH LOGIN')).toMatch(/^334 /)
    expect(await login.say(Buffer.from('x').toString('base64'))).toMatch(/^334 /)
    expect(await login.say(Buffer.from(sk).toString('base64'))).toMatch(/^235 2\.7\.0 /)
  })

  test('any other key is 535 5.7.8, and the third one ends the connection', async () => {
    const project = await newProject()
    const others = [
      'x',
      `sk_${'0'.repeat(64)}`,
      await newKey(project, { scopes: ['read'] }),
      await newKey(project, { networks: ['10.1.2.3/32'] }),
    ]
    for (const key of others) {
      const client = await connect({ key: null })
      expect(await client.say(`AUTH PLAIN ${plainToken(key)}`)).toMatch(/^535 5\.7\.8 /)
    }
    const guesser = await connect({ key: null })
    for (let n = 0; n < 2; n++) expect(await guesser.say(`AUTH PLAIN ${plainToken(`guess ${n}`)}`)).toMatch(/^535 5\.7\.8 /)
    expect(await guesser.say(`AUTH PLAIN ${plainToken('guess 3')}`)).toMatch(/^421 4\.7\.0 /)
    await guesser.closed()
  })

  test('without it nothing is accepted', async () => {
    const client = await connect({ key: null })
    expect(await client.say('MAIL FROM:<a@b.example>')).toMatch(/^530 5\.7\.0 /)
    expect(await client.say(`RCPT TO:<${TO}>`)).toMatch(/^503 /)
    expect(await client.say('DATA')).toMatch(/^503 /)
  })

  test('a key that is revoked meanwhile is 535 at the message', async () => {
    const project = await newProject()
    const { body } = await project.owner.call('POST', `/projects/${project.id}/keys`, {
      body: { name: 'x', kind: 'secret', scopes: ['send'] },
    })
    const client = await connect({ key: body.key })
    await project.owner.call('DELETE', `/projects/${project.id}/keys/${body.id}`)
    expect(await client.deliver({ to: TO, message: project.letter() })).toMatch(/^535 5\.7\.8 /)
    expect(await project.emails()).toEqual([])
  })

  test('one key may be limited to sender domains', async () => {
    const project = await newProject()
    const key = await newKey(project, { senderDomains: [project.domain] })
    expect(await submit(key, project.letter())).toMatch(/^250 2\.0\.0 queued /)
    const other = await newProject()
    await sterna.call('POST', '/domains', { key: project.sk, body: { domain: 'second.example' } })
    expect(await submit(key, project.letter({ From: 'a@second.example' }))).toMatch(/^550 5\.7\.1 /)
    expect(await submit(key, other.letter())).toMatch(/^550 5\.7\.1 /)
  })
})

describe('a message', () => {
  test('is one email for each RCPT, also the same one twice, with a contact', async () => {
    const project = await newProject()
    const reply = await submit(project.sk, project.letter(), ['a@x.example', 'B@x.example', 'a@x.example'])
    expect(reply).toMatch(/^250 2\.0\.0 queued /)
    const emails = await project.emails()
    expect(idsIn(reply).toSorted()).toEqual(emails.map(({ id }) => id).toSorted())
    expect(emails.map(({ to }) => to).toSorted()).toEqual(['a@x.example', 'a@x.example', 'b@x.example'])
    const { body } = await project.call('GET', '/contacts')
    expect(body.data.map((each: { email: string; subscribed: boolean }) => [each.email, each.subscribed]).toSorted()).toEqual([
      ['a@x.example', false],
      ['b@x.example', false],
    ])
  })

  test('has the record of an email', async () => {
    const project = await newProject()
    const headers = {
      From: `=?utf-8?q?Gr=C3=A4ce?= <${project.from}>`,
      Subject: '=?utf-8?b?R3LDvMOfZQ==?=',
      'Message-ID': '<mine@client.example>',
    }
    const [id] = idsIn(await submit(project.sk, project.letter(headers)))
    const { body } = await project.call('GET', `/emails/${id}`)
    expect(body).toMatchObject({
      subject: 'Grüße',
      from: project.from,
      fromName: 'Gräce',
      to: TO,
      type: 'TRANSACTIONAL',
      sourceType: 'TRANSACTIONAL',
      messageId: 'mine@client.example',
    })
  })

  test('to more than ten names ten emails and a batch, by which all are listed', async () => {
    const project = await newProject()
    const recipients = Array.from({ length: 12 }, (_, n) => `r${n}@x.example`)
    const reply = await submit(project.sk, project.letter(), recipients)
    expect(idsIn(reply)).toHaveLength(10)
    const [, batch] = / batch (\S+)$/.exec(reply)!
    await submit(project.sk, project.letter())
    const { body } = await project.call('GET', `/emails?batch=${batch}`)
    expect(body.total).toBe(12)
    expect(body.data.map(({ to }: { to: string }) => to).toSorted()).toEqual(recipients.toSorted())
    expect((await project.call('GET', '/emails?batch=x')).body.data).toEqual([])
  })

  test('is stored without headers that are not for others, and otherwise byte for byte', async () => {
    const project = await newProject()
    const kept = [
      `From: Ada <${project.from}>`,
      'To: list:;',
      'Subject:  two  spaces',
      'X-Folded: one',
      '\ttwo  ',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 8bit',
    ]
    const removed = [
      'Bcc: secret@x.example,',
      ' more@x.example',
      'Return-Path: <x@x.example>',
      'Sender: x@x.example',
      'Received: from a by b',
      'Received: from c by d',
      'Resent-To: x@x.example',
      'ARC-Seal: i=1',
      'Authentication-Results: x',
      'DKIM-Signature: v=1; a=rsa-sha256; d=x.example',
      'X-Sterna-Id: 1',
      'X-SES-Source-ARN: x',
      'x-smtpapi: {}',
      'X-MSYS-API: {}',
      'X-MC-Autotext: 1',
      'X-Mailgun-Tag: 1',
      'X-PM-Message-Stream: x',
      'X-MJ-CustomID: x',
    ]
    const body = 'Grüße  \r\n\r\n.dot\r\n..\r\n--x\r\n\r\n\r\n'
    const lines = kept.flatMap((line, n) => (line.startsWith('\t') ? [line] : [...removed.slice(n * 3, n * 3 + 3), line]))
    const all = [...lines, ...removed.filter((line) => !lines.includes(line))]
    const client = await connect({ key: project.sk })
    for (const command of ['MAIL FROM:<x@x.example> BODY=8BITMIME SMTPUTF8', `RCPT TO:<${TO}>`, 'DATA']) await client.say(command)
    client.socket.write(`${all.join('\r\n')}\r\n\r\n${body.replace(/^\./gm, '..')}.\r\n`)
    expect(await client.reply()).toMatch(/^250 2\.0\.0 /)
    const { raw } = (await sql<{ raw: Buffer }>`select raw from contents where project_id = ${project.id}`.execute(sterna.db)).rows[0]!
    expect(raw.toString()).toBe(`${kept.join('\r\n')}\r\n\r\n${body}`)
  })
})

test('a message of two megabytes is stored byte for byte', async () => {
  const project = await newProject()
  const body = Array.from({ length: 40_000 }, (_, n) => `${n} ${'x'.repeat(n % 90)}\r\n`).join('')
  const letter = project.letter({}, body)
  expect(await submit(project.sk, letter)).toMatch(/^250 2\.0\.0 /)
  const { raw } = (await sql<{ raw: Buffer }>`select raw from contents where project_id = ${project.id}`.execute(sterna.db)).rows[0]!
  expect(raw.equals(Buffer.from(`${letter}\r\n`))).toBe(true)
})

const multipart = (from: string, ...parts: string[]) =>
  `From: ${from}\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n${parts.map((part) => `--x\r\n${part}`).join('')}--x--\r\n`

test('a message whose headers consist of parentheses is read, and shown', async () => {
  const project = await newProject()
  const value = '('.repeat(8_100)
  const part = `Content-Type: ${value}\r\nContent-Transfer-Encoding: ${value}\r\n\r\nü\r\n`
  const [id] = idsIn(await submit(project.sk, multipart(project.from, ...Array(60).fill(part))))
  const { status, body } = await project.call('GET', `/emails/${id}/preview`)
  expect([status, body.text]).toEqual([200, 'ü'])
})

test('a large message is the same as before when it is repeated with its key', async () => {
  const project = await newProject()
  const lines = `${'x'.repeat(70)}\r\n`.repeat(3_000)
  const message = (boundary: string, body = lines) =>
    `From: ${project.from}\r\nBcc: secret@x.example\r\nX-Sterna-Idempotency-Key: k\r\nContent-Type: multipart/mixed; boundary=${boundary}\r\n\r\n` +
    `--${boundary}\r\n\r\n${body}\r\n--${boundary}--\r\n`
  const reply = await submit(project.sk, message('a'))
  expect(reply).toMatch(/^250 2\.0\.0 /)
  expect(await submit(project.sk, message('b'))).toBe(reply)
  expect(await submit(project.sk, message('c', `${lines}y`))).toMatch(/^554 5\.5\.0 /)
  const { raw } = (await sql<{ raw: Buffer }>`select raw from contents where project_id = ${project.id}`.execute(sterna.db)).rows[0]!
  expect(raw.toString('latin1', 0, 200)).not.toMatch(/Bcc|Idempotency/)
})

describe('a refusal', () => {
  const twice = (name: string, value: string) => `${name}: ${value}\r\n${name}: ${value}\r\n`

  test.each<[string, (from: string) => string]>([
    ['two From', (from) => `${twice('From', from)}To: x@x.example\r\n\r\nHi\r\n`],
    ['two Subject', (from) => `From: ${from}\r\n${twice('subject', 'x')}\r\nHi\r\n`],
    ['two To', (from) => `From: ${from}\r\n${twice('TO', 'x@x.example')}\r\nHi\r\n`],
    ['two Content-Type', (from) => `From: ${from}\r\n${twice('Content-Type', 'text/plain')}\r\nHi\r\n`],
    ['no From', () => 'Subject: x\r\n\r\nHi\r\n'],
    ['two addresses in From', (from) => `From: ${from}, ceo@bank.example\r\n\r\nHi\r\n`],
    ['an address before another in From', (from) => `From: ceo@bank.example <${from}>\r\n\r\nHi\r\n`],
    ['an unreadable From', () => 'From: news\r\n\r\nHi\r\n'],
    ['a line that is no header', (from) => `From: ${from}\r\nno header\r\n\r\nHi\r\n`],
    ['a space before the colon', (from) => `From: ${from}\r\nFrom : ceo@bank.example\r\n\r\nHi\r\n`],
    ['a header of more than 128 KB', (from) => `From: ${from}\r\n${`X-Long: ${'x'.repeat(900)}\r\n`.repeat(150)}\r\nHi\r\n`],
    ['a part with a header of more than 64 KB', (from) => multipart(from, `${'a:\r\n'.repeat(20_000)}\r\nHi\r\n`)],
    ['headers of parts of more than 1 MB', (from) => multipart(from, ...Array(20).fill(`X-Long: ${'x'.repeat(60_000)}\r\n\r\nHi\r\n`))],
    ['more than 1,000 parts', (from) => multipart(from, ...Array(1_001).fill('\r\nHi\r\n'))],
    ['a From in an unknown charset', (from) => `From: =?utf-7?q?ceo+AEA-bank.example?= <${from}>\r\n\r\nHi\r\n`],
    ['NUL', (from) => `From: ${from}\r\n\r\nHi\0there\r\n`],
    ['nothing', () => ''],
  ])('%s is 550 5.6.0', async (_, message) => {
    const project = await newProject()
    expect(await submit(project.sk, message(project.from))).toMatch(/^550 5\.6\.0 /)
    expect(await project.emails()).toEqual([])
  })

  test.each([
    ['a bare LF before a dot', 'Hi\n.\r\nMAIL FROM:<x@x.example>\r\n'],
    ['a dot between bare LFs', 'Hi\n.\nMAIL FROM:<x@x.example>\n'],
    ['a bare CR before a dot', 'Hi\r.\r\nMAIL FROM:<x@x.example>\r\n'],
    ['a dot between bare CRs', 'Hi\r.\rMAIL FROM:<x@x.example>\r'],
    ['CR CR LF', 'Hi\r\r\n.\r\r\n'],
    ['a bare LF in the header', ''],
  ])('%s is one message, and 550 5.6.0', async (_, body) => {
    const project = await newProject()
    const client = await connect({ key: project.sk })
    for (const command of ['MAIL FROM:<x@x.example>', `RCPT TO:<${TO}>`, 'DATA']) await client.say(command)
    client.socket.write(`From: ${project.from}\r\nSubject: a${body ? '' : '\n'}b\r\n\r\n${body}\r\n.\r\n`)
    expect(await client.reply()).toMatch(/^550 5\.6\.0 .*bare/)
    // No command was read out of the message.
    expect(await client.say('NOOP')).toMatch(/^250 /)
    expect(await project.emails()).toEqual([])
  })

  test('of the sender: a domain that is not verified, or a name with the address of another', async () => {
    const project = await newProject()
    expect(await submit(project.sk, project.letter({ From: 'a@unknown.example' }))).toMatch(/^550 5\.7\.1 /)
    expect(await submit(project.sk, project.letter({ From: `"ceo@bank.example" <${project.from}>` }))).toMatch(/^550 5\.7\.1 /)
    expect(await submit(project.sk, project.letter({ From: `=?utf-8?q?ceo=40bank.example?= <${project.from}>` }))).toMatch(/^550 5\.7\.1 /)
    for (const from of [
      `${project.from} (ceo@bank.example)`,
      `"ceo@bank。example" <${project.from}>`,
      `"ceo @ bank.example" <${project.from}>`,
      `"${'a '.repeat(200)}ceo@bank.example" <${project.from}>`,
      `"\u202eelpmaxe.knab@oec" <${project.from}>`,
    ])
      expect(await submit(project.sk, project.letter({ From: from })), from).toMatch(/^550 5\.7\.1 /)
    expect(await project.emails()).toEqual([])
  })

  test('of the recipient: a bad address, or more than a thousand, until too many were refused', async () => {
    const project = await newProject()
    const client = await connect({ key: project.sk })
    await client.say('MAIL FROM:<x@x.example>')
    for (const bad of ['nobody', 'a@b', 'a b@x.example', 'a@@x.example', 'a@[127.0.0.1]', '"a"@x.example'])
      expect(await client.say(`RCPT TO:<${bad}>`)).toMatch(/^550 5\.1\.3 /)
    // Three of them were not even read as a command with an address.
    const replies: string[] = []
    client.socket.write(Array.from({ length: 10_000 }, (_, n) => `RCPT TO:<r${n}@x.example>\r\n`).join(''))
    for (let reply = await client.reply(); reply; reply = await client.reply()) replies.push(reply.slice(0, 9))
    expect(replies).toEqual([
      ...Array.from({ length: 1_000 }, () => '250 2.1.5'),
      ...Array.from({ length: 997 }, () => '452 4.5.3'),
      '421 4.7.0',
    ])
    await client.closed()
  })

  test('of size: announced, or found out', async () => {
    const project = await newProject()
    const client = await connect({ key: project.sk, port: await listen({ limits: { messageBytes: 100_000 } }) })
    expect(await client.say('MAIL FROM:<x@x.example> SIZE=100001')).toMatch(/^552 5\.3\.4 /)
    expect(await client.deliver({ to: TO, message: project.letter({}, 'x'.repeat(100_000)) })).toMatch(/^552 5\.3\.4 /)
    expect(await client.deliver({ to: TO, message: project.letter({}, 'x'.repeat(90_000)) })).toMatch(/^250 2\.0\.0 /)
  })

  test('of a disabled project', async () => {
    const project = await newProject()
    const client = await connect({ key: project.sk })
    await sql`update projects set disabled = true where id = ${project.id}`.execute(sterna.db)
    expect(await client.deliver({ to: TO, message: project.letter() })).toMatch(/^550 5\.7\.0 /)
  })

  test('of parameters that are not offered', async () => {
    const { sk } = await newProject()
    const client = await connect({ key: sk })
    expect(await client.say('MAIL FROM:<x@x.example> RET=FULL')).toMatch(/^555 /)
    await client.say('MAIL FROM:<x@x.example> AUTH=<>')
    expect(await client.say(`RCPT TO:<${TO}> NOTIFY=NEVER`)).toMatch(/^555 /)
  })
})

describe('a repeat by X-Sterna-Idempotency-Key', () => {
  const multipart = (boundary: string, text: string) =>
    [
      { 'Content-Type': `multipart/alternative; boundary="${boundary}"`, Date: new Date().toUTCString() },
      `--${boundary}\r\nContent-Type: text/plain\r\n\r\n${text}\r\n--${boundary}--\r\n`,
    ] as const

  test('gets the first ids, whatever a client makes anew', async () => {
    const project = await newProject()
    const [key, to] = ['order-1', Array.from({ length: 12 }, (_, n) => `r${n}@x.example`)]
    const send = (headers: object, body: string, recipients = to) =>
      submit(project.sk, project.letter({ ...headers, 'X-Sterna-Idempotency-Key': key }, body), recipients)
    const first = await send(...multipart('a', 'Hello'))
    expect(first).toMatch(/^250 2\.0\.0 queued .* batch /)
    expect(await send(...multipart('b', 'Hello'), to.toReversed())).toBe(first)
    expect(await send(...multipart('b', 'Other'))).toMatch(/^554 5\.5\.0 /)
    expect(await send(...multipart('b', 'Hello'), to.slice(1))).toMatch(/^554 5\.5\.0 /)
    expect(await project.emails()).toHaveLength(12)
  })

  test('at the same time is one message', async () => {
    const project = await newProject()
    const letter = project.letter({ 'X-Sterna-Idempotency-Key': 'at-once' })
    const replies = await Promise.all(Array.from({ length: 5 }, () => submit(project.sk, letter)))
    expect(new Set(replies).size).toBe(1)
    expect(replies[0]).toMatch(/^250 /)
    expect(await project.emails()).toHaveLength(1)
  })

  test('of a key of /v1/send is another message', async () => {
    const project = await newProject()
    const body = { to: TO, from: project.from, subject: 'Hi', body: 'Hello' }
    await sterna.call('POST', '/v1/send', { key: project.sk, body, headers: { 'idempotency-key': 'shared' } })
    expect(await submit(project.sk, project.letter({ 'X-Sterna-Idempotency-Key': 'shared' }))).toMatch(/^554 5\.5\.0 /)
    expect(await submit(project.sk, project.letter({ 'X-Sterna-Idempotency-Key': 'ü' }))).toMatch(/^550 5\.6\.0 /)
  })
})

describe('limits', () => {
  test('of time: to log in, between commands, and for a message', async () => {
    const project = await newProject()
    const port = await listen({ limits: { loginMs: 50, idleMs: 200, messageMs: 100 } })
    const stranger = await connect({ key: null, port })
    expect(await stranger.reply()).toMatch(/^421 4\.7\.0 /)
    const idle = await connect({ key: project.sk, port })
    expect(await idle.reply()).toMatch(/^421 /)
    const slow = await connect({ key: project.sk, port })
    for (const command of ['MAIL FROM:<x@x.example>', `RCPT TO:<${TO}>`, 'DATA']) await slow.say(command)
    const drip = setInterval(() => slow.socket.write('x'), 20)
    expect(await slow.reply()).toMatch(/^421 4\.4\.2 /)
    clearInterval(drip)
    expect(await project.emails()).toEqual([])
  })

  test('of connections: of one network, and of one owner', async () => {
    const [project, sibling, other] = [await newProject(), await newProject(), await newProject(await sterna.newPerson())]
    const port = await listen({ limits: { connectionsOfOne: 3, connectionsOfOwner: 1 } })
    await connect({ key: project.sk, port })
    const second = await connect({ key: null, port })
    expect(await second.say(`AUTH PLAIN ${plainToken(sibling.sk)}`)).toMatch(/^421 4\.7\.0 /)
    await second.closed()
    const third = await connect({ key: other.sk, port })
    await connect({ key: null, port })
    expect((await connect({ key: null, port })).greeting).toMatch(/^421 4\.7\.0 /)
    third.end()
    await until('its place is free', async () => (await connect({ key: null, port })).greeting.startsWith('220'))
  })
})
