import type { Editor } from '@tiptap/core'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { showPage, visitPage } from './support/browser.ts'
import { findPageProblems } from './support/checks.ts'
import { button, fillAndSubmit, startDashboard, untilClosed } from './support/dashboard.ts'

const { openProject, takeErrors } = startDashboard()

type Node = { type: string; text?: string; attrs?: Record<string, unknown>; marks?: { type: string }[]; content?: Node[] }
const text = (words: string): Node => ({ type: 'text', text: words })
const paragraph = (id: string, words: string): Node => ({ type: 'paragraph', attrs: { id }, content: [text(words)] })

type WithEditor = HTMLElement & { editor: Editor }
const canvas = (page: Page) => page.getByRole('textbox', { name: 'Email content' })

function apiOf(page: Page, projectId: string) {
  const headers = { 'x-project-id': projectId }
  const { request } = page.context()
  return {
    post: async (path: string, data: object) => (await request.post(path, { data, headers })).json(),
    get: async (path: string) => (await request.get(path, { headers })).json(),
  }
}

/** A template with this design, open in the editor. */
async function openDesign(page: Page, projectId: string, content: Node[]) {
  const api = apiOf(page, projectId)
  const { id } = await api.post('/templates', { name: 'Design', subject: 'Hi', type: 'TRANSACTIONAL', design: { version: 1, content } })
  await page.goto(`/app/p/${projectId}/templates/${id}`)
  await canvas(page).waitFor()
  const save = async () => {
    await page.keyboard.press('Control+s')
    await page.getByText(/^Saved \d/).waitFor()
    return (await api.get(`/templates/${id}`)) as { body: string; design: { content: Node[] } | null }
  }
  return { save }
}

const shape = (nodes: Node[] = []): unknown[] =>
  nodes.map(({ type, text: words, attrs, content }) =>
    type === 'text' ? words : type === 'variable' ? `{${attrs!.path}}` : [type, ...shape(content)],
  )

/** As the clipboard of another program gives it. */
const paste = (page: Page, html: string) =>
  canvas(page).evaluate((element, pasted) => {
    const clipboardData = new DataTransfer()
    clipboardData.setData('text/html', pasted)
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
  }, html)

/** The editor takes the place of a click over in tasks of its own: a key before that would act at another place. */
async function clickInto(page: Page, words: string) {
  await canvas(page).getByText(words, { exact: true }).click()
  const place = () =>
    canvas(page).evaluate((element) => {
      const { isFocused, state } = (element as WithEditor).editor
      return isFocused && state.selection.$from.parent.textContent
    })
  await expect.poll(place).toBe(words)
}

/** Everything that would run, if the browser let it. */
const ATTACK = '<img src="x" onerror="window.attacked=1"><script>window.attacked=2</script><svg onload="window.attacked=3"></svg>'

