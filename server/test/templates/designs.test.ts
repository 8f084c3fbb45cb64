import { beforeAll, describe, expect, test } from 'vitest'
import { fields, outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { until } from '../support/eventually.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useSharedApp()

let project: Awaited<ReturnType<typeof newSendingProject>>
beforeAll(async () => {
  project = await newSendingProject(sterna)
})

const design = (...content: unknown[]) => ({ version: 1, content })
const paragraph = (text: string) => ({ type: 'paragraph', attrs: { id: 'p1' }, content: [{ type: 'text', text }] })
const button = (href: string) => ({ type: 'button', attrs: { id: 'b1', href }, content: [{ type: 'text', text: 'Go' }] })

const create = (more: object) => project.call('POST', '/templates', { name: 'T', subject: 'S', type: 'MARKETING', ...more })
const patch = (id: string, changes: object) => project.call('PATCH', `/templates/${id}`, changes)

describe('a template with a design', () => {
  test('is rendered by the server; a body beside it is ignored', async () => {
    const given = design(paragraph('Hello {{ name ?? "you" }}'))
    const { status, body } = await create({ design: given, body: '<p>ignored</p>' })
    expect([status, body.hasDesign, body.design]).toEqual([201, true, given])
    expect(body.body).toContain('Hello {{ name ?? "you" }}')
    expect(body.body).not.toContain('ignored')
    const preview = await project.call('POST', `/templates/${body.id}/preview`, { data: { name: 'Ada' } })
    expect(preview.body.html).toContain('Hello Ada')
    expect(preview.body.text).toContain('Hello Ada')
    const listed = (await project.call('GET', '/templates')).body.data.find(({ id }: { id: string }) => id === body.id)
    expect([listed.hasDesign, 'design' in listed]).toEqual([true, false])
  })

  test('keeps its design for the same HTML, and loses it for other HTML', async () => {
    const { body: first } = await create({ design: design(paragraph('One')) })
    expect((await patch(first.id, { body: first.body, name: 'N' })).body.design).toEqual(first.design)
    expect((await patch(first.id, { name: 'M' })).body.design).toEqual(first.design)
    expect((await patch(first.id, { body: '<p>Two</p>' })).body).toMatchObject({ body: '<p>Two</p>', design: null, hasDesign: false })
  })

  test('can drop its design and keep the HTML', async () => {
    const { body: first } = await create({ design: design(paragraph('One')) })
    expect((await patch(first.id, { design: null })).body).toMatchObject({ body: first.body, design: null })
  })

  test('is duplicated and restored with its design', async () => {
    const { body: first } = await create({ design: design(paragraph('One')) })
    expect((await project.call('POST', `/templates/${first.id}/duplicate`)).body.design).toEqual(first.design)
    await patch(first.id, { body: '<p>code</p>' })
    const version = await project.call('GET', `/templates/${first.id}/versions/1`)
    expect([version.body.hasDesign, version.body.design]).toEqual([true, first.design])
    expect((await project.call('POST', `/templates/${first.id}/versions/1/restore`)).body).toMatchObject({
      body: first.body,
      design: first.design,
    })
  })

  test('needs a design or a body', async () => {
    const answer = await create({})
    expect([outcome(answer), fields(answer)]).toEqual([[422, 'VALIDATION_ERROR'], ['body']])
  })

  test.each([
    ['a link that runs script', design(button('javascript:alert(1)')), 'design.content.0.attrs.href'],
    ['an expression that cannot be read', design(paragraph('ok'), paragraph('{{ name ?? }}')), 'design.content.1.content.0.text'],
    ['an unknown block', design({ type: 'iframe', attrs: {} }), 'design.content.0.type'],
    ['something else', 'text', 'design'],
  ])('is refused at the block for %s', async (_, given, field) => {
    const answer = await create({ design: given })
    expect([outcome(answer), fields(answer)]).toEqual([[422, 'VALIDATION_ERROR'], [field]])
  })
})

test('a campaign has a design by the same rules', async () => {
  const given = design(paragraph('News'))
  const draft = { name: 'C', subject: 'S', from: `news@${project.domain}`, audienceType: 'ALL' }
  const { body: created } = await project.call('POST', '/campaigns', { ...draft, design: given })
  const { id } = created.data
  expect(created.data).toMatchObject({ design: given, hasDesign: true })
  expect((await project.call('POST', `/campaigns/${id}/duplicate`)).body.design).toEqual(given)
  const same = await project.call('PUT', `/campaigns/${id}`, { ...draft, body: created.data.body })
  expect(same.body.design).toEqual(given)
  const other = await project.call('PUT', `/campaigns/${id}`, { ...draft, body: '<p>code</p>' })
  expect(other.body).toMatchObject({ design: null, body: '<p>code</p>' })
  const listed = (await project.call('GET', '/campaigns')).body.data.find((campaign: { id: string }) => campaign.id === id)
  expect([listed.hasDesign, 'design' in listed]).toEqual([false, false])
})

describe('designs that are not saved', () => {
  test('are rendered, with what the author should look at', async () => {
    const given = design(paragraph('Hi {{ name ?? }}'), button(''))
    const { status, body } = await project.call('POST', '/designs/render', { design: given })
    expect([status, body.bytes]).toEqual([200, Buffer.byteLength(body.html)])
    expect(body.text).toContain('Hi')
    expect(body.issues.map(({ blockId }: { blockId: string }) => blockId)).toEqual(['p1', 'b1'])
  })

  test('are previewed for a recipient, and linted by block', async () => {
    const given = design(paragraph('Hi {{ name }}'), button('http://example.com'))
    const preview = await project.call('POST', '/templates/preview', { subject: 'S', design: given, data: { name: 'Ada' } })
    expect(preview.body.html).toContain('Hi Ada')
    const lint = await project.call('POST', '/templates/lint', { subject: 'S', design: given })
    expect(lint.body.issues).toContainEqual(expect.objectContaining({ code: 'insecure_link', blockId: 'b1' }))
    const unknown = design(
      { ...paragraph('Hi {{ nobodyHasThis }}'), attrs: { id: 'first' } },
      { ...paragraph('and {{ nobodyHasThis ?? "you" }}'), attrs: { id: 'second' } },
      { ...paragraph('or {{ nobodyHasThis }} {{ nobodyHasThis }}'), attrs: { id: 'third' } },
    )
    const missing = (await project.call('POST', '/templates/lint', { subject: '{{ nobodyHasThis }}', design: unknown })).body.issues
    expect(missing.map(({ code, blockId }: Record<string, string>) => [code, blockId])).toEqual([
      ['missing_variable', 'first'],
      ['missing_variable', 'third'],
    ])
    const open = design(paragraph('Hi {{ name ?? }}'), { type: 'image', attrs: { id: 'i1', src: '' } })
    const found = (await project.call('POST', '/templates/lint', { subject: 'S', design: open })).body.issues
    expect(found.map(({ code, severity, blockId }: Record<string, string>) => [code, severity, blockId])).toEqual([
      ['syntax_error', 'error', 'p1'],
      ['no_picture', 'warning', 'i1'],
    ])
  })
})

/**
 * What filters such as SpamAssassin count against an email that is an image, or has little text. HTML_IMAGE_RATIO_08 asks for 8 characters
 * per 1,000 pixels of images; the height of an image is taken as half of its width.
 */
function findSpamSigns({ html, text, bytes }: { html: string; text: string; bytes: number }) {
  const widths = [...html.matchAll(/<img\b[^>]*?\bwidth="(\d+)"/g)].map(([, width]) => Number(width))
  const pixels = widths.reduce((sum, width) => sum + (width * width) / 2, 0)
  const written = text.replace(/https?:\S+|\s+/g, '').length
  return [
    ...(written < 200 ? [`only ${written} characters`] : []),
    ...(written < 0.008 * pixels ? [`${written} characters beside ${pixels} pixels of images`] : []),
    ...(widths.length > 1 ? [`${widths.length} images`] : []),
    ...(written < 0.02 * bytes ? [`${written} characters in ${bytes} bytes`] : []),
    ...(bytes > 40_000 ? [`${bytes} bytes`] : []),
  ]
}

test('signs of spam are found in an email that is an image', () => {
  expect(findSpamSigns({ html: '<img src="x" width="600"><img src="x" width="600">', text: 'Buy now', bytes: 50_000 })).toHaveLength(5)
})

test('starters are complete emails in the look of the project', async () => {
  const logoUrl = 'https://cdn.example/logo.png'
  const brand = { logoUrl, colors: { primary: '#aa0044' }, footer: { name: 'Tea & Co', address: 'Street 1\nTown' } }
  await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { brand } })
  const { status, body } = await project.call('GET', '/designs/starters')
  expect([status, body.length]).toEqual([200, 12])
  for (const { key, design: given, html } of body) {
    const answer = await project.call('POST', '/designs/render', { design: given })
    expect([key, answer.status, answer.body.issues]).toEqual([key, 200, []])
    expect(html).toBe(answer.body.html)
    expect([key, findSpamSigns(answer.body)]).toEqual([key, []])
  }
  expect(body[0].html).toContain('#aa0044')
  expect(body[0].html).toContain('Tea &amp; Co')
})

