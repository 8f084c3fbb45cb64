import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { sql } from 'kysely'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { many } from '../../src/db/index.ts'
import { type Answer, useApp } from '../support/app.ts'
import { animation, bomb, chunk, type Format, gif, image, noise, plain, png, scans } from '../support/files/images.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'sterna-uploads-'))
const folder = join(dataDir, 'uploads')
const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0', DATA_DIR: dataDir, PUBLIC_URL: 'https://mail.example.com' } })
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

const MB = 1024 * 1024
const KEY = /^[0-9a-f]{40}\.(jpg|png|gif|webp)$/
const TYPE = { jpeg: 'image/jpeg', png: 'image/png', gif: 'image/gif', webp: 'image/webp' }
const FORMATS = Object.keys(TYPE) as Format[]

type Project = Awaited<ReturnType<typeof sterna.newProject>>
let project: Project
beforeAll(async () => {
  project = await sterna.newProject()
})

const files = () => (existsSync(folder) ? readdirSync(folder).sort() : [])
const rowsOf = ({ id }: Project) =>
  many(
    sterna.db,
    sql<{ key: string; content_type: string; size: number }>`
      select key, content_type, size from uploads where project_id = ${id} order by id
    `,
  )

type Form = { payload: Buffer | Readable; headers: Record<string, string> }

async function formOf(fields: [name: string, value: Buffer | string, filename?: string, type?: string][]): Promise<Form> {
  const form = new FormData()
  for (const [name, value, filename = 'picture', type = ''] of fields) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, new Blob([new Uint8Array(value)], { type }), filename)
  }
  const { headers, arrayBuffer } = await asResponse(form)
  return { payload: Buffer.from(arrayBuffer), headers: { 'content-type': headers.get('content-type')! } }
}
async function asResponse(form: FormData) {
  const response = new Response(form)
  return { headers: response.headers, arrayBuffer: await response.arrayBuffer() }
}

async function post({ payload, headers }: Form, { sk }: { sk: string } = project): Promise<Answer> {
  const answer = await sterna.app.inject({
    method: 'POST',
    url: '/uploads/image',
    payload,
    headers: { authorization: `Bearer ${sk}`, ...headers },
  })
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
}

const upload = async (content: Buffer, { filename = 'picture', type = '', by = project } = {}) =>
  post(await formOf([['image', content, filename, type]]), by)

async function uploaded(content: Buffer, by = project) {
  const { status, body } = await upload(content, { by })
  expect([status, body]).toEqual([200, expect.anything()])
  return body as { url: string; key: string; filename: string; contentType: string; size: number }
}

async function get(key: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') {
  const answer = await sterna.app.inject({ method, url: `/uploads/${key}`, headers })
  return { status: answer.statusCode, headers: answer.headers, bytes: answer.rawPayload }
}

const served = async (content: Buffer) => (await get((await uploaded(content)).key)).bytes