describe('the editor of a design', () => {
  test('changes with a key at most three blocks of 150', async () => {
    const { page, project } = await openProject()
    await openDesign(
      page,
      project.id,
      Array.from({ length: 150 }, (_, at) => paragraph(`b${at}`, `Text ${at}`)),
    )
    await clickInto(page, 'Text 75')
    await page.keyboard.press('End')
    await canvas(page).evaluate((element) => {
      const changed = new Set<Element>()
      Object.assign(window, { changed })
      const note = (node: globalThis.Node) => {
        const own = node instanceof Element ? node : node.parentElement
        const block = own?.closest('[data-block]')
        if (block) changed.add(block)
      }
      new MutationObserver((records) => {
        for (const { target, addedNodes } of records) [target, ...addedNodes].forEach(note)
      }).observe(element, { subtree: true, childList: true, characterData: true, attributes: true })
    })
    await page.keyboard.type('abcdef')
    await canvas(page).getByText('Text 75abcdef').waitFor()
    const changed = await page.evaluate(() => (window as unknown as { changed: Set<Element> }).changed.size)
    expect(changed).toBeGreaterThan(0)
    expect(changed).toBeLessThanOrEqual(3)
  })

  test('cleans what is pasted, runs nothing of it, moves blocks by keyboard and in the list, and undoes', async () => {
    const { page, project } = await openProject()
    const { save } = await openDesign(page, project.id, [
      paragraph('first', 'First'),
      { type: 'html', attrs: { id: 'raw', source: ATTACK } },
      { type: 'button', attrs: { id: 'go', href: 'https://example.com/' }, content: [text('Go')] },
    ])
    await clickInto(page, 'First')
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await paste(
      page,
      `<b style="font-weight:normal" id="docs-internal-guid-1"><h1>Docs</h1><p><a href="javascript:window.attacked=4">bad</a> Hi {{ first&nbsp;name ?? "you" }}</p></b>${ATTACK}`,
    )
    await page.keyboard.press('Enter')
    await paste(
      page,
      '<p class=MsoListParagraph><span>·<span>&nbsp;&nbsp; </span></span>One</p><p class=MsoListParagraph><span>·<span>&nbsp; </span></span>Two<o:p></o:p></p>',
    )
    await clickInto(page, 'First')
    await page.keyboard.press('Alt+ArrowDown')
    // The list follows the canvas a moment later, and a click must not meet a line that moves away.
    const listed = () =>
      page
        .getByRole('list', { name: 'Blocks' })
        .locator('button:not([aria-label])')
        .evaluateAll((lines) => lines.map((line) => line.textContent))
    await expect.poll(async () => (await listed())[1]).toBe('Text: First')
    await page.getByRole('complementary').getByRole('button', { name: 'Button: Go', exact: true }).click()
    await button(page, 'Move up: Button: Go').click()
    await expect.poll(async () => (await listed()).slice(-2)).toEqual(['Button: Go', 'HTML'])
    await button(page, 'Duplicate: Button: Go').click()
    await expect.poll(async () => (await listed()).slice(-3)).toEqual(['Button: Go', 'Button: Go', 'HTML'])
    await button(page, 'Delete: Button: Go').click()

    expect(await page.evaluate(() => (window as unknown as { attacked?: number }).attacked)).toBeUndefined()
    const inside = await canvas(page).evaluate((element) => ({
      foreign: element.querySelectorAll('script,svg,iframe,style,[onerror],[onload],[onclick]').length,
      links: [...element.querySelectorAll('a')].map(({ href }) => href),
    }))
    expect(inside).toEqual({ foreign: 0, links: [] })
    const { design, body } = await save()
    expect(shape(design!.content)).toEqual([
      ['heading', 'Docs'],
      ['paragraph', 'First'],
      ['paragraph', 'bad Hi ', '{first name}'],
      ['bulletList', ['listItem', ['paragraph', 'One']], ['listItem', ['paragraph', 'Two']]],
      ['button', 'Go'],
      ['html'],
    ])
    expect(body).toContain(ATTACK)
    expect(await page.evaluate(() => (window as unknown as { attacked?: number }).attacked)).toBeUndefined()
    expect(await findPageProblems(page, 'design')).toEqual([])
    // Requests that the frame of the preview refused. Its document has no origin, and may load nothing of ours.
    expect(
      takeErrors().filter(
        (error) => !/^Blocked script execution in .*\/preview\/page\/|NotSameOrigin GET .*\/preview\/page\/x$/.test(error),
      ),
    ).toEqual([])

    await clickInto(page, 'First')
    await page.keyboard.press('Control+z')
    await expect.poll(async () => (await listed()).slice(-3)).toEqual(['Button: Go', 'Button: Go', 'HTML'])
    await page.getByText('Not saved', { exact: true }).waitFor()
    await page.keyboard.press('Control+Shift+z')
    await expect.poll(() => page.getByText('Not saved', { exact: true }).count()).toBe(0)
    await page.goto('about:blank')
    takeErrors()
  })

  test('takes pictures that are pasted and dropped, and moves a block by its handle', async () => {
    const { page, project } = await openProject()
    const { save } = await openDesign(page, project.id, [
      paragraph('one', 'First'),
      paragraph('two', 'Second'),
      paragraph('three', 'Third'),
    ])
    const picture = await pictureOf(page, 40, 20)
    /** As a clipboard or a file manager gives it. */
    const give = (kind: 'paste' | 'drop', name: string, at: { x: number; y: number }) =>
      canvas(page).evaluate(
        (element, [type, file, bytes, { x, y }]) => {
          const data = new DataTransfer()
          data.items.add(new File([Uint8Array.from(atob(bytes), (each) => each.charCodeAt(0))], file, { type: 'image/png' }))
          const common = { bubbles: true, cancelable: true }
          element.dispatchEvent(
            type === 'paste'
              ? new ClipboardEvent('paste', { clipboardData: data, ...common })
              : new DragEvent('drop', { dataTransfer: data, clientX: x, clientY: y, ...common }),
          )
        },
        [kind, name, picture, at] as const,
      )
    const images = canvas(page).locator('[data-block=image] img')
    await clickInto(page, 'First')
    await page.keyboard.press('End')
    await give('paste', 'our-team.png', { x: 0, y: 0 })
    await expect.poll(() => images.count()).toBe(1)
    const third = (await canvas(page).getByText('Third', { exact: true }).boundingBox())!
    await give('drop', 'IMG_2041.png', { x: third.x + 2, y: third.y + third.height - 2 })
    await expect.poll(() => images.count()).toBe(2)

    await canvas(page).getByText('First', { exact: true }).hover()
    const second = canvas(page).getByText('Second', { exact: true })
    const { width, height } = (await second.boundingBox())!
    await page.locator('button[title^="Drag to move"]').dragTo(second, { targetPosition: { x: width / 2, y: height - 1 } })
    const { design } = await save()
    expect(shape(design!.content)).toEqual([['image'], ['paragraph', 'Second'], ['paragraph', 'First'], ['paragraph', 'Third'], ['image']])
    expect(design!.content.filter(({ type }) => type === 'image').map(({ attrs }) => attrs!.alt)).toEqual(['our team', ''])
  })

  test('goes to code and back without loss, and says what it leaves behind', async () => {
    const { page, project } = await openProject()
    const { save } = await openDesign(page, project.id, [paragraph('one', 'Blocks'), { type: 'footer', attrs: { id: 'foot' } }])
    await button(page, 'Code').click()
    await button(page, 'Edit as HTML…').click()
    await button(page, 'Edit as HTML').click()
    await page.getByRole('textbox', { name: 'Body' }).waitFor()
    await button(page, 'Back to visual').click()
    await canvas(page).getByText('Blocks').waitFor()
    expect(await page.getByText('Not saved').count()).toBe(0)

    await button(page, 'Code').click()
    await button(page, 'Edit as HTML…').click()
    await button(page, 'Edit as HTML').click()
    await page.getByRole('textbox', { name: 'Body' }).click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('<!-- own -->')
    await button(page, 'Back to visual').click()
    await page.getByText('Your changes to the HTML are lost').waitFor()
    await button(page, 'Cancel').click()
    await page.getByRole('textbox', { name: 'Body' }).click()
    const code = await save()
    expect(code.design).toBeNull()
    expect(code.body).toMatch(/Blocks[\s\S]*<!-- own -->$/)

    await page.reload()
    await page.getByRole('textbox', { name: 'Body' }).waitFor()
    await button(page, 'Make it visual…').click()
    await button(page, 'Make it visual').click()
    await canvas(page).getByText('<!DOCTYPE html>', { exact: false }).waitFor()
    await canvas(page).click()
    const visual = await save()
    expect(visual.body).toBe(code.body)
    expect(visual.design!.content).toMatchObject([{ type: 'html', attrs: { source: code.body } }])
  })
})

