import PostalMime from 'postal-mime'
import { beforeAll, describe, expect, test } from 'vitest'
import { issues, outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useSharedApp()

let project: Awaited<ReturnType<typeof newSendingProject>>
beforeAll(async () => {
  project = await newSendingProject(sterna)
})

const get = async (id: string) => (await project.call('GET', `/templates/${id}`)).body
const HIDDEN = /<div style="display:none;[^"]*">([^<]*)<\/div>/

/** The hidden text of the HTML and what comes before it; undefined when there is none. */
function hiddenIn(html: string) {
  const found = HIDDEN.exec(html)
  return found ? { before: html.slice(0, found.index), text: found[1] } : undefined
}

describe('the preview text of a template', () => {
  test('is stored, changed, copied, and restored with a version', async () => {
    const id = await project.template({ previewText: 'First {{ name }}' })
    expect((await get(id)).previewText).toBe('First {{ name }}')
    const changed = await project.call('PATCH', `/templates/${id}`, { previewText: 'Second' })
    expect([changed.body.previewText, changed.body.version]).toEqual(['Second', 2])
    expect((await project.call('POST', `/templates/${id}/duplicate`)).body.previewText).toBe('Second')
    const versions = (await project.call('GET', `/templates/${id}/versions`)).body.data
    expect(versions.map(({ previewText }: { previewText: string }) => previewText)).toEqual(['Second', 'First {{ name }}'])
    const restored = await project.call('POST', `/templates/${id}/versions/1/restore`)
    expect([restored.body.previewText, restored.body.version]).toEqual(['First {{ name }}', 3])
    expect((await project.call('PATCH', `/templates/${id}`, { previewText: null })).body.previewText).toBeNull()
    expect((await get(await project.template())).previewText).toBeNull()
  })

  test('has at most 500 characters, and valid variables', async () => {
    const create = (previewText: unknown) =>
      project.call('POST', '/templates', { name: 'T', subject: 'S', body: 'B', type: 'MARKETING', previewText })
    expect(outcome(await create('x'.repeat(500)))).toEqual([201])
    for (const bad of ['x'.repeat(501), '{{ a | nope }}', '{% if %}', 7]) {
      const answer = await create(bad)
      expect([answer.status, issues(answer)[0]![0]]).toEqual([422, 'previewText'])
    }
    const id = await project.template()
    expect((await project.call('PATCH', `/templates/${id}`, { previewText: '{{' })).status).toBe(422)
  })

  test('is linted', async () => {
    const lint = async (previewText: string) =>
      (await project.call('POST', '/templates/lint', { subject: 'S', previewText, body: '<p>x</p>' })).body.issues
    expect(await lint('{{ a | nope }}')).toMatchObject([{ code: 'syntax_error', message: expect.stringMatching(/^Preview text: Line 1/) }])
    expect(await lint('{{ no_such_field }}')).toMatchObject([{ code: 'missing_variable' }])
  })

  test('is hidden at the start of the body, in the preview and in the message, and not in the text part', async () => {
    const body = '<html><head><title>{{ name }}</title></head><body class="x"><p>Hi {{ name }}</p></body></html>'
    const previewText = 'Only for {{ name }},\n  not "others"'
    const template = await project.template({ type: 'MARKETING', from: `hello@${project.domain}`, previewText, body })
    const { email, id: contactId } = (
      await project.call('POST', '/contacts', { email: 'preview@example.com', subscribed: true, data: { name: '<Ada>' } })
    ).body
    const shown = (await project.call('POST', `/templates/${template}/preview`, { contactId })).body
    const { id } = await project.sent({ to: email, template, from: undefined, subject: undefined, body: undefined })
    const sent = await PostalMime.parse(await project.source(id))
    for (const html of [shown.html, sent.html]) {
      expect(hiddenIn(html)).toEqual({
        before: '<html><head><title>&lt;Ada&gt;</title></head><body class="x">',
        text: 'Only for &lt;Ada&gt;, not &quot;others&quot;',
      })
    }
    expect(shown.text).toMatch(/^Hi <Ada>\n/)
    expect(sent.text).not.toContain('Only for')
    const again = (await project.call('GET', `/emails/${id}/preview`)).body
    expect(hiddenIn(again.html)).toEqual(hiddenIn(shown.html))
  })

  test.each([
    ['<p>Hi</p>', ''],
    ['<!-- <body> --><p>Hi</p>', ''],
    ['<!doctype html><html><head><style>a{}</style></head><p>Hi</p></html>', '<!doctype html><html><head><style>a{}</style></head>'],
    ['<style>x</style><BODY\nbgcolor=">">Hi{% if name %}!{% endif %}', '<style>x</style><BODY\nbgcolor=">">'],
    ['<p>Hi</p><body>', ''],
  ])('in %j comes after %j', async (body, before) => {
    const preview = await project.call('POST', '/templates/preview', { subject: 'S', body, previewText: 'Soon & {{ x ?? "now" }}' })
    expect(hiddenIn(preview.body.html)).toEqual({ before, text: 'Soon &amp; now' })
  })

  test('without words adds nothing', async () => {
    const preview = await project.call('POST', '/templates/preview', { subject: 'S', body: '<p>Hi</p>', previewText: ' {{ name }}\n' })
    expect(preview.body.html).toBe('<p>Hi</p>')
  })

  test('is in a test email', async () => {
    const template = await project.template({ from: `hello@${project.domain}`, previewText: 'Soon' })
    const { emailId } = (await project.call('POST', `/templates/${template}/test`, { email: 'me@example.com' })).body
    const source = await eventually(() => project.source(emailId))
    expect(hiddenIn((await PostalMime.parse(source)).html!)).toEqual({ before: '', text: 'Soon' })
  })
})