describe('an uploaded image', () => {
  test.each(FORMATS)('of type %s is accepted and served with its type', async (format) => {
    const { status, body } = await upload(await image(format, 60, 30), { filename: 'Größe.bin', type: 'text/html' })
    expect(status).toBe(200)
    expect(body).toEqual({
      url: `https://mail.example.com/uploads/${body.key}`,
      key: expect.stringMatching(KEY),
      filename: 'Größe.bin',
      contentType: TYPE[format],
      size: expect.any(Number),
    })
    const answer = await get(body.key)
    expect([answer.status, answer.headers['content-type'], answer.bytes.length]).toEqual([200, TYPE[format], body.size])
    expect(await sharp(answer.bytes).metadata()).toMatchObject({ format, width: 60, height: 30 })
    expect((await rowsOf(project)).at(-1)).toEqual({ key: body.key, content_type: TYPE[format], size: body.size })
  })

  test.each([
    ['../../x.html', 'x.html'],
    ['..', 'the key'],
    ['', 'the key'],
    ['a\u202eb.php', 'ab.php'],
  ])('named %j is stored under a random name', async (filename, shown) => {
    const { body } = await upload(await image('png'), { filename })
    expect(body.key).toMatch(KEY)
    expect(body.filename).toBe(shown === 'the key' ? body.key : shown)
  })

  test('has a new URL for each upload', async () => {
    const same = await image('png')
    expect((await uploaded(same)).key).not.toBe((await uploaded(same)).key)
  })

  test('is one complete file that only its owner can read', async () => {
    const { key, size } = await uploaded(await image('jpeg'))
    const file = statSync(join(folder, key))
    expect([file.mode & 0o777, file.size, statSync(folder).mode & 0o777]).toEqual([0o600, size, 0o700])
    expect(files().filter((name) => !KEY.test(name))).toEqual([])
  })

  test('of exactly 10 MB is accepted, and one byte more is not', async () => {
    const padded = (size: number) => image('jpeg').then((jpeg) => Buffer.concat([jpeg, Buffer.alloc(size - jpeg.length)]))
    expect((await upload(await padded(10 * MB))).status).toBe(200)
    for (const size of [10 * MB + 1, 11 * MB]) {
      const { status, body } = await upload(await padded(size))
      expect([status, body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
    }
  })

  test('of 11 MB without a Content-Length is refused', async () => {
    const { payload, headers } = await formOf([['image', Buffer.alloc(11 * MB)]])
    const bytes = payload as Buffer
    const { status, body } = await post({ payload: Readable.from([bytes.subarray(0, 5 * MB), bytes.subarray(5 * MB)]), headers })
    expect([status, body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
  })

  test('may have 16,384 pixels a side, a thousand frames and a hundred scans', async () => {
    expect((await upload(await image('png', 16_384, 8))).status).toBe(200)
    expect((await upload(gif(1_000))).status).toBe(200)
    expect((await upload(scans(100, 64))).status).toBe(200)
    expect((await upload(await plain(300, 200).jpeg({ progressive: true }).toBuffer())).status).toBe(200)
  })

  test('may contain scan markers in comments and after its end', async () => {
    const jpeg = await noise('jpeg')
    const talk = Buffer.alloc(1_000).fill(Buffer.from([0xff, 0xda, 0, 2]))
    const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0x03, 0xea]), talk])
    expect((await upload(Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2), Buffer.from([0, 2]), talk]))).status).toBe(200)
  })
})

describe('re-encoded', () => {
  const PAYLOAD = '<?php system($_GET[0]) ?><script>alert(1)</script>'

  test('a PNG loses its metadata and trailing bytes', async () => {
    const loaded = Buffer.concat([
      png({
        extra: [chunk('tEXt', `Comment\0${PAYLOAD}`), chunk('iTXt', `XML:com.adobe.xmp\0\0\0\0\0${PAYLOAD}`), chunk('evIl', PAYLOAD)],
      }),
      Buffer.from(PAYLOAD),
    ])
    expect(loaded.toString('latin1').split(PAYLOAD)).toHaveLength(5)
    const bytes = (await served(loaded)).toString('latin1')
    for (const trace of ['php', 'script', 'tEXt', 'iTXt', 'evIl']) expect(bytes).not.toContain(trace)
  })

  test('a JPEG loses location, camera, comment and profile', async () => {
    const loaded = await plain()
      .jpeg()
      .withExif({
        IFD0: { Make: 'Nikon', ImageDescription: PAYLOAD },
        IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100', GPSLongitudeRef: 'W', GPSLongitude: '0/1 7/1 4366/100' },
      })
      .withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/">${PAYLOAD.replaceAll(/[<>?]/g, '')}</x:xmpmeta>`)
      .withIccProfile('p3')
      .toBuffer()
    const comment = Buffer.concat([loaded.subarray(0, 2), Buffer.from('\xff\xfe\0\x0chidden one', 'latin1'), loaded.subarray(2)])
    expect(await sharp(comment).metadata()).toMatchObject({ exif: expect.anything(), xmp: expect.anything(), icc: expect.anything() })
    const bytes = await served(comment)
    const { exif, xmp, icc, iptc, comments, orientation } = await sharp(bytes).metadata()
    expect({ exif, xmp, icc, iptc, comments, orientation }).toEqual({})
    for (const trace of ['GPS', 'Nikon', 'php', 'script', 'Exif', 'adobe', 'hidden']) expect(bytes.toString('latin1')).not.toContain(trace)
  })

  test.each(['webp', 'gif'] as const)('a %s loses trailing bytes', async (format) => {
    const bytes = await served(Buffer.concat([await image(format), Buffer.from(PAYLOAD)]))
    expect(bytes.toString('latin1')).not.toContain('php')
  })

  test('an image is rotated upright', async () => {
    const lying = await plain(60, 20).jpeg().withMetadata({ orientation: 6 }).toBuffer()
    expect(await sharp(await served(lying)).metadata()).toMatchObject({ width: 20, height: 60 })
  })

  test.each(['gif', 'webp'] as const)('an animated %s keeps its frames and delays', async (format) => {
    const bytes = await served(await animation(format, [100, 200, 300]))
    expect(await sharp(bytes, { animated: true }).metadata()).toMatchObject({
      format,
      pages: 3,
      pageHeight: 12,
      width: 16,
      delay: [100, 200, 300],
      loop: 0,
    })
  })

  test('an image keeps its transparency', async () => {
    const glass = await sharp({ create: { width: 5, height: 5, channels: 4, background: { r: 9, g: 9, b: 9, alpha: 0.5 } } })
      .png()
      .toBuffer()
    expect(await sharp(await served(glass)).metadata()).toMatchObject({ hasAlpha: true })
  })
})

