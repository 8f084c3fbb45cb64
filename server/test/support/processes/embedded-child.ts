import { attachEmbedded, startEmbedded } from '../../../src/db/embedded/embedded.ts'
import type { Embedded } from '../../../src/db/embedded/supervise.ts'

/**
 * The process that embedded-postgres.test.ts runs: `start` or `attach`, then the DATA_DIR. Writes events as lines of JSON, stops on
 * SIGTERM, aborts on SIGUSR2, and ends only when nothing keeps it alive.
 */
const [command, dataDir = ''] = process.argv.slice(2)
const say = (event: string, detail: unknown) => process.stdout.write(`${JSON.stringify({ event, detail })}\n`)
const logAs = (level: string) => (fields: object, message: string) => say('log', { level, message, ...fields })
const stopping = new AbortController()
let embedded: Embedded | undefined

process.once('SIGTERM', async () => {
  stopping.abort()
  await embedded?.stop()
  say('stopped', null)
})
process.once('SIGUSR2', () => {
  embedded?.abort()
  process.exit()
})

try {
  if (command === 'attach') {
    say('attached', await attachEmbedded(dataDir))
  } else {
    const log = { info: logAs('info'), warn: logAs('warn'), error: logAs('error') }
    embedded = await startEmbedded({ dataDir, log, signal: stopping.signal })
    say('up', embedded.url)
  }
} catch (err) {
  say('refused', (err as Error).message)
}
