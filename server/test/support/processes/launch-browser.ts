import sparticuz from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import { unpackBrowser } from './unpack-browser.ts'

/** A closing page must not end the browser, and the browser's own security must be on. */
const UNWANTED = ['--single-process', '--disable-web-security']

export async function launchBrowser(): Promise<Browser> {
  // Without WebGL, which no page uses: drawing by an emulated graphics card takes more time than the pages.
  sparticuz.setGraphicsMode = false
  const args = sparticuz.args.filter((arg) => !UNWANTED.includes(arg))
  return chromium.launch({ executablePath: unpackBrowser(), args: [...args, '--disable-gpu'] })
}
