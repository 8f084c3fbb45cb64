import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { maskAddress } from '../../src/preferences/page.ts'
import { languageFor, textsIn } from '../../src/preferences/texts.ts'
import { BROWSER, FORM, JSON_TYPE, LANGUAGES, MULTIPART, multipart, pathOf, titleOf, usePreferences } from './use-preferences.ts'

const { sterna, fromNewIp, open, post, newProject, project, newContact, expectNothingChanged } = usePreferences()

// Pages ----------------------------------------------------------------------------------------------------------------

describe('a preference page', () => {
  test('changes nothing, in any state of the contact', async () => {
    for (const subscribed of [true, false]) {
      const { links } = await newContact({ subscribed })
      await expectNothingChanged(async () => {
        for (const url of Object.values(links)) {
          expect((await open(url)).status).toBe(200)
          const head = await sterna.call('HEAD', pathOf(url), { headers: fromNewIp() })
          expect([head.status, head.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
        }
      })
    }
  })

  test('has no script, no third-party content and only a masked address', async () => {
    const { links } = await newContact({ email: 'grace.hopper@navy.example', data: { name: 'Grace', plan: 'secret-plan' } })
    for (const url of Object.values(links)) {
      const { body, headers } = await open(`${url}?next=https://evil.example&x=<script>alert(1)</script>`, {
        referer: 'https://evil.example',
      })
      expect(body).toContain('g•••@n•••.example')
      for (const word of ['hopper', 'navy', 'Grace', 'secret-plan', 'evil', '<script', 'javascript:', 'onclick'])
        expect(body).not.toContain(word)
      expect(headers).toMatchObject({
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        'x-frame-options': 'DENY',
        'x-robots-tag': 'noindex, nofollow',
        'x-content-type-options': 'nosniff',
      })
      const policy = String(headers['content-security-policy'])
      expect(policy).toMatch(
        /^default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      )
      expect(headers['set-cookie']).toBeUndefined()
    }
  })

  test('shows the name of a project as text, not as markup', async () => {
    const odd = await newProject()
    await odd.change({ name: '<b>"Tom" & {address} $&</b>' })
    const { links } = await newContact({}, odd)
    const { body } = await open(links.unsubscribe)
    expect(body).toContain('&lt;b&gt;&quot;Tom&quot; &amp; {address} $&amp;&lt;/b&gt;')
    expect(body).not.toContain('<b>')
  })

  test.each([
    ['ada@example.com', 'a•••@e•••.com'],
    ['a@b.co', 'a•••@b•••.co'],
    ['ünal@mail.example.org', 'ü•••@m•••.org'],
    ['😀x@example.com', '😀•••@e•••.com'],
  ])('shows %s as %s', (address, masked) => {
    expect(maskAddress(address)).toBe(masked)
  })

  test('does not unsubscribe a contact when a scanner follows all links of an email', async () => {
    const { contact } = await newContact()
    const body = '<a href="{{manageUrl}}">Choose</a> <a href="{{subscribeUrl}}">Stay</a>'
    const sources = [await project.deliver({ to: contact.email }), await project.deliver({ to: contact.email, body })]
    const parsed = await Promise.all(sources.map((source) => PostalMime.parse(source)))
    const text = parsed.map(({ html, text, headers }) => `${html} ${text} ${JSON.stringify(headers)}`).join(' ')
    const found = new Set(text.match(/https:\/\/mail\.example\/[\w/-]+/g))
    // The unsubscribe links of the two emails, and two more of the second.
    expect(found.size).toBe(4)
    await expectNothingChanged(async () => {
      const seen = new Set<string>()
      for (const url of found) {
        if (seen.has(url)) continue
        seen.add(url)
        await sterna.call('HEAD', pathOf(url), { headers: fromNewIp() })
        await sterna.call('OPTIONS', pathOf(url), { headers: fromNewIp() })
        const answer = await open(url, { purpose: 'prefetch', 'sec-purpose': 'prefetch;prerender' })
        expect(answer.status).toBe(200)
        for (const [, next] of answer.body.matchAll(/href="\.\.(\/[^"]+)"/g)) found.add(`https://mail.example${next}`)
      }
    })
    expect(await project.isSubscribed(contact)).toBe(true)
  })
})

describe('the form of a page', () => {
  test('is answered by a page with the new state', async () => {
    const { contact, links } = await newContact()
    expect(titleOf(await open(links.unsubscribe))).toBe('Unsubscribe?')
    const left = await post(links.unsubscribe, '', FORM)
    expect([left.status, titleOf(left)]).toEqual([200, 'You are unsubscribed'])
    expect(left.body).not.toContain('<form')
    expect(titleOf(await open(links.unsubscribe))).toBe('You are unsubscribed')
    expect(titleOf(await open(links.subscribe))).toBe('Subscribe?')
    const back = await post(links.subscribe, '', FORM)
    expect([back.status, titleOf(back)]).toEqual([200, 'You are subscribed'])
    expect(titleOf(await open(links.subscribe))).toBe('You are subscribed')
    expect(await project.isSubscribed(contact)).toBe(true)
    expect(await project.consents(contact.id)).toEqual([
      [true, 'page'],
      [false, 'page'],
    ])
  })

  test('links from each state to the page for the other', async () => {
    const { links } = await newContact()
    const left = await post(links.unsubscribe)
    expect(left.body).toContain(`href="..${pathOf(links.subscribe)}"`)
    const back = await post(links.subscribe)
    expect(back.body).toContain(`href="..${pathOf(links.unsubscribe)}"`)
  })

  test.each<[string, string, Record<string, string>, boolean]>([
    ['a form that says no', 'subscribed=false', FORM, false],
    ['a form that says yes', 'subscribed=true', FORM, true],
    ['multipart that says no', multipart('subscribed', 'false'), MULTIPART, false],
    ['JSON that says no', '{"subscribed":false}', JSON_TYPE, false],
    ['JSON that says yes', '{"subscribed":true}', JSON_TYPE, true],
  ])('of preferences accepts %s', async (_, body, headers, wanted) => {
    const own = await newProject()
    const { contact, links } = await newContact({ subscribed: !wanted }, own)
    const answer = await post(links.manage, body, headers)
    expect([answer.status, answer.headers.location]).toEqual([200, undefined])
    expect(answer.body).toContain('role="status"')
    expect(answer.body).toContain(`value="${wanted}" checked`)
    expect(answer.body).not.toContain(`value="${!wanted}" checked`)
    expect(await own.isSubscribed(contact)).toBe(wanted)
    expect((await open(links.manage)).body).not.toContain('role="status"')
    await post(links.manage, body, headers)
    expect(await own.events()).toEqual([wanted ? 'contact.subscribed' : 'contact.unsubscribed'])
  })

  test.each<[string, string | undefined, Record<string, string>, string]>([
    ['nothing', undefined, {}, 'required'],
    ['another field', 'x=true', FORM, 'required'],
    ['another word', 'subscribed=maybe', FORM, 'invalid_type'],
    ['a list', '{"subscribed":[]}', JSON_TYPE, 'invalid_type'],
    ['null', '{"subscribed":null}', JSON_TYPE, 'invalid_type'],
    ['a file', multipart('subscribed"; filename="x', 'true'), MULTIPART, 'invalid_type'],
  ])('of preferences refuses %s', async (_, body, headers, code) => {
    const { links } = await newContact()
    await expectNothingChanged(async () => {
      const answer = await post(links.manage, body, { ...headers, accept: 'application/json' })
      expect([answer.status, answer.body.error.errors]).toMatchObject([422, [{ field: 'subscribed', code }]])
      const page = await post(links.manage, body, headers)
      expect([page.status, titleOf(page)]).toEqual([422, 'Something went wrong'])
    })
  })

  test('of a wrong link is answered with a page for browsers and with the JSON error for others', async () => {
    for (const method of ['GET', 'POST']) {
      const page = await sterna.call(method, '/unsubscribe/x', {
        headers: { ...fromNewIp(), ...BROWSER, 'accept-language': 'tlh, de-AT;q=0.9, fr' },
      })
      expect([page.status, titleOf(page), page.headers['content-type']]).toEqual([
        404,
        'Dieser Link funktioniert nicht',
        'text/html; charset=utf-8',
      ])
      expect(page.body).toContain('<html lang="de">')
      const silent = await sterna.call(method, '/unsubscribe/x', { headers: { ...fromNewIp(), ...BROWSER } })
      expect(titleOf(silent)).toBe('This link does not work')
      expect(page.headers['content-security-policy']).toContain("default-src 'none'")
      const envelope = await sterna.call(method, '/unsubscribe/x', { headers: fromNewIp() })
      expect([envelope.status, envelope.body.error.code, envelope.body.error.details]).toEqual([
        404,
        'RESOURCE_NOT_FOUND',
        { resource: 'link' },
      ])
    }
  })
})

// Languages ------------------------------------------------------------------------------------------------------------

describe('the language', () => {
  test.each(LANGUAGES)('%s has all texts with the same placeholders', (language) => {
    const texts = Object.entries(textsIn(language))
    const blanks = (text: string) => (text.match(/\{\w+\}/g) ?? []).toSorted()
    for (const [name, text] of texts) {
      const english = textsIn('en')[name as keyof ReturnType<typeof textsIn>]
      expect([name, blanks(text)]).toEqual([name, blanks(english)])
      if (language !== 'en') expect([name, text]).not.toEqual([name, english])
    }
    expect(texts).toHaveLength(Object.keys(textsIn('en')).length)
  })

  test.each(LANGUAGES)('of a project may be %s, on its pages and in the footers of its emails', async (language) => {
    const own = await newProject()
    await own.change({ language })
    const { contact, links } = await newContact({}, own)
    const texts = textsIn(language)
    const answer = await open(links.unsubscribe, { 'accept-language': 'sv, fi' })
    expect(answer.body).toContain(`<html lang="${language}">`)
    expect([titleOf(answer), answer.headers['content-language']]).toEqual([texts.unsubscribeAsk, language])
    expect(titleOf(await post(links.unsubscribe))).toBe(texts.unsubscribed)
    expect(titleOf(await open(links.manage))).toBe(texts.manage)
    const { html } = await PostalMime.parse(await own.deliver({ to: contact.email }))
    expect(html).toContain(`<div lang="${language}"`)
    expect(html).toContain(`>${texts.unsubscribe}</a>`)
  })

  test.each<[unknown, string, string]>([
    ['fr', 'de', 'fr'],
    ['de-AT', 'en', 'de'],
    ['pt_BR', 'en', 'pt'],
    ['ZH-Hant-TW', 'en', 'zh'],
    ['sv', 'de', 'de'],
    ['', 'de', 'de'],
    [undefined, 'it', 'it'],
    [null, 'it', 'it'],
    [['fr'], 'it', 'it'],
    ['constructor', 'it', 'it'],
    ['sv', 'tlh', 'en'],
  ])('of a contact with the locale %j in a project in %s is %s', (locale, project, language) => {
    expect(languageFor(locale, project)).toBe(language)
  })

  test('of the contact takes precedence, on pages and in emails', async () => {
    const { contact, links } = await newContact({ data: { locale: 'es-MX' } })
    expect(titleOf(await open(links.unsubscribe))).toBe('¿Quiere darse de baja?')
    const { html, text } = await PostalMime.parse(await project.deliver({ to: contact.email }))
    expect(html).toContain('Darse de baja')
    expect(text).toContain('Darse de baja (https://mail.example/unsubscribe/')
  })
})
