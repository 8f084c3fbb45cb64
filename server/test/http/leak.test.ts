import { Writable } from 'node:stream'
import { sql } from 'kysely'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { connect, many } from '../../src/db/index.ts'
import type { App } from '../../src/http/core/types.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { startWorker } from '../../src/worker.ts'
import { probe } from '../support/api/probe.ts'
import { type Answer, cookieOf, joinAsWorker, useApp } from '../support/app.ts'
import { SECRET_KEY } from '../support/secret-key.ts'

/** Provides the database and the account emails; the app under test is a second one on it, with its own log. */
const sterna = useApp()

const lines: string[] = []
let app: App
let close = async () => {}

beforeAll(async () => {
  // Plain pino at the lowest level without redaction: secrets must not be logged at all.
  const log = pino({ level: 'trace' }, new Writable({ write: (chunk, _, done) => void done(void lines.push(String(chunk))) }))
  const config = loadConfig({ SECRET_KEY, DATABASE_URL: sterna.url, LOG_LEVEL: 'trace' })
  const db = connect({ url: sterna.url, max: 5, log })
  const deps = { config, db, secrets: sterna.secrets, log }
  app = await buildApp(deps, { extend: probe })
  const presence = await joinAsWorker(deps, sterna.url)
  const worker = await startWorker(deps, { url: sterna.url, presence, withSchedule: false })
  close = async () => {
    await app.close()
    await worker.stop()
    await presence.leave()
    await db.destroy()
  }
})
afterAll(() => close())

/** All secrets, by the name under which a leak is reported. */
const secrets = new Map<string, string>()
function keep(name: string, secret: string) {
  expect([name, secret.length >= 12]).toEqual([name, true])
  secrets.set(name, secret)
  return secret
}

async function call(
  method: string,
  url: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const answer = await app.inject({
    method: method as 'GET',
    url,
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
  })
  const isJson = String(answer.headers['content-type']).startsWith('application/json')
  return { status: answer.statusCode, headers: answer.headers, body: isJson ? answer.json() : answer.body }
}

const keepSession = (name: string, answer: Answer) => {
  const cookie = cookieOf(answer)
  keep(name, cookie.split('=')[1]!)
  return { headers: { cookie } }
}

