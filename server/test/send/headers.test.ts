import fc from 'fast-check'
import PostalMime, { decodeWords } from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { ADA, BOB, file, times, useSending } from '../support/delivery/sending.ts'

const { busy, expectRefused } = useSending()

describe('headers', () => {
  test('of the request are in the message, unchanged', async () => {
    const headers = {
      'X-Order': '42',
      'x-long': 'word '.repeat(190).trim(),
      'X-Unicode': 'Ünï 🦜',
      'X-Unbroken': 'x'.repeat(998),
      'X-Encoded': '=?UTF-8?Q?x?=',
      References: '<a@x.example> <b@x.example>',
      'In-Reply-To': '<b@x.example>',
      'List-Unsubscribe': '<https://x.example/u>, <mailto:u@x.example>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      Precedence: 'bulk',
      'Feedback-ID': 'a:b:c:d',
      'X-SMTPAPI-Like': 'v',
      'X-PMX': 'v',
      constructor: 'c',
    }
    const email = await busy.deliver({ headers })
    const found = new Map(email.headers.map(({ key, value }) => [key, decodeWords(value)]))
    for (const [name, value] of Object.entries(headers)) expect([name, found.get(name.toLowerCase())]).toEqual([name, value])
    expect(email.headers.filter(({ key }) => key.startsWith('list-unsubscribe'))).toHaveLength(2)
  })

  test('of the request may set Reply-To', async () => {
    const email = await busy.deliver({ headers: { 'reply-TO': 'Help <help@x.example>, other@x.example' }, reply: BOB })
    expect(email.replyTo).toEqual([
      { name: 'Help', address: 'help@x.example' },
      { name: '', address: 'other@x.example' },
    ])
    expect(email.headers.filter(({ key }) => key === 'reply-to')).toHaveLength(1)
  })

  test('may be fifty', async () => {
    const headers = Object.fromEntries(times(50, (index) => [`X-H${index}`, 'v']))
    expect((await busy.deliver({ headers })).headers.filter(({ key }) => key.startsWith('x-h'))).toHaveLength(50)
    await expectRefused([['51', { headers: { ...headers, 'X-More': 'v' } }, [['headers', 'too_big']]]])
  })

  test('that Sterna sets itself, or that control a relay, are refused in any spelling', () =>
    expectRefused(
      [
        ...[
          'X-SES-Source-ARN',
          'X-SMTPAPI',
          'X-MSYS-API',
          'X-MC-Tags',
          'X-MC-',
          'X-Mailgun-Variables',
          'X-PM-Message-Stream',
          'X-MJ-CustomID',
        ],
        ...['From', 'Sender', 'To', 'Cc', 'Bcc', 'Return-Path', 'Received', 'DKIM-Signature', 'Date', 'Message-ID', 'MIME-Version'],
        ...['Content-Type', 'Content-Transfer-Encoding', 'Content-', 'Content-X', 'Resent-To', 'Resent-Bcc', 'X-SES-Configuration-Set'],
        ...['X-Sterna-Id', 'Subject'],
      ].flatMap((name) =>
        [name, name.toLowerCase(), name.toUpperCase()].map((spelt): [string, object, [string, string][]] => [
          spelt,
          { headers: { [spelt]: 'v@x.example' } },
          [[`headers.${spelt}`, 'custom']],
        ]),
      ),
    ))

  test('with names or values that break the message are refused', () =>
    expectRefused([
      ...['X-A\r\nX-B', 'X-A\n', '\rX', 'a b', 'a:', 'é', 'X(a)', 'X@a', 'x'.repeat(77), ' X', 'X\t', '"X"', 'X,'].map(
        (name): [string, object, [string, string][]] => [name, { headers: { [name]: 'v' } }, [[`headers.${name}`, 'invalid_string']]],
      ),
      ['no name', { headers: { '': 'v' } }, [['headers.', 'invalid_string']]],
      ['CR LF', { headers: { 'X-A': 'v\r\nBcc: x@y.example' } }, [['headers.X-A', 'invalid_string']]],
      ['LF', { headers: { 'X-A': 'v\nBcc: x@y.example' } }, [['headers.X-A', 'invalid_string']]],
      ['CR', { headers: { 'X-A': 'v\rBcc: x@y.example' } }, [['headers.X-A', 'invalid_string']]],
      ['999 characters', { headers: { 'X-A': 'x'.repeat(999) } }, [['headers.X-A', 'too_big']]],
      ['a number', { headers: { 'X-A': 7 } }, [['headers.X-A', 'invalid_type']]],
      ['a list', { headers: { 'X-A': ['v'] } }, [['headers.X-A', 'invalid_type']]],
      ['null', { headers: { 'X-A': null } }, [['headers.X-A', 'invalid_type']]],
      ['twice', { headers: { 'X-A': 'v', 'x-a': 'w' } }, [['headers.x-a', 'custom']]],
      ['a list of headers', { headers: [['X-A', 'v']] }, [['headers', 'invalid_type']]],
      ['1,000', { headers: Object.fromEntries(times(1_000, (index) => [`X-${index}`, 'v'])) }, [['headers', 'too_big']]],
    ]))
})

test('every accepted value arrives unchanged, in its own header', async () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 120 }).filter((each) => !/[{}]/.test(each) && each.trim() === each)
  const breaking = fc.constantFrom('\r\n', '\n', '\r', '\0', '\u2028', '"', ',', '<', '>', '@', '=?', '?=', ';', '\t', '\\')
  const nasty = fc.array(fc.oneof(text, breaking, text), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''))
  const given = fc.record({ subject: nasty, toName: nasty, fromName: nasty, header: nasty, filename: nasty })
  const samples = fc.sample(given, { numRuns: 120, seed: 7 })
  let arrived = 0
  const usual = (await busy.deliver({ headers: { 'X-Given': 'x' } })).headers.map(({ key }) => key).sort()
  await Promise.all(
    samples.map(async ({ subject, toName, fromName, header, filename }) => {
      const answer = await busy.send({
        to: { name: toName, email: ADA },
        from: { name: fromName, email: `a@${busy.domain}` },
        subject,
        headers: { 'X-Given': header },
        attachments: [file({ filename })],
      })
      if (answer.status !== 200) return expect(outcome(answer)).toEqual([422, 'VALIDATION_ERROR'])
      arrived++
      const [email] = await busy.ended(answer)
      const parsed = await PostalMime.parse(await busy.source(email!.id))
      expect(parsed.headers.map(({ key }) => key).sort()).toEqual(usual)
      expect(parsed.to).toEqual([{ name: toName.trim(), address: ADA }])
      expect(parsed.from).toEqual({ name: fromName.trim() || 'Test', address: `a@${busy.domain}` })
      expect([parsed.subject, decodeWords(parsed.headers.find(({ key }) => key === 'x-given')!.value)]).toEqual([subject, header])
      expect(parsed.attachments.map((each) => each.filename)).toEqual([filename])
    }),
  )
  expect(arrived).toBeGreaterThan(10)
})
