/** Takes the pictures of the README, in light and dark: `npm run screenshots`. They are in docs/images. */
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { attachEmbedded } from '../../server/src/db/embedded/embedded.ts'
import { startNode } from '../../server/test/support/process.ts'
import { launchBrowser } from '../../server/test/support/processes/launch-browser.ts'
import { openPage, showPage, signUp } from '../test/support/browser.ts'
import { ageCampaign, seedShowcase } from './showcase.ts'

const OUT = join(import.meta.dirname, '../../docs/images')
const SCREEN = { viewport: { width: 1280, height: 760 }, deviceScaleFactor: 1.4 }

const data = mkdtempSync(join(tmpdir(), 'sterna-screenshots-'))
mkdirSync(OUT, { recursive: true })
const settings = { DATA_DIR: data, SANDBOX_DELIVERIES: 'true', RATE_LIMIT_PER_MINUTE: '0' }
const [sterna, browser] = await Promise.all([startNode(settings), launchBrowser()])
const errors: string[] = []
try {
  const setup = await openPage(browser, sterna.url, errors)
  const project = await signUp(setup, 'ada@fjord.example', 'Fjord Coffee')
  const { workflow, campaign } = await seedShowcase(setup, project)
  await ageCampaign((await attachEmbedded(data))!.url, campaign)
  const storageState = await setup.context().storageState()
  const pictures = { workflow: `workflows/${workflow}/live`, campaign: `campaigns/${campaign}` }
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await openPage(browser, sterna.url, errors, { ...SCREEN, colorScheme, storageState })
    for (const [name, path] of Object.entries(pictures)) {
      const file = join(OUT, `${name}-${colorScheme}.png`)
      await showPage(page, `/app/p/${project.id}/${path}`)
      await page.screenshot({ path: file })
      console.log(`${file}: ${Math.round(statSync(file).size / 1_000)} KB`)
    }
    await page.context().close()
  }
} finally {
  await browser.close()
  await sterna.stop()
  rmSync(data, { recursive: true, force: true })
}
if (errors.length > 0) throw new Error(errors.join('\n'))
