import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'
import { explainedForks } from './server/test/support/processes/explained-forks.ts'

type Files = Parameters<BaseSequencer['sort']>[0]

/** Rough seconds of the files that take longest. A wrong number costs time and nothing else; files that are not listed take a few seconds. */
const SECONDS: Record<string, number> = {
  'dashboard/test/pages': 45,
  'dashboard/test/campaigns': 30,
  'dashboard/test/contacts': 25,
  'dashboard/test/workflows': 25,
  'dashboard/test/dashboard': 20,
  'dashboard/test/emails': 20,
  'dashboard/test/figures': 20,
  'dashboard/test/lists': 15,
  'dashboard/test/first-steps': 10,
  'dashboard/test/templates': 10,
  'server/test/jobs/jobs': 70,
  'server/test/installation/nodes': 60,
  'server/test/installation/embedded-postgres': 60,
  'server/test/http/bad-input': 40,
  'server/test/http/reference': 30,
  'server/test/http/documented-answers': 25,
  'server/test/installation/cli': 25,
  'server/test/contacts/import-csv': 20,
  'server/test/delivery/transports/relay': 20,
  'server/test/delivery/shutdown': 20,
  'server/test/http/auth-matrix': 20,
  'server/test/opens-clicks/opens-clicks': 20,
  'server/test/contacts/fields': 15,
  'server/test/contacts/import-upload': 15,
  'server/test/delivery/claim': 15,
  'server/test/delivery/refusals': 15,
  'server/test/delivery/transports/ses': 15,
  'server/test/delivery/transports/smtp-transport': 15,
  'server/test/delivery/transports/transport': 15,
  'server/test/inbound/listener': 15,
  'server/test/inbound/reports': 15,
  'server/test/installation/liveness': 15,
  'server/test/segments/tracked-membership': 15,
  'server/test/uploads/uploads': 15,
  'server/test/billing/caps': 10,
  'server/test/campaigns/sending': 10,
  'server/test/delivery/crashes': 10,
  'server/test/delivery/transports/ses-notifications': 10,
  'server/test/domains/schedule': 10,
  'server/test/http/neighbours': 10,
  'server/test/preferences/unsubscribing': 10,
  'server/test/segments/random-histories': 10,
  'server/test/workflows/edges': 10,
}
const OTHER_SECONDS = 3
const secondsOf = ({ project, moduleId }: Files[number]) =>
  SECONDS[moduleId.slice(project.config.root.length + 1).replace(/\.test\.tsx?$/, '')] ?? OTHER_SECONDS

/**
 * The longest files first: one that begins last would run on with one core idle. Before them those with a browser, one after the other:
 * they share it. The crash tests take a minute each and slow each other down, so they are spread over the whole run.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: Files): Promise<Files> {
    const sorted = await super.sort(files)
    const isCrashTest = ({ moduleId }: Files[number]) => moduleId.includes('/chaos/')
    const crash = sorted.filter(isCrashTest)
    const sharesBrowser = ({ moduleId }: Files[number]) => Number(moduleId.includes('/dashboard/test/'))
    const others = sorted
      .filter((file) => !isCrashTest(file))
      .toSorted((a, b) => sharesBrowser(b) - sharesBrowser(a) || secondsOf(b) - secondsOf(a))
    const apart = others.reduce((sum, file) => sum + secondsOf(file), 0) / crash.length
    const order: Files = []
    let [seconds, placed] = [0, 0]
    for (const file of others) {
      if (placed < crash.length && seconds >= placed * apart) order.push(crash[placed++]!)
      order.push(file)
      seconds += secondsOf(file)
    }
    return [...order, ...crash.slice(placed)]
  }
}

/** `scripts/build.mjs` builds it before the tests. In watch mode it would go stale, so threads run from the sources there. */
const bundle = process.argv.includes('run') ? { TEST_BUNDLE: fileURLToPath(new URL('server/dist', import.meta.url)) } : {}

export default defineConfig({
  test: {
    include: ['server/{src,test,chaos}/**/*.test.ts', 'sdk/test/**/*.test.ts', 'dashboard/{src,test}/**/*.test.{ts,tsx}'],
    globalSetup: ['scripts/build.mjs', 'server/test/support/postgres.ts'],
    sequence: { sequencer: LongestFirst },
    env: bundle,
    pool: explainedForks,
    testTimeout: 180_000,
    // A busy machine may take seconds for what takes a moment otherwise.
    expect: { poll: { timeout: 40_000 } },
    hookTimeout: 180_000,
    // Two cores: more files at once only makes each of them slower and their timings noisier.
    maxWorkers: 2,
    // Every file works on a database of its own; reading the sources anew for each would take a sixth of the time of all tests.
    isolate: false,
  },
})
