import { describe, expect, test } from 'vitest'
import { encryptionOf, SMTP_CLIENTS, type SmtpClient, smtpSnippet } from './smtp-snippets.ts'

const access = { host: 'smtp.example.com', port: 587, tls: 'starttls', key: 'sk_1', from: 'hello@shop.example' } as const

describe.each(Object.keys(SMTP_CLIENTS) as SmtpClient[])('the example for %s', (client) => {
  test('has host, port, key and sender', () => {
    const { code } = smtpSnippet(client, access)
    for (const part of ['smtp.example.com', '587', 'sk_1', 'hello@shop.example']) expect(code).toContain(part)
  })
})

test('the kind of encryption is part of it', () => {
  const codeFor = (client: SmtpClient, tls: 'starttls' | 'implicit' | 'none') => smtpSnippet(client, { ...access, tls }).code
  expect(codeFor('python', 'starttls')).toContain('starttls()')
  expect(codeFor('python', 'implicit')).toContain('SMTP_SSL')
  expect(codeFor('nodemailer', 'implicit')).toContain('secure: true')
  expect(codeFor('go', 'implicit')).toContain('WithSSL')
  expect(codeFor('keycloak', 'implicit')).toContain('smtpServer.ssl=true')
  expect(codeFor('wordpress', 'none')).toContain('SMTPAutoTLS = false')
})

test('without encryption it says from where a program may connect', () => {
  expect(encryptionOf({ tls: 'starttls', plaintext: true })).toBe('STARTTLS')
  expect(encryptionOf({ tls: 'none', plaintext: false })).toMatch(/only from the same machine/)
  expect(encryptionOf({ tls: 'none', plaintext: true })).not.toMatch(/same machine/)
})
