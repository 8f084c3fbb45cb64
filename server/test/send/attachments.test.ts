import { describe, expect, test } from 'vitest'
import { issues, outcome } from '../support/answers.ts'
import { startApp } from '../support/app.ts'
import { base64, ENV, file, times, useSending } from '../support/delivery/sending.ts'

const { sterna, quiet, busy, expectNothingOf, expectRefused } = useSending()

describe('attachments', () => {
  test('arrive byte for byte, inline ones beside the text', async () => {
    const bytes = Buffer.from(times(256, (index) => index))
    const email = await busy.deliver({
      body: '<img src="cid:logo@1"><p>Hi</p>',
      attachments: [
        file({ filename: 'Rechnung März 🦜.pdf', content: bytes.toString('base64'), contentType: 'application/pdf' }),
        file({ filename: "it's.txt", content: '' }),
        file({ filename: 'logo.png', contentType: 'image/png', contentId: 'logo@1', disposition: 'inline', content: base64('png') }),
        file({ filename: 'b.bin', contentId: 'also', content: base64('x'.repeat(100_000)) }),
      ],
    })
    expect(email.html).toContain('cid:logo@1')
    const found = email.attachments.map(({ filename, mimeType, disposition, contentId, content }) => ({
      filename,
      mimeType,
      disposition,
      contentId,
      bytes: Buffer.from(content as ArrayBuffer).toString('base64'),
    }))
    expect(found).toEqual([
      expect.objectContaining({
        filename: 'logo.png',
        mimeType: 'image/png',
        disposition: 'inline',
        contentId: '<logo@1>',
        bytes: base64('png'),
      }),
      expect.objectContaining({
        filename: 'Rechnung März 🦜.pdf',
        mimeType: 'application/pdf',
        disposition: 'attachment',
        bytes: bytes.toString('base64'),
      }),
      expect.objectContaining({ filename: "it's.txt", bytes: '' }),
      expect.objectContaining({ filename: 'b.bin', contentId: '<also>', bytes: base64('x'.repeat(100_000)) }),
    ])
  })

  test('may be ten, and ten megabytes together', async () => {
    expect((await busy.deliver({ attachments: times(10, () => file()) })).attachments).toHaveLength(10)
    // No two places are alike: large files are read in pieces.
    const content = Buffer.from(new Uint32Array((10 * 1024 * 1024) / 4).map((_, index) => index * 2_654_435_761).buffer).toString('base64')
    const [sent] = await busy.ended(await busy.send({ attachments: [file({ content })] }))
    // Not parsed, which would take seconds: the content is in lines before the last boundary.
    const source = await busy.source(sent!.id)
    const start = source.indexOf(content.slice(0, 50))
    expect(source.slice(start, source.indexOf('\r\n--', start)).replaceAll('\r\n', '') === content).toBe(true)
  })

  test('are refused when they are too many, too large, or not what they say', () => {
    const at = (field: string, code: string): [string, string][] => [[`attachments.0.${field}`, code]]
    const one = (more: object) => ({ attachments: [file(more)] })
    return expectRefused([
      ['11', { attachments: times(11, () => file()) }, [['attachments', 'too_big']]],
      ['10 MB and a byte', one({ content: Buffer.alloc(10 * 1024 * 1024 + 1).toString('base64') }), [['attachments', 'too_big']]],
      [
        '10 MB and a byte together',
        { attachments: [1, 5 * 1024 * 1024, 5 * 1024 * 1024].map((size) => file({ content: Buffer.alloc(size).toString('base64') })) },
        [['attachments', 'too_big']],
      ],
      ['an object', { attachments: file() }, [['attachments', 'invalid_type']]],
      ['a text', { attachments: ['x'] }, [['attachments.0', 'invalid_type']]],
      ...['filename', 'content', 'contentType'].map((name): [string, object, [string, string][]] => [
        name,
        one({ [name]: undefined }),
        at(name, 'required'),
      ]),
      ...['QUJDR', 'Q=JD', '=', '====', 'QQ=', 'QUJD=', 'QQ==QQ==', 'QUI_', 'QUI-', '!!!!', 'data:text/plain;base64,QUJD'].map(
        (content): [string, object, [string, string][]] => [content, one({ content }), at('content', 'invalid_string')],
      ),
      ['empty filename', one({ filename: '' }), [...at('filename', 'too_small'), ...at('filename', 'invalid_string')]],
      ...['a"b', 'a\r\nX: y', 'a\nb', 'a\rb', '../a', 'a/../b', 'a\\..\\b', 'a\u202efdp.exe', 'a\u2066b', 'a\u2028b', 'a\tb'].map(
        (filename): [string, object, [string, string][]] => [filename, one({ filename }), at('filename', 'invalid_string')],
      ),
      ['256 characters', one({ filename: 'x'.repeat(256) }), at('filename', 'too_big')],
      ...[
        'text',
        'text/plain; name',
        'text/plain; charset="utf-8',
        'text/plain\r\nX: y',
        'text/plain; charset=utf-8\r\nX: y',
        'text/',
        '/plain',
        'a b/c',
        'text/plain;',
        '',
        'multipart/mixed',
        'Multipart/Related',
      ].map((contentType): [string, object, [string, string][]] => [
        contentType,
        one({ contentType }),
        at('contentType', 'invalid_string'),
      ]),
      ...['a>\r\nX:', 'a b', '<a>', 'a"', 'é', ''].map((contentId): [string, object, [string, string][]] => [
        contentId,
        one({ contentId }),
        at('contentId', 'invalid_string'),
      ]),
      ['inline without an id', one({ disposition: 'inline' }), at('contentId', 'required')],
      ['another disposition', one({ disposition: 'form-data' }), at('disposition', 'invalid_enum_value')],
    ])
  })

  test('are limited by the settings of the installation, and by 40 MB for the whole message', async () => {
    const large = await startApp(sterna.url, { env: { ...ENV, MAX_ATTACHMENTS: '2', MAX_ATTACHMENT_MB: '30' } })
    try {
      const megabytes = (size: number) => file({ content: Buffer.alloc(size * 1024 * 1024).toString('base64') })
      await expectNothingOf(async () => {
        const three = await quiet.send({ attachments: times(3, () => file()) }, { at: large.sterna })
        expect(issues(three)).toEqual([['attachments', 'too_big']])
        const whole = await quiet.send({ attachments: [megabytes(15), megabytes(15)] }, { at: large.sterna })
        expect([outcome(whole), issues(whole)]).toEqual([[422, 'VALIDATION_ERROR'], [['attachments', 'too_big']]])
      })
      // Later than the test: to build and keep the message takes seconds.
      const sendAt = new Date(Date.now() + 86_400_000).toISOString()
      expect(outcome(await busy.send({ attachments: [megabytes(14), megabytes(14)], sendAt }, { at: large.sterna }))).toEqual([200])
    } finally {
      await large.close()
    }
  })
})
