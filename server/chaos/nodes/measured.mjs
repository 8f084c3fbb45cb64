import { appendFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { buildStale } from '../../../scripts/build.mjs'

// The product, measured from inside. On SIGUSR2 it appends its measurements since the last signal to METER_FILE.
process.setSourceMapsEnabled(true)
await buildStale()
const { start } = await import('../../dist/main.js')
const SAMPLE_MS = 10
const delay = monitorEventLoopDelay({ resolution: SAMPLE_MS })
const ms = (nanoseconds) => Math.round(nanoseconds / 1e6)
let peak = 0
process.on('SIGUSR2', () => {
  const line = { maxRss: peak, p99DelayMs: ms(delay.percentile(99)), maxDelayMs: ms(delay.max) }
  appendFileSync(process.env.METER_FILE, `${JSON.stringify(line)}\n`)
  delay.reset()
  peak = 0
})
await start(process.env).catch((err) => {
  process.stderr.write(`${err.message}\n`)
  process.exit(1)
})
delay.enable()
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
}, SAMPLE_MS).unref()
