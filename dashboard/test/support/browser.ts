import sparticuz from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

export const PASSWORD = 'four unrelated words'
export const PHONE = { viewport: { width: 375, height: 812 } }

export async function launchBrowser(): Promise<Browser> {
  // A closing page must not end the browser, and the browser's own security must be on.
  const args = sparticuz.args.filter((arg) => !['--single-process', '--disable-web-security'].includes(arg))
  return chromium.launch({ executablePath: await sparticuz.executablePath(), args: [...args, '--no-sandbox'] })
}

/** `errors` gets exceptions, console errors and violations of the content security policy of the page. */
export async function openPage(browser: Browser, baseURL: string, errors: string[], options: BrowserContextOptions = {}): Promise<Page> {
  const permissions = ['clipboard-read', 'clipboard-write']
  const context = await browser.newContext({ baseURL, reducedMotion: 'reduce', permissions, ...options })
  context.setDefaultTimeout(10_000)
  const page = await context.newPage()
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    // The browser reports every 4xx response as an error; some of them are expected here.
    if (message.type() === 'error' && !message.text().includes('the server responded with a status of 4')) errors.push(message.text())
  })
  return page
}

/** Signs up and creates a project through the API. The cookie stays in the browser of the page. */
export async function signUp(page: Page, email: string, name = 'Acme') {
  const { request } = page.context()
  await request.post('/auth/signup', { data: { email, password: PASSWORD } })
  return (await (await request.post('/users/@me/projects', { data: { name } })).json()) as { id: string; public: string; secret: string }
}

/** Opens a page and waits until nothing on it loads any more. */
export async function showPage(page: Page, path: string) {
  await page.goto(path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForFunction(() => {
    const statuses = [...document.querySelectorAll('[role=status]')]
    return !document.querySelector('[aria-busy=true]') && !statuses.some(({ textContent }) => textContent?.trim() === 'Loading…')
  })
}
