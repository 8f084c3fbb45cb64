import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { useSharedApp } from '../../support/app.ts'

const sterna = useSharedApp()

async function newProject() {
  const project = await sterna.newProject(await sterna.sharedOwner())
  return {
    ...project,
    /** Subscriptions by the local part of the address. */
    async subscriptions() {
      return Object.fromEntries((await project.contacts.rows()).map(({ email, subscribed }) => [email.split('@')[0], subscribed]))
    },
  }
}

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/import/${name}.csv`, import.meta.url))
const utf16 = (text: string, { bigEndian = false } = {}) =>
  bigEndian ? Buffer.from(text, 'utf16le').swap16() : Buffer.from(text, 'utf16le')

describe('a file to import', () => {
  const named = (name: string) => [{ email: 'ada@example.com', subscribed: true, data: { name } }]

  test.each<[string, Buffer, string]>([
    ['in UTF-8', Buffer.from('email;name\nada@example.com;Zoë €'), 'Zoë €'],
    ['in UTF-8 with a byte order mark', Buffer.from('\ufeffemail;name\nada@example.com;Zoë €'), 'Zoë €'],
    ['in windows-1252', Buffer.from('email;name\r\nada@example.com;Zo\xeb \x80 \x93ok\x94 \x96\r\n', 'latin1'), 'Zoë € “ok” –'],
    ['in UTF-16, little end first', utf16('\ufeffemail\tname\r\nada@example.com\tZoë € 😀\r\n'), 'Zoë € 😀'],
    ['in UTF-16, big end first', utf16('\ufeffemail\tname\r\nada@example.com\tZoë € 😀\r\n', { bigEndian: true }), 'Zoë € 😀'],
    ['in UTF-16 without a mark', utf16('email\tname\r\nada@example.com\tZoë € 😀\r\n'), 'Zoë € 😀'],
    ['in UTF-16 without a mark, big end first', utf16('email\tname\r\nada@example.com\tZoë € 😀\r\n', { bigEndian: true }), 'Zoë € 😀'],
    ['with a sep= line', Buffer.from('sep=;\r\nemail;name\r\nada@example.com;a,b\r\n'), 'a,b'],
    ['with a sep= line for a rare delimiter', Buffer.from('SEP=^\nemail^name\nada@example.com^a,b;c'), 'a,b;c'],
    ['with a quoted sep= line and a mark', Buffer.from('\ufeff"sep=,"\nemail,name\nada@example.com,a;b'), 'a;b'],
    ['with vertical bars', Buffer.from('email|name\nada@example.com|a,b'), 'a,b'],
  ])('%s is read', async (_, file, name) => {
    const project = await newProject()
    expect((await project.contacts.import(file)).result).toMatchObject({ totalRows: 1, createdCount: 1, errors: [] })
    expect((await project.contacts.rows()).map(({ id, ...contact }) => contact)).toEqual(named(name))
  })

  test.each([
    'EMAIL',
    'Email Address',
    'E-Mail',
    'E-Mail-Adresse',
    'mail',
    'user_email',
    'Adresse e-mail',
    'Correo electrónico',
    'Indirizzo email',
    'メールアドレス',
    'E-mail 1 - Value',
  ])('has its addresses in a column named %j', async (name) => {
    const project = await newProject()
    expect((await project.contacts.import(`plan;${name}\npro;ada@example.com`)).result).toMatchObject({ createdCount: 1, errors: [] })
    expect(await project.contacts.rows()).toMatchObject([{ email: 'ada@example.com', data: { plan: 'pro' } }])
  })

  test('uses the column email before any other name', async () => {
    const project = await newProject()
    await project.contacts.import('Email Address,eMail\nold@example.com,ada@example.com')
    expect(await project.contacts.rows()).toMatchObject([{ email: 'ada@example.com', data: { 'Email Address': 'old@example.com' } }])
  })

  test.each(['Subscriber,Email Address', 'Correo,Email Address'])('prefers a column name with "mail": %s', async (header) => {
    const project = await newProject()
    expect((await project.contacts.import(`${header}\nAda,ada@example.com`)).result).toMatchObject({ createdCount: 1, errors: [] })
  })

  test.each<[string, string | Buffer, RegExp]>([
    ['an .xlsx workbook', Buffer.from('504b030414000600080000002100', 'hex'), /^This is an Excel workbook; save it as CSV UTF-8\.$/],
    ['an old .xls workbook', Buffer.from('d0cf11e0a1b11ae1000000000000', 'hex'), /^This is an Excel workbook; save it as CSV UTF-8\.$/],
    ['a ZIP archive of CSV files', zipOf('subscribed_members.csv'), /compressed file; unpack it/],
    ['a gzip file', Buffer.from('1f8b0800', 'hex'), /compressed file/],
    ['a PDF document', '%PDF-1.7\n%âãÏÓ', /PDF document, not CSV/],
    ['an HTML page', '\n <!DOCTYPE html><html><body><table>', /HTML page, not CSV/],
    ['XML', '<?xml version="1.0"?><Workbook>', /XML file, not CSV/],
    ['JSON', '[{"email": "ada@example.com"}]', /JSON, not CSV/],
    ['a PNG image', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), /image, not CSV/],
    ['binary', Buffer.from('010203fffefdfc80', 'hex'), /not CSV: it is not text/],
    ['UTF-8 with a damaged character', Buffer.from('email,name\na@b.example,Zo\xc3\xab Zo\xc3\xab Zo\xc3', 'latin1'), /damaged characters/],
    ['a Mac OS Roman encoding', Buffer.from('email,name\na@b.example,M\x9fller', 'latin1'), /Save it as CSV UTF-8/],
    ['no address column', 'Name,City\nAda,London', /no column "email".*"Name", "City"/],
    ['no header', 'ada@example.com,Ada', /first row must name the columns/],
    ['an unclosed quote in the header', 'email,"name\nada@example.com,Ada', /^Line 1 opens a quote that is never closed\.$/],
    ['a misplaced quote in the header', 'email,na"me\nada@example.com,Ada', /quote.*in line 1/],
    ['two columns "subscribed"', 'email,subscribed,Subscribed\nada@example.com,yes,no', /more than one column "subscribed"/],
  ])('that is or has %s is refused with a reason', async (_, file, reason) => {
    const project = await newProject()
    expect(await project.contacts.upload(file)).toMatchObject({ status: 400, body: { error: expect.stringMatching(reason) } })
  })

  test('may have extra and missing cells, and repeated columns, of which the last value counts', async () => {
    const project = await newProject()
    const { result } = await project.contacts.import('email,plan,plan,city\na@example.com,x,y,Bonn,more\nb@example.com,x,\nbad')
    expect(result).toEqual({
      totalRows: 3,
      successCount: 2,
      createdCount: 2,
      updatedCount: 0,
      failureCount: 1,
      errors: [{ row: 4, email: 'bad', error: 'Not a valid email address' }],
    })
    expect((await project.contacts.rows()).map(({ data }) => data)).toEqual([{ plan: 'y', city: 'Bonn' }, { plan: 'x' }])
  })
})

function zipOf(name: string) {
  const header = Buffer.alloc(30)
  header.write('PK\x03\x04', 'latin1')
  header.writeUInt16LE(name.length, 26)
  return Buffer.concat([header, Buffer.from(name)])
}

describe('the column subscribed', () => {
  const YES =
    'Y,yes,TRUE,1,1.0,on,t,x,✓,ja,J,oui,si,sí,sim,tak,ano,да,はい,是,WAHR,VRAI,Verdadero,VERO,subscribed,enabled,active,opted-in'.split(',')
  const NO =
    'N,no,FALSE,0,0.0,off,f,nein,non,não,nie,ne,нет,いいえ,否,FALSCH,FAUX,Falso,unsubscribed,disabled,inactive,opted out,cleaned'.split(',')

  test('accepts yes and no in several languages', async () => {
    const project = await newProject()
    for (const [n] of NO.entries()) await project.contacts.create(`no${n}@example.com`)
    for (const [n] of YES.entries()) await project.contacts.create(`yes${n}@example.com`, { subscribed: false })
    const rows = [...YES.map((word, n) => `yes${n}@example.com,${word}`), ...NO.map((word, n) => `no${n}@example.com, ${word} `)]
    expect((await project.contacts.import(`email,subscribed\n${rows.join('\n')}`)).result).toMatchObject({
      updatedCount: rows.length,
      errors: [],
    })
    expect(await project.subscriptions()).toEqual(
      Object.fromEntries([...YES.map((_, n) => [`yes${n}`, true]), ...NO.map((_, n) => [`no${n}`, false])]),
    )
  })

  test('with another word fails that row, names the word, and does not change the contact', async () => {
    const project = await newProject()
    await project.contacts.create('on@example.com', { data: { plan: 'old' } })
    await project.contacts.create('off@example.com', { subscribed: false, data: { plan: 'old' } })
    const words = ['maybe', '2', '-1', 'yes and no']
    const rows = words.flatMap((word) => ['on', 'off', 'new'].map((name) => [`${name}@example.com`, word]))
    const { result } = await project.contacts.import(
      `email,plan,Subscribed\n${rows.map(([email, word]) => `${email},new,${word}`).join('\n')}`,
    )
    expect(result).toMatchObject({ totalRows: 12, successCount: 0, failureCount: 12 })
    expect(result.errors).toEqual(
      rows.map(([email, word], n) => ({ row: n + 2, email, error: `"${word}" in the column "subscribed" means neither yes nor no` })),
    )
    expect(await project.contacts.rows()).toMatchObject([
      { email: 'off@example.com', subscribed: false, data: { plan: 'old' } },
      { email: 'on@example.com', subscribed: true, data: { plan: 'old' } },
    ])
  })
})

describe('an export of another tool', () => {
  test.each<[string, Record<string, boolean>]>([
    ['mailchimp-subscribed', { ada: true }],
    ['mailchimp-unsubscribed', { grace: false }],
    ['mailchimp-cleaned', { alan: false }],
    ['brevo', { ada: true, grace: false }],
    ['listmonk', { ada: true, grace: false, alan: false }],
    ['hubspot', { ada: true, grace: false, alan: false, edsger: false }],
    ['shopify', { ada: true, grace: false }],
    ['ghost', { ada: true, grace: false }],
    ['outlook-german', { ada: true }],
  ])('from %s keeps contacts that opted out there unsubscribed', async (name, expected) => {
    const project = await newProject()
    const { result } = await project.contacts.import(fixture(name))
    expect(result).toMatchObject({ createdCount: Object.keys(expected).length, errors: [] })
    expect(await project.subscriptions()).toEqual(expected)
  })

  test('unsubscribes subscribed contacts and keeps opted-out contacts unsubscribed', async () => {
    const project = await newProject()
    await project.contacts.create('ada@example.com', { subscribed: false })
    await project.contacts.create('grace@example.com')
    for (const name of ['brevo', 'listmonk', 'hubspot', 'ghost', 'shopify']) await project.contacts.import(fixture(name))
    expect(await project.subscriptions()).toMatchObject({ ada: false, grace: false })
  })

  test('from listmonk keeps attributes as an object', async () => {
    const project = await newProject()
    await project.contacts.import(fixture('listmonk'))
    const [ada] = await project.contacts.rows()
    expect(ada!.data!.attributes).toEqual({ city: 'London', projects: 3, stack: { languages: ['go'] } })
  })

  test('with attributes that are not an object, or that cannot be stored, keeps them as a string', async () => {
    const project = await newProject()
    const cells = ['{broken', '{"a":"\\u0000"}', '{"a":"\\ud800"}', '{"a":9007199254740993}', `{"a":${'['.repeat(40)}${']'.repeat(40)}}`]
    await project.contacts.import(
      `email,attributes\n${cells.map((cell, n) => `c${n}@example.com,"${cell.replaceAll('"', '""')}"`).join('\n')}`,
    )
    expect((await project.contacts.rows()).map(({ data }) => data!.attributes)).toEqual(cells)
  })

  const OPTED_OUT: [column: string, cell: string][] = [
    ...['unsubscribed', 'Unsubscribed', 'cleaned', 'bounced', 'blocklisted', 'BLACKLISTED', 'opted-out', 'Non-Subscribed'].map(
      (cell): [string, string] => ['status', cell],
    ),
    ...['yes', 'true', '1', '2024-03-01 12:00:00', 'unsubscribed', 'x'].map((cell): [string, string] => ['Unsubscribed', cell]),
    ...[
      'archived',
      'Transactional',
      'cancelled',
      'canceled',
      'Marked as spam',
      'spam',
      'complained',
      'deleted',
      'pending',
      'unconfirmed',
    ].map((cell): [string, string] => ['status', cell]),
    ['Subscriber Status', 'never_subscribed'],
    ['Email Opt Out', 'TRUE'],
    ['unsubscribed_at', '2024-03-01T12:00:00Z'],
    ['Do Not Email', 'Ja'],
  ]
  const NOT_GIVEN: [column: string, cell: string][] = [
    ...['subscribed', 'active', 'enabled', 'Paid', ''].map((cell): [string, string] => ['status', cell]),
    ...['no', 'false', '0', 'Nein', '', '-', '0000-00-00 00:00:00', 'null'].map((cell): [string, string] => ['Unsubscribed', cell]),
    ['Accepts Email Marketing', 'yes'],
    ['Unsubscribe reason', 'too many'],
  ]

  test('unsubscribes by its own columns, whose "no" has no effect', async () => {
    const project = await newProject()
    const cases = [...OPTED_OUT.map((pair) => [...pair, true] as const), ...NOT_GIVEN.map((pair) => [...pair, false] as const)]
    const names = [...new Set(cases.map(([column]) => column))]
    const row = (n: number, kind: string) =>
      `${kind}${n}@example.com,${names.map((name) => (name === cases[n]![0] ? cases[n]![1] : '')).join()}`
    for (const kind of ['on', 'off'])
      await project.contacts.import(`email,subscribed\n${cases.map((_, n) => `${kind}${n}@example.com,${kind}`).join('\n')}`)
    const rows = cases.flatMap((_, n) => ['on', 'off', 'new'].map((kind) => row(n, kind)))
    expect((await project.contacts.import(`email,${names.join()}\n${rows.join('\n')}`)).result).toMatchObject({ failureCount: 0 })
    const expected = cases.flatMap(([column, cell, out], n) => [
      [`on${n}`, `${column}=${cell}`, !out],
      [`off${n}`, `${column}=${cell}`, false],
      [`new${n}`, `${column}=${cell}`, !out],
    ])
    const now = await project.subscriptions()
    expect(expected.map(([name, text]) => [name, text, now[name as string]])).toEqual(expected)
  })

  test('subscribes opted-out contacts by a column named subscribed', async () => {
    const project = await newProject()
    for (const name of ['a', 'b', 'c']) await project.contacts.create(`${name}@example.com`, { subscribed: false })
    await project.contacts.import('email,status,subscribed\na@example.com,active,yes\nb@example.com,active,\nc@example.com,unsubscribed,no')
    expect(await project.subscriptions()).toEqual({ a: true, b: false, c: false })
  })

  test('fails a row that is both subscribed and opted out, names both columns, and does not change the contact', async () => {
    const project = await newProject()
    await project.contacts.create('on@example.com', { data: { plan: 'old' } })
    await project.contacts.create('off@example.com', { subscribed: false, data: { plan: 'old' } })
    const rows = ['on@example.com,new,yes,,unsubscribed', 'off@example.com,new,1,2024-03-01,', 'new@example.com,new,active,x,bounced']
    const { result } = await project.contacts.import(`email,plan,Subscribed,Opt-out,status\n${rows.join('\n')}`)
    const error = (column: string) => `The column "subscribed" says yes, but the column "${column}" says that the contact opted out`
    expect(result).toMatchObject({ successCount: 0, failureCount: 3 })
    expect(result.errors.map((row: { error: string }) => row.error)).toEqual([error('status'), error('Opt-out'), error('Opt-out')])
    expect(await project.contacts.rows()).toMatchObject([
      { email: 'off@example.com', subscribed: false, data: { plan: 'old' } },
      { email: 'on@example.com', subscribed: true, data: { plan: 'old' } },
    ])
  })
})

describe('the imports of a project', () => {
  test('are at most ten at a time; another upload is a 429 until one has finished', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const unfinished = (state: string, finished: string | null) =>
      sql`update jobs set state = ${state}, finished_at = ${finished}::timestamptz where project_id = ${project.id}`.execute(sterna.db)
    const uploads = await Promise.all(Array.from({ length: 10 }, () => project.contacts.import('email\nada@example.com')))
    expect(uploads).toHaveLength(10)
    await unfinished('waiting', null)
    const refused = await project.contacts.upload('email\nada@example.com')
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '10' }, body: { error: { code: 'RATE_LIMIT_EXCEEDED' } } })
    expect((await other.contacts.upload('email\nada@example.com')).status).toBe(202)
    await unfinished('completed', new Date().toISOString())
    expect((await project.contacts.upload('email\nada@example.com')).status).toBe(202)
  })
})