/** All requests that create or show a secret, and most of their errors. */
beforeAll(async () => {
  const email = 'ada@example.com'
  const password = keep('the first password', 'first-correct-horse')
  const signedUp = keepSession('the session of the sign-up', await call('POST', '/auth/signup', { body: { email, password } }))
  keep('the first verification token', await sterna.tokenFor(email))
  await call('POST', '/auth/request-verification', signedUp)
  const verification = keep('the second verification token', await sterna.tokenFor(email))

  const wrong = keep('a wrong password', 'wrong-correct-horse')
  await call('POST', '/auth/login', { body: { email, password: wrong } })
  await call('POST', '/auth/login', { body: { email: 'nobody@example.com', password: wrong } })
  const session = keepSession('the session of the login', await call('POST', '/auth/login', { body: { email, password } }))

  const created = await call('POST', '/users/@me/projects', { ...session, body: { name: 'Shop' } })
  const { id } = created.body
  keep('the first public key', created.body.public)
  const firstSecret = keep('the first secret key', created.body.secret)
  const rotated = await call('POST', `/users/@me/projects/${id}/regenerate-keys`, session)
  const publicKey = keep('the second public key', rotated.body.public)
  const secretKey = keep('the second secret key', rotated.body.secret)
  await call('GET', '/users/@me/projects', session)

  const domain = await call('POST', '/domains', { headers: { authorization: `Bearer ${secretKey}` }, body: { domain: 'shop.example' } })
  await call('GET', `/domains/${domain.body.id}/verify`, { headers: { authorization: `Bearer ${secretKey}` } })
  const [stored] = await many(sterna.db, sql<{ sealed: Buffer }>`select dkim_private_key_sealed as sealed from domains`)
  keep('the private DKIM key', sterna.secrets.open('dkim-key', stored!.sealed).slice(800, 864))

  for (const key of [firstSecret, secretKey, publicKey]) {
    const headers = { authorization: `Bearer ${key}` }
    await call('GET', '/probe/secret', { headers })
    await call('GET', `/probe/secret?key=${key}`, { headers })
    await call('POST', '/probe/track', { headers, body: { key } })
    await call('POST', '/probe/once', { headers: { ...headers, 'idempotency-key': 'k' }, body: { fail: true } })
    await call('GET', '/probe/crash', { headers: { ...headers, ...session.headers } })
    await call('GET', `/nowhere/${key}?key=${key}`, { headers })
  }

  // A form, too: its parser logs by itself.
  const form = new Response(new FormData())
  await app.inject({
    method: 'POST',
    url: '/uploads/image',
    payload: Buffer.from(await form.arrayBuffer()),
    headers: { authorization: `Bearer ${secretKey}`, 'content-type': form.headers.get('content-type')! },
  })

  await call('POST', '/auth/request-password-reset', { body: { email } })
  const reset = keep('the reset token', await sterna.tokenFor(email))
  await call('GET', `/reset-password?token=${reset}`)
  await call('GET', `/verify-email?token=${verification}%00`)
  await call('POST', `/projects/${id}/members`, { ...session, body: { email: 'grace@example.com', role: 'MEMBER' } })
  const invitation = keep('the invitation token', await sterna.tokenFor('grace@example.com'))

  // Refused requests with a secret: wrong purpose, wrong type, invalid JSON.
  await call('POST', '/auth/verify-email', { body: { token: reset } })
  await call('POST', '/auth/reset-password', { body: { token: reset, password: 7 } })
  await call('POST', '/auth/reset-password', { body: { token: [reset], password } })
  await call('POST', '/auth/accept-invitation', { ...session, body: { token: invitation } })
  await app.inject({
    method: 'POST',
    url: '/auth/login',
    payload: `{"email":"${email}","password":"${password}"`,
    headers: { 'content-type': 'application/json' },
  })

  const changed = keep('the second password', 'second-correct-horse')
  const newSession = keepSession(
    'the session after the change',
    await call('POST', '/auth/change-password', { ...session, body: { currentPassword: password, password: changed } }),
  )
  await call('POST', '/auth/request-password-reset', { body: { email } })
  const used = keep('the reset token that was used', await sterna.tokenFor(email))
  await call('POST', '/auth/reset-password', { body: { token: used, password: keep('the third password', 'third-correct-horse') } })
  await call('GET', '/users/@me', newSession)
  const again = keepSession('the last session', await call('POST', '/auth/login', { body: { email, password: 'third-correct-horse' } }))
  await call('POST', '/auth/verify-email', { body: { token: verification } })
  const guest = keepSession(
    'the session of the guest',
    await call('POST', '/auth/signup', {
      body: { email: 'grace@example.com', password: keep('the password of the guest', 'guest-correct-horse'), invitation },
    }),
  )
  await call('GET', '/auth/logout', guest)
  await call('GET', '/users/@me/projects', again)
  keep('the master key', SECRET_KEY)

  // One unused link of every kind: used ones are deleted and could not be found below.
  const waiting = 'waiting@example.com'
  await call('POST', '/auth/signup', {
    body: { email: waiting, password: keep('the password of the one who waits', 'waits-correct-horse') },
  })
  keep('the open verification token', await sterna.tokenFor(waiting))
  await call('POST', '/auth/request-password-reset', { body: { email: waiting } })
  keep('the open reset token', await sterna.tokenFor(waiting))
  await call('POST', `/projects/${id}/members`, { ...again, body: { email: waiting, role: 'MEMBER' } })
  keep('the open invitation token', await sterna.tokenFor(waiting))
})

