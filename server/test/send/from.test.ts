import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { useSending } from '../support/delivery/sending.ts'

const { sterna, newProject, quiet, busy, expectNothingOf, expectRefused } = useSending()

describe('the from address', () => {
  test.each<[string, object, { name: string; local: string }]>([
    ['a text and nothing else: the project', { from: 'a@{d}' }, { name: 'Test', local: 'a' }],
    ['a name of its own', { from: { name: 'Own', email: 'a@{d}' }, name: 'Old' }, { name: 'Own', local: 'a' }],
    ['the deprecated name', { from: 'a@{d}', name: 'Old' }, { name: 'Old', local: 'a' }],
    [
      'the project, not the deprecated name, beside an object without one',
      { from: { email: 'a@{d}' }, name: 'Old' },
      { name: 'Test', local: 'a' },
    ],
    ['an empty name', { from: { name: ' ', email: 'a@{d}' }, name: '' }, { name: 'Test', local: 'a' }],
    ['a name with its own address', { from: { name: 'Me, a@{d}', email: 'a@{d}' } }, { name: 'Me, a@{d}', local: 'a' }],
    ['another spelling of the domain', { from: 'A@{D}' }, { name: 'Test', local: 'a' }],
    ['a name in quotes', { from: { name: '"Own", Inc. <x>', email: 'a@{d}' } }, { name: '"Own", Inc. <x>', local: 'a' }],
  ])('is named by %s', async (_, more, expected) => {
    const filled = JSON.parse(JSON.stringify(more).replaceAll('{d}', busy.domain).replaceAll('{D}', busy.domain.toUpperCase()))
    const email = await busy.deliver(filled)
    expect(email.from).toEqual({ name: expected.name.replace('{d}', busy.domain), address: `${expected.local}@${busy.domain}` })
  })

  test('of a template goes before the project and behind the request', async () => {
    const template = await busy.template({ from: `t@${busy.domain}`, fromName: 'Of the template' })
    expect((await busy.deliver({ template, from: `a@${busy.domain}` })).from!.name).toBe('Of the template')
    expect((await busy.deliver({ template, from: `a@${busy.domain}`, name: 'Old' })).from!.name).toBe('Old')
    expect((await busy.deliver({ template, from: undefined, name: 'Old' })).from).toEqual({
      name: 'Of the template',
      address: `t@${busy.domain}`,
    })
  })

  test('is on a verified domain of this project', async () => {
    const removed = await newProject()
    await removed.call('DELETE', `/domains/${removed.domainId}`)
    await expectNothingOf(async () => {
      for (const domain of [
        'unknown.example',
        busy.domain,
        `mail.${quiet.domain}`,
        quiet.domain.slice(0, -1),
        `x${quiet.domain}`,
        `${quiet.domain}.evil.example`,
        quiet.domain.replace('e', '3'),
        quiet.domain.replace('e', 'е'),
        'example.com',
      ]) {
        for (const from of [`a@${domain}`, { name: 'A', email: `a@${domain}` }]) {
          const answer = await quiet.send({ from }, { key: 'k' })
          expect([domain, outcome(answer)]).toEqual([domain, [403, 'DOMAIN_NOT_VERIFIED']])
        }
      }
      const answer = await removed.send({}, { key: 'k' })
      expect([outcome(answer), answer.body.error.details]).toEqual([[403, 'DOMAIN_NOT_VERIFIED'], { domain: removed.domain }])
    })
    await sql`update domains set status = 'pending', verified_by = null, verified_at = null where id = ${quiet.domainId}`.execute(sterna.db)
    await expectNothingOf(async () => expect(outcome(await quiet.send())).toEqual([403, 'DOMAIN_NOT_VERIFIED']))
    await sql`update domains set status = 'verified', verified_by = 'sandbox', verified_at = now() where id = ${quiet.domainId}`.execute(
      sterna.db,
    )
  })

  test('has no other address in its name', () => {
    const own = `a@${quiet.domain}`
    return expectRefused([
      ['another address as the name before an address', { from: `ceo@bank.com <${own}>` }, [['from', 'custom']]],
      ['another address as the name', { from: { name: 'ceo@bank.com', email: own } }, [['from.name', 'custom']]],
      ['another address in the name', { from: { name: 'The <boss@bank.com>', email: own } }, [['from.name', 'custom']]],
      ['another address in the old name', { from: own, name: 'ceo@bank.com' }, [['name', 'custom']]],
      ['an address with a dot of another script', { from: { name: 'ceo@bank。com', email: own } }, [['from.name', 'custom']]],
      ['an address with blanks', { from: { name: 'ceo @ bank.com', email: own } }, [['from.name', 'custom']]],
      ['text that runs from right to left', { from: { name: '\u202emoc.knab@oec', email: own } }, [['from.name', 'custom']]],
      ['text from right to left as the old name', { from: own, name: '\u202emoc.knab@oec' }, [['name', 'custom']]],
      ['a line break in the name', { from: { name: 'A\r\nBcc: x', email: own } }, [['from.name', 'invalid_string']]],
      ['a line break in the old name', { from: own, name: 'A\nB' }, [['name', 'invalid_string']]],
      ['256 characters', { from: { name: 'x'.repeat(256), email: own } }, [['from.name', 'invalid_string']]],
      ['a list', { from: [own] }, [['from', 'invalid_type']]],
      ['no address', { from: { name: 'A' } }, [['from.email', 'required']]],
    ])
  })
})
