import fc from 'fast-check'
import { sql } from 'kysely'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { preferenceLinks, readPreferenceToken } from '../../src/preferences/link.ts'
import { eventually } from '../support/eventually.ts'
import { BROWSER, FORM, ONE_CLICK, PURPOSES, pathOf, titleOf, tokenOf, usePreferences } from './use-preferences.ts'

const { sterna, fromNewIp, open, post, newProject, project, newContact, expectNothingChanged } = usePreferences()

// Links ----------------------------------------------------------------------------------------------------------------

describe('a preference link', () => {
  test('names the contact and the email that contains it; in a preview, the contact only', async () => {
    const { contact, links } = await newContact()
    const answer = await project.send({
      to: contact.email,
      type: 'TRANSACTIONAL',
      body: '{{unsubscribeUrl}}\n{{subscribeUrl}}\n{{manageUrl}}',
    })
    const emailId = answer.body.data.emails[0].email
    const { html } = await PostalMime.parse(await project.source(emailId))
    const read = (urls: string[]) => PURPOSES.map((purpose, index) => readPreferenceToken(sterna.secrets, purpose, tokenOf(urls[index]!)))
    const owner = { projectId: project.id, contactId: contact.id }
    expect(read(html!.trim().split(/\s+/))).toEqual(PURPOSES.map(() => ({ ...owner, emailId })))
    expect(read(PURPOSES.map((purpose) => links[purpose]))).toEqual(PURPOSES.map(() => owner))
    for (const purpose of PURPOSES) expect(links[purpose]).toMatch(new RegExp(`^https://mail\\.example/${purpose}/[\\w-]{89}$`))
  })

  test('of an email counts an unsubscription for that email, and the consent record names it', async () => {
    const { contact } = await newContact()
    const answer = await project.send({ to: contact.email, type: 'TRANSACTIONAL', body: 'Hi' })
    const emailId = answer.body.data.emails[0].email as string
    const { unsubscribeUrl, subscribeUrl } = preferenceLinks(sterna.secrets, '', { projectId: project.id, contactId: contact.id, emailId })
    const times = () =>
      many(
        sterna.db,
        sql<{ at: Date | null }>`select unsubscribed_at as at from emails where project_id = ${project.id} and contact_id = ${contact.id}`,
      )
    await post(subscribeUrl, '', FORM)
    expect(await times()).toEqual([{ at: null }])
    await post(unsubscribeUrl, ONE_CLICK, FORM)
    await eventually(async () => expect(await times()).toEqual([{ at: expect.any(Date) }]))
    const { body } = await project.call('GET', `/contacts/${contact.id}/consent`)
    expect(body.data[0]).toMatchObject({ subscribed: false, source: 'one-click', details: { emailId } })
  })

  test('of one purpose is not found for another and changes nothing', async () => {
    const { links } = await newContact()
    await expectNothingChanged(async () => {
      for (const purpose of PURPOSES) {
        for (const other of PURPOSES.filter((each) => each !== purpose)) {
          const url = `/${other}/${tokenOf(links[purpose])}`
          const answers = [
            await open(url),
            await post(url, 'subscribed=false', FORM),
            await sterna.call('HEAD', url, { headers: fromNewIp() }),
          ]
          expect([url, answers.map(({ status }) => status)]).toEqual([url, [404, 404, 404]])
        }
      }
    })
  })

  test('of one contact or project is not found for another', async () => {
    const mine = await newContact()
    const theirs = await newContact({}, await newProject())
    const bytes = [mine, theirs].map(({ links }) => Buffer.from(tokenOf(links.unsubscribe), 'base64url'))
    const [a, b] = bytes as [Buffer, Buffer]
    const mixed = [
      Buffer.concat([a.subarray(0, 18), b.subarray(18, 34), a.subarray(34)]), // the other contact, the own project and signature
      Buffer.concat([a.subarray(0, 2), b.subarray(2, 18), a.subarray(18)]), // the other project
      Buffer.concat([a.subarray(0, 34), b.subarray(18, 34), a.subarray(50)]), // an email
      Buffer.concat([a.subarray(0, 50), b.subarray(50)]), // the other signature
      Buffer.concat([b.subarray(0, 50), a.subarray(50)]),
      Buffer.concat([Buffer.of(3), a.subarray(1)]), // another version
      Buffer.concat([Buffer.of(0), a.subarray(1)]),
      Buffer.concat([Buffer.of(2, 2), a.subarray(2)]), // another key
      Buffer.concat([Buffer.of(1), a.subarray(2, 34), a.subarray(50)]), // the first version
    ]
    for (const token of mixed) expect(readPreferenceToken(sterna.secrets, 'unsubscribe', token.toString('base64url'))).toBeUndefined()
    await expectNothingChanged(async () => {
      for (const token of mixed) expect((await post(`/unsubscribe/${token.toString('base64url')}`, ONE_CLICK, FORM)).status).toBe(404)
      for (const id of [mine.contact.id, project.id]) expect((await post(`/unsubscribe/${id}`, ONE_CLICK, FORM)).status).toBe(404)
    })
  })

  test('with any change is not found', async () => {
    const { links } = await newContact()
    const token = tokenOf(links.unsubscribe)
    const swap = (char: string) => (char === 'A' ? 'B' : 'A')
    const altered = [
      ...[...token].map((char, at) => token.slice(0, at) + swap(char) + token.slice(at + 1)),
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      `${token}%20`,
      `${token}.`,
      `%20${token}`,
      token.toUpperCase(),
      'preview',
      '%00',
    ]
    await expectNothingChanged(async () => {
      for (const each of altered) expect([each, (await post(`/unsubscribe/${each}`, ONE_CLICK, FORM)).status]).toEqual([each, 404])
    })
    expect((await open(links.unsubscribe)).status).toBe(200)
  })

  test('names its contact and cannot be forged', () => {
    fc.assert(
      fc.property(
        fc.record({ projectId: fc.uuid(), contactId: fc.uuid(), emailId: fc.uuid() }),
        fc.constantFrom(...PURPOSES),
        fc.constantFrom(...PURPOSES),
        (owner, made, used) => {
          const links = preferenceLinks(sterna.secrets, '', owner)
          const read = readPreferenceToken(sterna.secrets, used, tokenOf(links[`${made}Url`]))
          expect(read).toEqual(made === used ? owner : undefined)
        },
      ),
    )
    fc.assert(fc.property(fc.base64String(), (token) => readPreferenceToken(sterna.secrets, 'unsubscribe', token) === undefined))
  })

  test('of a deleted contact or project is not found, in the language of the link', async () => {
    const gone = await newProject()
    await gone.change({ language: 'de' })
    const { contact, links } = await newContact({}, gone)
    await gone.call('DELETE', `/contacts/${contact.id}`)
    const answer = await open(links.unsubscribe)
    expect([answer.status, titleOf(answer)]).toEqual([404, 'Dieser Link funktioniert nicht'])
    expect((await post(links.unsubscribe, ONE_CLICK, FORM)).status).toBe(404)
    const other = await newContact({}, gone)
    await sql`update projects set deleted_at = now() where id = ${gone.id}`.execute(sterna.db)
    expect((await post(other.links.unsubscribe, ONE_CLICK, FORM)).status).toBe(404)
    expect(titleOf(await open(other.links.unsubscribe))).toBe('This link does not work')
  })

  test('works while the project is disabled', async () => {
    const disabled = await newProject()
    const { contact, links } = await newContact({}, disabled)
    await sql`update projects set disabled = true where id = ${disabled.id}`.execute(sterna.db)
    expect((await post(links.unsubscribe, ONE_CLICK, FORM)).status).toBe(200)
    expect(await disabled.isSubscribed(contact)).toBe(false)
  })

  test('that is wrong may be tried a hundred times a minute from one network; valid ones still work there', async () => {
    const { links } = await newContact()
    const from = (ip: string, url: string) => sterna.call('GET', pathOf(url), { headers: { ...BROWSER, 'x-forwarded-for': ip } })
    for (let tried = 0; tried < 100; tried++) expect((await from('2001:db8::1', '/unsubscribe/x')).status).toBe(404)
    const refused = await from('2001:db8::ffff', '/manage/x')
    expect([refused.status, titleOf(refused)]).toEqual([429, 'Something went wrong'])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await from('2001:db8::1', links.unsubscribe)).status).toBe(200)
    expect((await from('2001:db8:1::1', '/unsubscribe/x')).status).toBe(404)
  })

  test('may be used sixty times a minute from one network', async () => {
    const { links } = await newContact()
    const other = await newContact()
    const use = (url: string) => sterna.call('POST', pathOf(url), { headers: { 'x-forwarded-for': '10.8.8.8' } })
    for (let used = 0; used < 60; used++) expect((await use(links.unsubscribe)).status).toBe(200)
    expect((await use(links.unsubscribe)).status).toBe(429)
    expect((await use(other.links.unsubscribe)).status).toBe(200)
  })
})