describe('refused with 400 is', () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>'
  const cut = async (format: Format) => {
    // Smaller: to write a GIF of noise takes a second otherwise.
    const whole = await noise(format, 64, 64)
    return whole.subarray(0, whole.length / 2)
  }
  const HOSTILE: [string, () => Buffer | Promise<Buffer>][] = [
    ['nothing', () => Buffer.alloc(0)],
    ['text', () => Buffer.from('hello')],
    ['SVG', () => Buffer.from(svg)],
    ['SVG behind a declaration', () => Buffer.from(`<?xml version="1.0"?>${svg}`)],
    ['HTML', () => Buffer.from('<!doctype html><script>alert(1)</script>')],
    ['PDF', () => Buffer.from('%PDF-1.7\n%âãÏÓ\n')],
    ['a program', () => Buffer.from('MZ\x90\0\x03', 'latin1')],
    ['a zip', () => Buffer.from('PK\x03\x04', 'latin1')],
    ['BMP', () => Buffer.concat([Buffer.from('BM'), Buffer.alloc(100)])],
    ['TIFF', () => Buffer.from('II*\0\x08\0\0\0', 'latin1')],
    ['AVIF', () => Buffer.from('\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf', 'latin1')],
    ['an image behind a space', async () => Buffer.concat([Buffer.from(' '), await image('png')])],
    ['the first bytes of PNG', () => Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')],
    ['SVG behind the first bytes of PNG', () => Buffer.from(`\x89PNG\r\n\x1a\n${svg}`, 'latin1')],
    ['SVG behind the first bytes of JPEG', () => Buffer.from(`\xff\xd8\xff\xe0${svg}`, 'latin1')],
    ['a script behind the first bytes of GIF', () => Buffer.from('GIF89a/*\0\0\0\0\0\0*/=1;alert(1)//;', 'latin1')],
    ['WebP without an image', () => Buffer.from('RIFF\x04\0\0\0WEBP', 'latin1')],
    ['RIFF that is no WebP', () => Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1')],
    ['half a JPEG', () => cut('jpeg')],
    ['half a PNG', () => cut('png')],
    ['half a GIF', () => cut('gif')],
    ['half a WebP', () => cut('webp')],
    ['WebP of a declared gigabyte', async () => (await image('webp')).fill(Buffer.from([0, 0, 0, 0x40]), 4, 8)],
    ['PNG of a declared gigapixel with four', () => png({ width: 2, height: 2, claims: [32_768, 32_768] })],
    ['PNG of a side of 2^31', () => png({ claims: [0x7fffffff, 0x7fffffff] })],
    ['PNG of no pixels', () => png({ claims: [0, 0] })],
    ['PNG with a wrong checksum', () => flipBit(png(), -17)],
    ['JPEG without its tables', async () => withoutTables(await noise('jpeg'))],
    ['PNG of 16,000² black pixels, in 800 kB', () => png({ width: 16_000, height: 16_000 })],
    ['30,000,001 pixels', () => png({ claims: [30_000_001, 1] })],
    ['just above 30 million pixels', () => image('png', 6_000, 5_001)],
    ['16,385 pixels wide', () => image('png', 16_385, 1)],
    ['16,385 pixels high', () => image('png', 1, 16_385)],
    ['JPEG of 101 scans', () => scans(101, 64)],
    ['JPEG of 883 scans over 30 million pixels', () => scans(883, 5_472)],
    ['1,001 frames', () => gif(1_001)],
    ['10,000 frames', () => gif(10_000)],
    ['200 frames of 400 × 400', () => gif(200, 400, 400)],
    ['GIF of 60,000² pixels', () => gif(1, 60_000, 60_000)],
  ]
  const flipBit = (bytes: Buffer, at: number) => {
    bytes[bytes.length + at]! ^= 1
    return bytes
  }
  const withoutTables = (jpeg: Buffer) => {
    const [define, comment] = [Buffer.from([0xff, 0xdb]), Buffer.from([0xff, 0xfe])]
    for (let at = jpeg.indexOf(define); at !== -1; at = jpeg.indexOf(define)) comment.copy(jpeg, at)
    return jpeg
  }

  /** Errors that the client can fix. */
  const WHY = /\d (frames|pixels|scans)|million|gigapixel/

  test.each(HOSTILE)('%s', async (name, make) => {
    const content = await make()
    const before = { files: files(), rows: await rowsOf(project) }
    const { status, body } = await upload(content, { filename: 'x.png', type: 'image/png' })
    expect([status, body.error?.code, body.error?.message]).toEqual([400, 'BAD_REQUEST', expect.stringMatching(/^[A-Z].*\.$/)])
    expect(body.error.message).not.toMatch(/vips|sharp|buffer/i)
    const isForeign = !/^(\x89PNG|\xff\xd8\xff|GIF8|RIFF[^W]*WEBP)/.test(content.toString('latin1', 0, 16))
    expect(body.error.message.startsWith('Only JPEG')).toBe(isForeign)
    if (WHY.test(name)) expect(body.error.message).toMatch(/pixels|frames|scans/)
    expect({ files: files(), rows: await rowsOf(project) }).toEqual(before)
  })

  test('SVG, also by the decoder itself', async () => {
    await uploaded(await image('png'))
    await expect(sharp(Buffer.from(svg)).metadata()).rejects.toThrow('unsupported image format')
  })

  test.each<[string, (whole: Buffer) => [string, Buffer | string][]]>([
    ['no part at all', () => []],
    ['a text field', () => [['image', 'hello']]],
    ['another field', (whole) => [['file', whole]]],
    ['a field called __proto__', (whole) => [['__proto__', whole]]],
    ['two images', (whole) => [['image', whole], ['image', whole]]], // biome-ignore format: one line each
    ['an image and another file', (whole) => [['image', whole], ['other', whole]]], // biome-ignore format: one line each
  ])('%s', async (_, fields) => {
    const before = files()
    const { status, body } = await post(await formOf(fields(await image('png'))))
    expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST'])
    expect(files()).toEqual(before)
  })

  test('a form that is cut off', async () => {
    const { payload, headers } = await formOf([['image', await image('png')]])
    expect((await post({ payload: (payload as Buffer).subarray(0, -10), headers })).status).toBe(400)
    expect((await post({ payload: Buffer.alloc(0), headers })).status).toBe(400)
  })

  test('anything but a form is 415', async () => {
    for (const type of ['application/json', 'image/png', 'application/octet-stream'])
      expect((await post({ payload: Buffer.from('{}'), headers: { 'content-type': type } })).status).toBe(415)
  })

  test('or accepted is any damaged image, without a crash of the server', async () => {
    const whole = await Promise.all(FORMATS.map((format) => noise(format, 24, 24)))
    const hits = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...whole), hits, fc.option(fc.nat()), async (good, hits, end) => {
        const bad = Buffer.from(good)
        for (const [at, value] of hits) bad[at % bad.length] = value
        const { status } = await upload(end === null ? bad : bad.subarray(0, end % bad.length))
        expect([200, 400]).toContain(status)
      }),
      { numRuns: 150 },
    )
  })
})