/** A picture, made by the browser. */
const pictureOf = (page: Page, width: number, height: number) =>
  page.evaluate(
    ([w, h]) => {
      const element = document.createElement('canvas')
      Object.assign(element, { width: w, height: h })
      const context = element.getContext('2d')!
      context.fillStyle = '#0b6e82'
      context.fillRect(0, 0, w!, h!)
      return element.toDataURL('image/png').split(',')[1]!
    },
    [width, height],
  )

test('a newsletter with logo, picture, columns, button and variable is written, previewed on a phone, tested, sent and received', async () => {
  const { page, project } = await openProject()
  const api = apiOf(page, project.id)
  for (const [email, data] of [
    ['ada@example.com', { 'first name': 'Ada' }],
    ['bob@example.com', {}],
  ])
    await api.post('/contacts', { email, data, subscribed: true })
  await page.goto(`/app/p/${project.id}/settings/brand`)
  const file = async (name: string, width: number, height: number) => ({
    name,
    mimeType: 'image/png',
    buffer: Buffer.from(await pictureOf(page, width, height), 'base64'),
  })
  // From the start: a dialog that opens right after the browser was told to hand it over may be missed.
  const photo = await file('team-photo.png', 640, 240)
  page.on('filechooser', (chooser) => void chooser.setFiles(photo))
  await page.getByLabel('Logo file').setInputFiles(await file('logo.png', 280, 80))
  await page.getByRole('img', { name: 'Logo' }).waitFor()
  await fillAndSubmit(page, { Name: 'Acme Inc.', 'Postal address': 'Main Street 1\n8000 Zurich' }, 'Save')
  await page.getByText(/^Saved \d/).waitFor()

  await page.goto(`/app/p/${project.id}/campaigns`)
  await button(page, 'Write your first campaign').click()
  await fillAndSubmit(page, { Name: 'May' }, 'Create draft')
  await page.getByLabel('Everyone').check()
  await page.getByLabel('Subject', { exact: true }).fill('News from May')
  await canvas(page).getByText('Write your email here.').click()
  await page.keyboard.press('Home')
  await page.keyboard.press('Shift+End')
  await page.keyboard.type('Dear {{ fir')
  await page.getByRole('option', { name: /^first name/ }).click()
  await fillAndSubmit(page, { Fallback: 'friend' }, 'Insert')
  await untilClosed(page, 'dialog')
  await expect.poll(() => canvas(page).evaluate((element) => element.contains(document.activeElement))).toBe(true)
  await page.keyboard.press('Enter')
  await page.keyboard.type('/pict')
  await page.getByRole('option', { name: /^Picture/ }).waitFor()
  await page.keyboard.press('Enter')
  await canvas(page).locator('[data-block=image] img').nth(1).waitFor()
  await page.getByLabel('Alternative text').fill('Our team')
  await button(page, 'Add a block').click()
  await page.getByRole('menuitem', { name: /^Two columns/ }).click()
  await page.keyboard.type('Left column')
  await canvas(page).locator('[data-column]').nth(1).click()
  await page.keyboard.type('Right column')
  await page.keyboard.press('Enter')
  await page.keyboard.type('/butt')
  await page.getByRole('option', { name: /^Button/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('textbox', { name: 'Link' }).fill('https://acme.example/may')
  await page.getByText(/^Saved \d/).waitFor()

  await button(page, 'Phone').click()
  const preview = page.frameLocator('iframe[title="Preview of the email"]')
  await preview.getByText('Right column').waitFor()
  const place = async (words: string) => (await preview.getByText(words).boundingBox())!
  const [left, right] = [await place('Left column'), await place('Right column')]
  expect(right.y).toBeGreaterThan(left.y)
  expect(Math.abs(right.x - left.x)).toBeLessThan(2)
  expect(await findPageProblems(page, 'composer')).toEqual([])

  await button(page, 'Send test…').click()
  await button(page, 'Send test').click()
  await page
    .getByText(/A test is on its way/)
    .first()
    .waitFor()
  await button(page, 'Send to 2 people').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send to 2 people' }).click()
  await button(page, 'Send now').click()
  await page.getByRole('link', { name: '2 sent' }).waitFor()

  await page.goto(`/app/p/${project.id}/sandbox?q=bob`)
  await page.getByText('News from May').first().click()
  await button(page, 'Show remote images').click()
  const received = page.frameLocator('iframe')
  await received.getByText('Dear friend').waitFor()
  await received.getByRole('link', { name: 'Read more' }).waitFor()
  await received.getByText('8000 Zurich').waitFor()
  await expect
    .poll(() => received.locator('img[width]').evaluateAll((images) => images.map((image) => (image as HTMLImageElement).naturalWidth)))
    .toEqual([280, 640])
  // Remote pictures are blocked until they are asked for.
  expect(takeErrors().filter((error) => !/img-src data:|^csp GET .*\/uploads\//.test(error))).toEqual([])
  if (process.env.SCREENSHOT_DIR) await page.screenshot({ path: `${process.env.SCREENSHOT_DIR}/received.png` })
})

test('nothing of a project, a brand or a contact runs in the dashboard, in previews or on the pages for recipients', async () => {
  const { page, project } = await openProject()
  const ran: string[] = []
  await page.context().exposeBinding('attack', ({ frame }, place: string) => void ran.push(`${place} in ${frame.url()}`))
  const attack = (place: string) => `"><img src=x onerror=attack('${place}')><script>attack('${place}')</script>`
  const viewer = await page.context().newPage()
  await viewer.setContent(attack('nowhere'))
  await expect.poll(() => ran.length).toBeGreaterThan(0)
  ran.length = 0

  const headers = { 'x-project-id': project.id }
  const brand = {
    logoUrl: 'https://cdn.example/"onerror="attack(1)"x=".png',
    footer: {
      name: attack('brand'),
      address: `</td>${attack('address')}`,
      links: [{ label: attack('link'), href: 'https://example.com/\'onclick=\'attack(1)\'"onclick="attack(1)"' }],
    },
  }
  const changed = await page
    .context()
    .request.patch(`/users/@me/projects/${project.id}`, { data: { name: attack('name'), brand }, headers })
  expect([changed.status(), await changed.text()]).toEqual([200, expect.any(String)])
  const api = apiOf(page, project.id)
  const { id: contactId } = await api.post('/contacts', { email: 'ada@example.com', data: { name: attack('contact') }, subscribed: true })
  const content = [paragraph('p', 'Hi {{ name }}'), { type: 'footer', attrs: { id: 'f' } }]
  const template = { name: attack('template'), subject: attack('subject'), type: 'MARKETING', design: { version: 1, content } }
  const { id: templateId } = await api.post('/templates', template)
  const { html } = await api.post('/templates/preview', {
    subject: 'S',
    body: '{{ unsubscribeUrl }} {{ subscribeUrl }} {{ manageUrl }}',
    contactId,
  })
  const hosted = [...(html as string).matchAll(/https?:[^\s"<]+\/(?:unsubscribe|subscribe|manage)\/[^\s"<]+/g)].map(([url]) => url)
  expect(hosted.length).toBeGreaterThanOrEqual(3)

  const own = (path: string) => `/app/p/${project.id}${path}`
  const pages = ['', '/settings', '/settings/brand', '/templates', `/templates/${templateId}?as=${contactId}`, `/contacts/${contactId}`]
  await showPage(viewer, own(''))
  for (const url of [...pages.map(own), ...new Set(hosted)]) {
    await (url.startsWith('/') ? visitPage(viewer, url) : viewer.goto(url))
    expect(await viewer.evaluate(() => document.querySelectorAll('[onerror],[onclick],main script').length), url).toBe(0)
  }
  await viewer.goto('about:blank')
  await viewer.close()
  expect(ran).toEqual([])
  // The picture of the brand does not exist.
  expect(takeErrors().filter((error) => !/cdn\.example/.test(error))).toEqual([])
})

describe('the HTML of a design in a browser', () => {
  /** As mail systems change it: without style blocks and comments, and with white space between all tags. */
  const mangled = (html: string) =>
    html
      .replace(/<!--[\s\S]*?-->/g, '')
      .replace(/<style[\s\S]*?<\/style>/g, '')
      .replaceAll('><', '>\n    <')
  const columns = (id: string, stack: boolean, widths?: number[]): Node => ({
    type: 'columns',
    attrs: { id, stack, ...(widths && { widths }) },
    content: ['left', 'right'].map((side) => ({ type: 'column', content: [paragraph(`${id}-${side}`, `${id} ${side}`)] })),
  })

  test('has its columns where they belong, at 600 and 375 pixels, also after mail systems changed it', async () => {
    const { page, project } = await openProject()
    const design = { version: 1, content: [columns('stacked', true), columns('uneven', true, [0.33, 0.67]), columns('fixed', false)] }
    const { html } = (await apiOf(page, project.id).post('/designs/render', { design })) as { html: string }
    const viewer = await page.context().newPage()
    const placesAt = async (width: number, shown: string) => {
      await viewer.setViewportSize({ width, height: 800 })
      await viewer.setContent(shown)
      const place = async (words: string) => (await viewer.getByText(words, { exact: true }).boundingBox())!
      const pairs = ['stacked', 'uneven', 'fixed'].map(async (id) => {
        const [left, right] = [await place(`${id} left`), await place(`${id} right`)]
        return [id, Math.abs(left.y - right.y) < 2 ? 'beside' : right.y > left.y && Math.abs(left.x - right.x) < 2 ? 'below' : 'astray']
      })
      const overflow = await viewer.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      return { ...Object.fromEntries(await Promise.all(pairs)), overflow }
    }
    for (const shown of [html, mangled(html)]) {
      expect(await placesAt(600, shown)).toEqual({ stacked: 'beside', uneven: 'beside', fixed: 'beside', overflow: 0 })
      expect(await placesAt(375, shown)).toEqual({ stacked: 'below', uneven: 'below', fixed: 'beside', overflow: 0 })
    }
    await viewer.close()
  })

  test('can be read in every starter, in light and dark', async () => {
    const { page, project } = await openProject()
    const starters = (await apiOf(page, project.id).get('/designs/starters')) as { key: string; html: string }[]
    const viewer = await page.context().newPage()
    const worst: Record<string, number> = {}
    for (const colorScheme of ['light', 'dark'] as const) {
      await viewer.emulateMedia({ colorScheme })
      for (const { key, html } of starters) {
        await viewer.setContent(html)
        worst[`${key} ${colorScheme}`] = await viewer.evaluate(lowestContrast)
      }
    }
    await viewer.close()
    expect(Object.entries(worst).filter(([, contrast]) => contrast < 4.5)).toEqual([])
    expect(Object.keys(worst)).toHaveLength(24)
  })
})

/** The lowest contrast of a text in the page against the nearest background behind it. Runs in the browser. */
function lowestContrast(): number {
  const channels = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number)
  const luminance = (color: string) => {
    const [red, green, blue] = channels(color).map((value) => {
      const share = value / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    }) as [number, number, number]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const backgroundOf = (element: Element | null): string => {
    if (!element) return 'rgb(255, 255, 255)'
    const color = getComputedStyle(element).backgroundColor
    return channels(color)[3] === 0 ? backgroundOf(element.parentElement) : color
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  let lowest = 21
  while (texts.nextNode()) {
    const own = texts.currentNode.parentElement!
    if (!texts.currentNode.textContent!.trim() || own.getClientRects().length === 0) continue
    const [text, background] = [luminance(getComputedStyle(own).color), luminance(backgroundOf(own))]
    lowest = Math.min(lowest, (Math.max(text, background) + 0.05) / (Math.min(text, background) + 0.05))
  }
  return lowest
}
