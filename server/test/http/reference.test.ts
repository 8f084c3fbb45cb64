import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startSterna } from '../support/process.ts'
import { launchBrowser } from '../support/processes/launch-browser.ts'

const PASSWORD = 'four unrelated words'
const document: { paths: Record<string, object>; webhooks: Record<string, object> } = JSON.parse(
  readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'),
)

let sterna: Awaited<ReturnType<typeof startSterna>>
let browser: Browser
/** One page for all tests: loading it takes seconds. */
let page: Page
let request: BrowserContext['request']
/** Console errors, violations of the policy of the page, failed requests, and requests to other hosts. */
const problems: string[] = []

beforeAll(async () => {
  browser = await launchBrowser()
  sterna = await startSterna()
  await openPage()
})
afterEach(() => expect(problems.splice(0)).toEqual([]))
afterAll(async () => {
  await browser?.close()
  await sterna?.stop()
})

async function openPage() {
  const context = await browser.newContext({ baseURL: sterna.url, reducedMotion: 'reduce' })
  context.setDefaultTimeout(30_000)
  request = context.request
  page = await context.newPage()
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text())
  })
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (origin !== sterna.url && protocol !== 'data:') problems.push(`foreign: ${request.url()}`)
  })
  page.on('requestfailed', (request) => problems.push(`failed: ${request.url()}`))
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()}: ${response.url()}`)
  })
  await showPage()
}

async function showPage() {
  await page.goto('/docs')
  await operations().first().waitFor()
}

const operations = () => page.locator('.opblock')
const operationsInSight = () =>
  operations().evaluateAll((blocks) =>
    blocks.map((block) => {
      const [, method] = /opblock-(get|post|put|patch|delete)/.exec(block.className) ?? []
      return `${method} ${block.querySelector('[data-path]')?.getAttribute('data-path')}`
    }),
  )
const operation = (method: string, path: string) => page.locator(`.opblock-${method}`, { has: page.locator(`[data-path="${path}"]`) })

/** By half a screen; at the end, back to the top. */
const scrollOn = () =>
  page.evaluate(`
    const isEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 1
    scrollTo(0, isEnd ? 0 : scrollY + innerHeight / 2)
  `)

const search = (words: string) => page.getByLabel('Search operations').fill(words)

/** Finds an operation, calls it, and returns the status and body that the page shows. */
async function tryOut(name: string, method: string, path: string) {
  const before = (await operationsInSight()).join()
  await search(name)
  // Until the search is applied: it would close an operation that is opened before.
  const isApplied = (inSight: string[]) => inSight.includes(`${method} ${path}`) && inSight.join() !== before
  await expect.poll(async () => isApplied(await operationsInSight())).toBe(true)
  const block = operation(method, path)
  await block.locator('.opblock-summary-control').click()
  await block.getByRole('button', { name: 'Execute' }).click()
  const response = block.locator('.live-responses-table .response')
  await response.waitFor()
  return { status: await response.locator('.response-col_status').innerText(), text: await response.innerText() }
}

/** What axe finds serious or critical, such as text that is hard to read or a field without a name. */
async function seriousViolations() {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  return serious.map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 160)}`)
}

describe('the page', () => {
  test('shows every operation and webhook to a reader who scrolls, from its own origin only, without an error', async () => {
    const all = Object.entries({ ...document.paths, ...document.webhooks }).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    )
    // The page makes only the operations that can be seen.
    const seen = new Set<string>()
    await expect
      .poll(
        async () => {
          for (const each of await operationsInSight()) seen.add(each)
          await scrollOn()
          return [...seen].sort()
        },
        { interval: 20 },
      )
      .toEqual(all.sort())
    expect(await page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe('/sign-in')
  })

  test('finds operations by the words of their name, path, method and section', async () => {
    const found = async (words: string, expected: string[]) => {
      await search(words)
      await expect.poll(async () => (await operationsInSight()).sort()).toEqual(expected)
    }
    await found('v1 send an email', ['post /v1/send'])
    await found('  POST    lookup ', ['post /contacts/lookup'])
    await found('templates duplicate', ['post /templates/{id}/duplicate'])
    await found('no such operation', [])
    await found('webhooks bounced', ['post email.bounce'])
  })

  test('calls the API with a key, which is not stored', async () => {
    await request.post('/auth/signup', { data: { email: 'grace@example.com', password: PASSWORD } })
    const { secret } = await (await request.post('/users/@me/projects', { data: { name: 'Keys' } })).json()
    await request.post('/contacts', { data: { email: 'by-key@example.com' }, headers: { authorization: `Bearer ${secret}` } })
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Authorize' }).first().click()
    const dialog = page.locator('.auth-container', { hasText: 'secretKey' })
    await dialog.getByRole('textbox').fill(secret)
    await dialog.getByRole('button', { name: 'Apply credentials' }).click()
    await page.getByRole('button', { name: 'Close' }).first().click()
    const answer = await tryOut('list contacts', 'get', '/contacts')
    expect(answer.status).toContain('200')
    expect(answer.text).toContain('by-key@example.com')
    const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
    expect(stored).not.toContain(secret)
  })

  test('calls the API for the project that the signed-in user chooses', async () => {
    await request.post('/auth/signup', { data: { email: 'ada@example.com', password: PASSWORD } })
    for (const name of ['First', 'Second']) {
      const project = await (await request.post('/users/@me/projects', { data: { name } })).json()
      await request.post('/contacts', { data: { email: `${name}@example.com` }, headers: { 'x-project-id': project.id } })
    }
    await showPage()
    await page.getByLabel('Try requests out in').selectOption('Second')
    const answer = await tryOut('list contacts', 'get', '/contacts')
    expect(answer.status).toContain('200')
    expect(answer.text).toContain('second@example.com')
    expect(answer.text).not.toContain('first@example.com')
    expect(page.url()).toMatch(/\?project=[0-9a-f-]{36}#\/Contacts\/getContacts$/)
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await seriousViolations()).toEqual([])
  })
})

describe('its files', () => {
  test('are compressed and cached for as long as their URL has their version', async () => {
    const html = await (await fetch(`${sterna.url}/docs`)).text()
    const urls = [...html.matchAll(/(?:src|href)="(\/docs\/[^"]+)"/g)].map(([, url]) => url!)
    expect(urls).toHaveLength(4)
    for (const url of urls) {
      const response = await fetch(sterna.url + url)
      expect([url, response.status, response.headers.get('content-encoding')]).toEqual([url, 200, 'gzip'])
      expect(response.headers.get('cache-control')).toContain('immutable')
      expect(url).toMatch(/\?v=[0-9a-f]{12}$/)
    }
  })

  test.each(['/docs/unknown.js', '/docs/..%2fpackage.json', '/docs/constructor'])('do not include %s', async (path) => {
    expect((await fetch(sterna.url + path)).status).toBe(404)
  })
})

test('the policy of the page allows its own origin only, and no inline script', async () => {
  const policy = (await fetch(`${sterna.url}/docs`)).headers.get('content-security-policy')!
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self';")
  expect(policy).toContain("connect-src 'self';")
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval/)
})
