import { describe, expect, test } from 'vitest'
import { useSharedApp } from '../support/app.ts'
import { newTemplateProject } from './template-project.ts'

const sterna = useSharedApp()
const newProject = () => newTemplateProject(sterna)
type Project = Awaited<ReturnType<typeof newProject>>

const fieldsOf = ({ body }: { body: { error?: { errors?: { field: string }[] } } }) => body.error?.errors?.map(({ field }) => field)

describe('a preview', () => {
  const preview = async (project: Project, content: object, sample: object) => {
    const { id } = await project.add(content)
    return project.call('POST', `/templates/${id}/preview`, sample)
  }

  test('has subject, HTML and text for sample data', async () => {
    const body =
      '<h1>Hi {{ first name }}</h1><p>{{ plan }} {{ nickname ?? "-" }} {{ company }} {% if vip %}{{ vip }}{% endif %} {{ email }} {{ locale }}</p>'
    const sample = { email: 'Ada@Example.com', locale: 'de', data: { 'first name': 'A<b>', plan: { value: 'pro', persistent: false } } }
    const answer = await preview(await newProject(), { body }, sample)
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        subject: 'Hi A<b>',
        html: '<h1>Hi A&lt;b&gt;</h1><p>pro -   ada@example.com de</p>',
        text: 'Hi A<b>\n\npro - ada@example.com de\n',
        missingVariables: ['company'],
      },
    ])
  })

  test('uses the data of a contact, overridden by sample data', async () => {
    const project = await newProject()
    const contact = (await project.call('POST', '/contacts', { email: 'grace@example.com', data: { plan: 'pro', city: 'Rome' } })).body
    const body = '{{ id }} {{ email }} {{ plan }} {{ city }} {{ subscribed }} {{ unsubscribeUrl }}'
    const answer = await preview(project, { body }, { contactId: contact.id, data: { plan: 'free', city: null } })
    expect(answer.body).toMatchObject({
      html: expect.stringMatching(new RegExp(`^${contact.id} grace@example.com free  true https://mail.example/unsubscribe/[\\w-]{89}$`)),
      missingVariables: ['city'],
    })
  })

  test('of a contact of another project is not found', async () => {
    const [mine, theirs] = [await newProject(), await newProject()]
    const contact = (await theirs.call('POST', '/contacts', { email: 'grace@example.com' })).body
    const answer = await preview(mine, {}, { contactId: contact.id })
    expect([answer.status, answer.body.error.code]).toEqual([404, 'CONTACT_NOT_FOUND'])
    expect((await preview(mine, {}, { contactId: 'x' })).status).toBe(422)
  })

  test('of an endless template is a 422 with the reason', async () => {
    const body = '{% for i in (1..9999) %}{% for j in (1..9999) %}{% endfor %}{% endfor %}'
    const answer = await preview(await newProject(), { body }, {})
    expect([answer.status, fieldsOf(answer)]).toEqual([422, ['body']])
    expect(answer.body.error.errors[0].message).toMatch(/too much memory|took longer/)
  })

  test('cannot override reserved names', async () => {
    const answer = await preview(
      await newProject(),
      { body: '{{ id }} {{ unsubscribeUrl }}' },
      { data: { id: 'x', unsubscribeUrl: 'https://evil.example' } },
    )
    expect(answer.body.html).toMatch(/^00000000-0000-0000-0000-000000000000 https:\/\/mail\.example\/unsubscribe\/[\w-]{89}$/)
  })
})

describe('lint', () => {
  test.each<[string, object, [string, string, number?][]]>([
    ['no issue in a good template', { body: '<a href="https://x.example/{{ id }}">x</a><img src="x" alt=""> {{ email }}' }, []],
    ['bad syntax', { body: 'a\n{{ x | y }}' }, [['syntax_error', 'error', 2]]],
    ['bad syntax in the subject', { subject: '{{ x', body: 'x' }, [['syntax_error', 'error']]],
    [
      'variables that no contact has',
      { body: '{{ plam }} {{ plan }} {{ plam }} {{ x.y }} {{ z ?? "" }} {% if w %}{{ w }}{% endif %}' },
      [
        ['missing_variable', 'warning', 1],
        ['missing_variable', 'warning', 1],
      ],
    ],
    [
      'empty links',
      { body: '<a href="">a</a>\n<a href="#">b</a>\n<a>c</a><a name="top"></a><a href="#top">d</a>' },
      [
        ['empty_link', 'warning', 1],
        ['empty_link', 'warning', 2],
        ['empty_link', 'warning', 3],
      ],
    ],
    [
      'broken links',
      { body: '<a href="http://">a</a><a href="/path">b</a><a href="javascript:x">c</a><a href="https://">d</a>' },
      [
        ['broken_link', 'error', 1],
        ['broken_link', 'error', 1],
        ['broken_link', 'error', 1],
        ['broken_link', 'error', 1],
      ],
    ],
    ['links that are not encrypted', { body: '<a href="http://x.example">a</a>' }, [['insecure_link', 'warning', 1]]],
    [
      'no issue in links with variables',
      {
        body: '<a href="{{ email ?? "x" }}">a</a><a href="https://{{ email }}/x">b</a><a {% if email %}href="mailto:a@b.example"{% endif %}>c</a>',
      },
      [],
    ],
    ['images without alternative text', { body: '<p>\n<img src="x"></p>' }, [['image_without_alt', 'warning', 2]]],
    [
      'names that contain operators',
      {
        body: '{{ plan contains plan ?? "x" }}\n{{ not plan }} {{ plan and plan }} {{ plan ?? "a contains b" }}',
      },
      [['ambiguous_name', 'warning', 1]],
    ],
    [
      'fields whose names contain operators, which no contact has',
      { body: '{{ terms and conditions }}' },
      [['missing_variable', 'warning', 1]],
    ],
    ['no issue in an expression of known fields', { body: '{{ plan and seats or not plan }}' }, [['missing_variable', 'warning', 1]]],
    ['bodies that clients clip', { body: 'x'.repeat(105_000) }, [['too_large', 'warning']]],
    ['no link to unsubscribe', { body: 'x', type: 'MARKETING' }, [['no_unsubscribe_link', 'info']]],
    ['no issue with an unsubscribe link', { body: '<a href="{{unsubscribeUrl}}">x</a>', type: 'MARKETING' }, []],
    ['no issue in a transactional template without one', { body: 'x', type: 'TRANSACTIONAL' }, []],
  ])('finds %s', async (_, content, expected) => {
    const project = await newProject()
    await project.call('POST', '/contacts', { email: 'ada@example.com', data: { plan: 'pro' } })
    expect(await project.lint(content)).toEqual(expected)
  })

  test('reports a field that only another project has', async () => {
    const [mine, theirs] = [await newProject(), await newProject()]
    await theirs.call('POST', '/contacts', { email: 'ada@example.com', data: { secret: 'x' } })
    expect(await mine.lint({ body: '{{ secret }}' })).toEqual([['missing_variable', 'warning', 1]])
    expect(await theirs.lint({ body: '{{ secret }}' })).toEqual([])
  })

  test('checks a stored template in the same way', async () => {
    const project = await newProject()
    const { id } = await project.add({ type: 'MARKETING' })
    const { status, body } = await project.call('POST', `/templates/${id}/lint`)
    expect([status, body.issues.map(({ code }: { code: string }) => code)]).toEqual([200, ['missing_variable', 'no_unsubscribe_link']])
  })

  test('reports a bounded number of issues', async () => {
    const project = await newProject()
    const issues = await project.lint({ body: '<a href="">'.repeat(45_000) })
    expect(issues).toHaveLength(200)
  })
})