/** The common encodings of bytes; base64 in each of its three alignments. */
function spellings(secret: string) {
  const bytes = Buffer.from(secret)
  const inBase64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    // The first and last characters depend on the neighbours.
    return text.slice(shift === 0 ? 0 : shift + 1, (bytes.length + shift) % 3 ? -1 : undefined)
  })
  const reversed = [...secret].reverse().join('')
  const bare = secret.replace(/^[ps]k_/, '')
  const raw = /^[0-9a-f]{64}$/.test(bare) ? [Buffer.from(bare, 'hex').toString('base64').replace(/=+$/, '')] : []
  const decoded = /^[\w-]{43}$/.test(secret)
    ? [Buffer.from(secret, 'base64url').toString('hex'), Buffer.from(secret, 'base64url').toString('base64').replace(/=+$/, '')]
    : []
  const all = [secret, bare, reversed, bytes.toString('hex'), encodeURIComponent(secret), ...inBase64, ...raw, ...decoded]
  return [...new Set(all.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]))]
}

function leaksIn(text: string) {
  const haystack = text.toLowerCase()
  return [...secrets].flatMap(([name, secret]) =>
    spellings(secret)
      .filter((spelling) => haystack.includes(spelling.toLowerCase()))
      .map((spelling) => `${name} as ${spelling}`),
  )
}

/** Every row of every table, with bytea as hex and as bytes. */
async function dump() {
  const tables = await many(
    sterna.db,
    sql<{ name: string }>`select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  )
  const texts = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await many(sterna.db, sql<{ row: string }>`select t::text as row from ${sql.table(name)} t`)
      return rows
        .map(({ row }) => `${name} ${row} ${row.replace(/\\\\x([0-9a-f]+)/g, (_, hex) => Buffer.from(hex, 'hex').toString('latin1'))}`)
        .join('\n')
    }),
  )
  return texts.join('\n')
}

describe('no secret', () => {
  test('is missing: the requests created all of them', () => {
    expect([...secrets.keys()]).toHaveLength(25)
    expect(new Set(secrets.values()).size).toBe(25)
  })

  test('is in the database, in any encoding', async () => {
    const text = await dump()
    // Proof that the dump is complete: addresses, rows, encrypted and hashed bytes.
    for (const marker of [
      'users ',
      'ada@example.com',
      'Shop',
      'account_mails ',
      'sessions ',
      'user_tokens ',
      'invitations ',
      '\\x',
      '$argon2id$',
    ])
      expect(text).toContain(marker)
    expect(leaksIn(text)).toEqual([])
  })

  test('is in the log at its lowest level, in any encoding', () => {
    const text = lines.join('')
    for (const marker of ['responded', 'unexpected error', 'account email kept', 'API keys regenerated', 'domain added', '/auth/login'])
      expect(text).toContain(marker)
    expect(lines.length).toBeGreaterThan(30)
    expect(leaksIn(text)).toEqual([])
  })

  test('is missed by this search', () => {
    for (const secret of secrets.values()) {
      const bytes = Buffer.from(secret)
      const hidings = [
        `x${secret}x`,
        `\\x00${bytes.toString('hex')}00`,
        ...[0, 1, 2].map((shift) => Buffer.concat([Buffer.from('ab'.slice(0, shift)), bytes, Buffer.from('tail')]).toString('base64')),
      ]
      for (const hiding of [...hidings, ...hidings.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))])
        expect(leaksIn(hiding)).not.toEqual([])
    }
  })
})

test('two accounts with the same password have different, slow hashes', async () => {
  for (const email of ['twin1@example.com', 'twin2@example.com'])
    await call('POST', '/auth/signup', { body: { email, password: 'the same password' } })
  const rows = await many(sterna.db, sql<{ hash: string }>`select password_hash as hash from users where email like 'twin%'`)
  expect(new Set(rows.map(({ hash }) => hash)).size).toBe(2)
  for (const { hash } of rows) expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
})