describe('a decompression bomb', () => {
  test.each([
    ['text', () => chunk('zTXt', Buffer.concat([Buffer.from('a\0\0'), bomb()]))],
    ['international text', () => chunk('iTXt', Buffer.concat([Buffer.from('a\0\x01\0\0\0'), bomb()]))],
    ['profile', () => chunk('iCCP', Buffer.concat([Buffer.from('a\0\0'), bomb()]))],
  ])('as %s uses no memory and is refused', async (_, make) => {
    const packed = png({ extra: [make()] })
    expect(packed.length).toBeLessThan(2 * MB)
    const before = process.memoryUsage().rss
    const { status, body } = await upload(packed)
    expect([200, 400]).toContain(status)
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * MB)
    if (status === 200) expect(body.size).toBeLessThan(1_000)
  })
})

describe('the URL of an image', () => {
  test('answers with these headers and no others', async () => {
    const { key, size } = await uploaded(await image('webp'))
    const { status, headers } = await get(key)
    expect(status).toBe(200)
    expect(headers).toEqual({
      'cache-control': 'public, max-age=31536000, immutable',
      connection: 'keep-alive',
      'content-disposition': `inline; filename="${key}"`,
      'content-length': String(size),
      'content-security-policy': "default-src 'none'; sandbox",
      'content-type': 'image/webp',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'cross-origin',
      date: expect.any(String),
      etag: `"${key}"`,
      'origin-agent-cluster': '?1',
      'referrer-policy': 'no-referrer',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      'x-content-type-options': 'nosniff',
      'x-dns-prefetch-control': 'off',
      'x-download-options': 'noopen',
      'x-frame-options': 'DENY',
      'x-permitted-cross-domain-policies': 'none',
      'x-request-id': expect.any(String),
      'x-xss-protection': '0',
    })
  })

  test('answers 304 to a conditional request', async () => {
    const { key } = await uploaded(await image('png'))
    for (const known of [`"${key}"`, `W/"${key}"`, `"other", "${key}"`]) {
      const { status, headers, bytes } = await get(key, { 'if-none-match': known })
      expect([status, bytes.length, headers.etag, headers['cache-control']]).toEqual([304, 0, `"${key}"`, expect.any(String)])
    }
    expect((await get(key, { 'if-none-match': '"other"' })).status).toBe(200)
  })

  test('answers HEAD like GET, without the image', async () => {
    const { key } = await uploaded(await image('png'))
    const [whole, head] = [await get(key), await get(key, {}, 'HEAD')]
    const dated = { date: expect.any(String), 'x-request-id': expect.any(String) }
    expect([head.status, head.bytes.length, { ...head.headers, ...dated }]).toEqual([200, 0, { ...whole.headers, ...dated }])
    expect((await get(key, { 'if-none-match': `"${key}"` }, 'HEAD')).status).toBe(304)
    expect((await get(`${'0'.repeat(40)}.png`, {}, 'HEAD')).status).toBe(404)
  })

  test('ignores ranges and needs no key or cookie', async () => {
    const { key, size } = await uploaded(await image('png'))
    const { status, bytes } = await get(key, { range: 'bytes=0-1', origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })
    expect([status, bytes.length]).toEqual([200, size])
  })

  test('is found in no other spelling', async () => {
    const { key } = await uploaded(await image('png'))
    writeFileSync(join(dataDir, 'secret.txt'), 'secret')
    writeFileSync(join(folder, `.${key}`), 'a draft')
    writeFileSync(join(folder, 'page.html'), '<script>')
    const bare = key.slice(0, -4)
    const spellings = [
      `.${key}`,
      `%2e${key}`,
      'page.html',
      'image',
      '',
      '.',
      '..',
      '%2e%2e',
      '..%2fsecret.txt',
      '%2e%2e%2fsecret.txt',
      '..%5csecret.txt',
      `..%2fuploads%2f${key}`,
      `.%2f${key}`,
      `${key}%00`,
      `${key}%00.png`,
      `${key}/`,
      `${key}%2f`,
      `${key}.html`,
      `${key}%20`,
      `${key}%0a`,
      `${key};a`,
      bare,
      `${bare}.jpg`,
      `${bare}.PNG`,
      `${bare}.svg`,
      `${bare}.html`,
      key.toUpperCase(),
      key.slice(1),
      `0${key}`,
      `${'0'.repeat(40)}.png`,
      randomUUID(),
      'x'.repeat(1_000),
    ]
    for (const spelling of spellings) expect([spelling, (await get(spelling)).status]).toEqual([spelling, 404])
    rmSync(join(folder, `.${key}`))
    rmSync(join(folder, 'page.html'))
  })

  test('accepts only GET and HEAD', async () => {
    const { key } = await uploaded(await image('png'))
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect((await sterna.call(method, `/uploads/${key}`, { key: project.sk })).status).toBe(404)
    expect((await get(key)).status).toBe(200)
  })
})