describe('the brand applied to saved designs', () => {
  const setBrand = (brand: object) => project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { brand } })
  async function apply(body?: object) {
    const { status, body: queued } = await project.owner.call('POST', `/projects/${project.id}/brand/apply`, { ...(body && { body }) })
    expect(status).toBe(202)
    return until('the brand is applied', async () => {
      const { body: job } = await project.call('GET', `/jobs/${queued.jobId}`)
      return job.state === 'completed' && job.result
    })
  }

  test('changes templates as new versions and drafts, and nothing else; a dry run says what it would change', async () => {
    await setBrand({ colors: { primary: '#111111' } })
    const { body: template } = await create({ name: 'Branded', design: design(button('https://x.test')) })
    const own = { version: 1, settings: { theme: { colors: { primary: '#333333' } } }, content: [button('https://x.test')] }
    const { body: plain } = await create({ name: 'Plain', design: own })
    const { body: code } = await create({ name: 'Code', body: '<p>#111111</p>' })
    const content = { subject: 'S', from: `news@${project.domain}`, audienceType: 'ALL', design: design(button('https://x.test')) }
    const { body: draft } = await project.call('POST', '/campaigns', { name: 'Draft', ...content })
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString()
    const { body: planned } = await project.call('POST', '/campaigns', { name: 'Planned', ...content })
    await project.call('POST', `/campaigns/${planned.data.id}/send`, { scheduledFor })
    const read = async (path: string) => (await project.call('GET', path)).body
    const mine = (names: { name: string }[]) => names.map(({ name }) => name).filter((name) => /Branded|Plain|Draft|Planned/.test(name))

    await setBrand({ colors: { primary: '#222222' } })
    const would = await apply({ dryRun: true })
    expect([mine(would.changedTemplates), mine(would.changedCampaigns)]).toEqual([['Branded'], ['Draft']])
    expect((await read(`/templates/${template.id}`)).version).toBe(1)

    const did = await apply()
    expect([did.templates, did.campaigns, did.refused]).toEqual([would.templates, would.campaigns, 0])
    const changed = await read(`/templates/${template.id}`)
    expect([changed.version, changed.body.includes('#222222'), changed.design]).toEqual([2, true, template.design])
    expect((await read(`/templates/${template.id}/versions/1`)).body).toContain('#111111')
    expect((await read(`/templates/${plain.id}`)).version).toBe(1)
    expect((await read(`/templates/${code.id}`)).body).toBe('<p>#111111</p>')
    expect((await read(`/campaigns/${draft.data.id}`)).body).toContain('#222222')
    expect((await read(`/campaigns/${planned.data.id}`)).body).toContain('#111111')
    expect((await apply({ dryRun: true })).templates).toBe(0)
  })
})

test('a brand is checked, and members cannot change it', async () => {
  const answer = await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { brand: { colors: { primary: 'red' } } } })
  expect([outcome(answer), fields(answer)]).toEqual([[422, 'VALIDATION_ERROR'], ['brand.colors.primary']])
})
