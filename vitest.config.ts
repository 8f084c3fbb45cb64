import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'
import './server/test/support/processes/native-sources.mjs'
import { explainedForks } from './server/test/support/processes/explained-forks.ts'
import { FEW_OPTIMIZATIONS } from './server/test/support/processes/few-optimizations.ts'

type Files = Parameters<BaseSequencer['sort']>[0]

/** Rough seconds of files by their folder, until a run has measured them: vitest keeps the times of the last run in node_modules. */
const ROUGHLY: [folder: string, seconds: number][] = [
  ['server/chaos/', 20],
  ['dashboard/test/pages', 90],
  ['dashboard/test/', 20],
  ['server/test/jobs/', 15],
  ['server/test/installation/', 12],
  ['server/test/http/', 10],
  ['server/test/delivery/', 8],
]
const OTHER_SECONDS = 3

const isJourney = (file: string) => file.includes('/dashboard/test/') || /\blaunchBrowser\b/.test(readFileSync(file, 'utf8'))
const isUnitTest = (file: string) => file.includes('/src/')

/**
 * Groups of files, which run one after the other. Those that share an app come together: it stops when no file uses it. So do journeys, which
 * share a browser; they come late, because the client of the browser makes every promise of its process more expensive from then on. Short
 * unit tests are last: they fill both cores until the last journey has ended.
 */
const GROUPS: ((file: string) => boolean)[] = [
  (file) => /\buse(SharedApp|Events)\(\)/.test(readFileSync(file, 'utf8')),
  (file) => !isJourney(file) && !isUnitTest(file),
  isJourney,
  isUnitTest,
]
const groupOf = ({ moduleId }: Files[number]) => GROUPS.findIndex((isIn) => isIn(moduleId))

/**
 * The longest files of each group first: one that begins last would run on with one core idle.
 * The crash tests slow each other down, so they are spread over the whole run.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: Files): Promise<Files> {
    const sorted = await super.sort(files)
    const isCrashTest = ({ moduleId }: Files[number]) => moduleId.includes('/chaos/')
    const crash = sorted.filter(isCrashTest)
    const seconds = new Map(files.map((file) => [file, this.secondsOf(file)]))
    const group = new Map(files.map((file) => [file, groupOf(file)]))
    const others = sorted
      .filter((file) => !isCrashTest(file))
      .toSorted((a, b) => group.get(a)! - group.get(b)! || seconds.get(b)! - seconds.get(a)!)
    const apart = others.reduce((sum, file) => sum + seconds.get(file)!, 0) / crash.length
    const spread: Files = []
    let [passed, placed] = [0, 0]
    for (const file of others) {
      if (placed < crash.length && passed >= placed * apart) spread.push(crash[placed++]!)
      spread.push(file)
      passed += seconds.get(file)!
    }
    return [...spread, ...crash.slice(placed)]
  }

  private secondsOf({ project, moduleId }: Files[number]) {
    const file = moduleId.slice(project.config.root.length + 1)
    const measured = this.ctx.cache.getFileTestResults(`${project.name}:${file}`)
    if (measured?.duration) return measured.duration / 1_000
    return ROUGHLY.find(([folder]) => file.startsWith(folder))?.[1] ?? OTHER_SECONDS
  }
}

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/**
 * In watch mode the test runner loads every source itself, to notice its changes, and threads run from the sources. In a single run Node
 * loads the server, the SDK and their tests, and threads run from the bundle that `scripts/build.mjs` makes before: both take less CPU.
 */
const isWatching = !process.argv.includes('run')
const LOADED_BY_NODE = /\/(server|sdk)\/(src|test|chaos)\/.*\.ts$/

export default defineConfig({
  // The SDK from its sources: its build is only for npm.
  test: {
    include: ['server/{src,test,chaos}/**/*.test.ts', 'sdk/test/**/*.test.ts', 'dashboard/{src,test}/**/*.test.{ts,tsx}'],
    globalSetup: ['scripts/build.mjs', 'server/test/support/postgres.ts', 'server/test/support/processes/unpack-browser.ts'],
    sequence: { sequencer: LongestFirst },
    // Pages of the dashboard load the client from its sources, as in dashboard/vite.config.ts: it is not built for tests.
    alias: { '@sterna/sdk': pathOf('sdk/src/index.ts') },
    env: isWatching ? {} : { TEST_BUNDLE: pathOf('server/dist') },
    server: { deps: { external: isWatching ? [] : [LOADED_BY_NODE] } },
    pool: explainedForks,
    testTimeout: 180_000,
    // A busy machine may take seconds for what takes a moment otherwise.
    expect: { poll: { timeout: 40_000 } },
    hookTimeout: 180_000,
    // For two cores: a file waits for timers and for the database a quarter of its time.
    maxWorkers: 4,
    // Servers and their answers are garbage soon: collecting it less often takes a twentieth less CPU.
    execArgv: [FEW_OPTIMIZATIONS, '--max-semi-space-size=64', '--import', pathOf('server/test/support/processes/native-sources.mjs')],
    // Every file works on a database of its own; reading the sources anew for each would take a sixth of the time of all tests.
    isolate: false,
  },
})