describe('access to uploads', () => {
  test('is allowed for the secret key and for members of the project', async () => {
    const { payload, headers } = await formOf([['image', await image('png')]])
    const send = (credentials: Record<string, string>) =>
      sterna.app.inject({ method: 'POST', url: '/uploads/image', payload, headers: { ...headers, ...credentials } })
    const stranger = await sterna.newPerson()
    const statuses = [
      await send({ cookie: project.owner.cookie, 'x-project-id': project.id }),
      await send({ authorization: `Bearer ${project.pk}` }),
      await send({ cookie: stranger.cookie, 'x-project-id': project.id }),
      await send({ cookie: project.owner.cookie, 'x-project-id': project.id, 'sec-fetch-site': 'cross-site' }),
      await send({}),
    ].map(({ statusCode }) => statusCode)
    expect(statuses).toEqual([200, 401, 403, 403, 401])
  })

  test('is refused for a disabled project, whose images are still served', async () => {
    const project = await sterna.newProject()
    const { key } = await uploaded(await image('png'), project)
    await sql`update projects set disabled = true where id = ${project.id}`.execute(sterna.db)
    const { status, body } = await upload(await image('png'), { by: project })
    expect([status, body.error.code]).toEqual([403, 'PROJECT_DISABLED'])
    expect((await get(key)).status).toBe(200)
  })

  test('is limited per project', async () => {
    const [full, other] = [await sterna.newProject(), await sterna.newProject()]
    await sql`
      insert into uploads (project_id, id, key, content_type, size) values (${full.id}, ${randomUUID()}, 'x', 'image/png', ${1024 * MB - 1})
    `.execute(sterna.db)
    await uploaded(await image('png'), full)
    const before = files()
    const { status, body } = await upload(await image('png'), { by: full })
    expect([status, body.error.code, body.error.details]).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
      { quotaMb: 1024, usedBytes: expect.any(Number) },
    ])
    expect(files()).toEqual(before)
    await uploaded(await image('png'), other)
  })
})

describe('a project', () => {
  const isGone = async (project: Project, keys: string[]) => {
    await vi.waitFor(
      async () => {
        expect(await rowsOf(project)).toEqual([])
        expect(files().filter((name) => keys.includes(name))).toEqual([])
      },
      { timeout: 40_000, interval: 20 },
    )
  }

  test.each([
    ['reset', 'POST', '/reset'],
    ['deleted', 'DELETE', ''],
  ])('that is %s loses its images, and no others', async (_, method, path) => {
    const [project, other] = [await sterna.newProject(), await sterna.newProject()]
    const mine = [await uploaded(await image('png'), project), await uploaded(await image('gif'), project)]
    const theirs = await uploaded(await image('png'), other)
    // One file is already missing: the others must be removed all the same.
    rmSync(join(folder, mine[0]!.key))
    await project.owner.call(method, `/users/@me/projects/${project.id}${path}`)
    const keys = mine.map(({ key }) => key)
    await isGone(project, keys)
    for (const key of keys) expect((await get(key, { 'if-none-match': `"${key}"` })).status).toBe(404)
    expect((await get(theirs.key)).status).toBe(200)
    expect(await rowsOf(other)).toHaveLength(1)
  })

  test('that is deleted during an upload leaves no file', async () => {
    const project = await sterna.newProject()
    const before = files()
    const slow = await startSlowly(project)
    await project.owner.call('DELETE', `/users/@me/projects/${project.id}`)
    const { status, body } = await slow.finish()
    expect([status, body.error.code]).toEqual([404, 'RESOURCE_NOT_FOUND'])
    expect(files()).toEqual(before)
    expect(await rowsOf(project)).toEqual([])
  })
})

/** An accepted upload whose last bytes are sent on request. */
async function startSlowly(by: Project) {
  const { payload, headers } = await formOf([['image', await image('png')]])
  const bytes = payload as Buffer
  let begun = () => {}
  const isIn = new Promise<void>((done) => {
    begun = done
  })
  let finish = () => {}
  const rest = new Promise<void>((done) => {
    finish = done
  })
  async function* slowly() {
    yield bytes.subarray(0, 20)
    begun()
    await rest
    yield bytes.subarray(20)
  }
  const answer = post({ payload: Readable.from(slowly(), { highWaterMark: 0 }), headers }, by)
  await Promise.race([isIn, answer])
  return {
    answer,
    finish: () => {
      finish()
      return answer
    },
  }
}

describe('concurrent uploads', () => {
  test('are at most 8 per project, and slow ones of three projects do not block another', async () => {
    const projects = await Promise.all(Array.from({ length: 4 }, () => sterna.newProject()))
    const [first, second, third, fourth] = projects as [Project, Project, Project, Project]
    const inside = []
    for (const project of [first, second, third]) {
      for (let n = 0; n < 8; n++) inside.push(await startSlowly(project))
      const { status, headers, body } = await upload(await image('png'), { by: project })
      expect([status, body.error.code, headers['retry-after']]).toEqual([503, 'SERVICE_UNAVAILABLE', '2'])
    }
    expect((await upload(await image('png'), { by: fourth })).status).toBe(200)
    const answers = await Promise.all(inside.map(({ finish }) => finish()))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    for (const project of projects) expect((await upload(await image('png'), { by: project })).status).toBe(200)
  })

  test('of large images leave the server responsive', async () => {
    const large = await image('png', 6_000, 5_000)
    const uploads = Promise.all(Array.from({ length: 6 }, () => upload(large)))
    let done = false
    uploads.finally(() => {
      done = true
    })
    const waits: number[] = []
    while (!done) {
      const before = performance.now()
      expect((await sterna.call('GET', '/health')).status).toBe(200)
      waits.push(performance.now() - before)
      await new Promise((next) => setTimeout(next, 5))
    }
    expect((await uploads).map(({ status, body }) => (status === 200 ? 200 : body))).toEqual(Array(6).fill(200))
    expect(waits.length).toBeGreaterThan(20)
    expect(Math.max(...waits)).toBeLessThan(2_000)
  })
})

describe('without a place to store it', () => {
  const aside = `${folder}-aside`
  const withoutFolder = async (work: () => Promise<void>) => {
    renameSync(folder, aside)
    writeFileSync(folder, 'a file where the folder should be')
    await work().finally(() => {
      rmSync(folder)
      renameSync(aside, folder)
    })
  }

  test('an upload is a 503, leaves no row, and works again later', async () => {
    const [before, good] = [await rowsOf(project), await image('png')]
    const { key } = await uploaded(good)
    await withoutFolder(async () => {
      const { status, headers, body } = await upload(good)
      expect([status, body.error.code, headers['retry-after']]).toEqual([503, 'SERVICE_UNAVAILABLE', '5'])
      expect(body.error.message).not.toContain(dataDir)
      expect((await get(key)).status).toBe(503)
    })
    expect(await rowsOf(project)).toHaveLength(before.length + 1)
    expect((await get(key)).status).toBe(200)
    expect((await upload(good)).status).toBe(200)
  })
})

test('the public configuration says that images are stored on disk', async () => {
  expect((await sterna.call('GET', '/config')).body.features.storage).toEqual({ kind: 'disk' })
})
