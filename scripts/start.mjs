import { buildStale } from './build.mjs'

process.setSourceMapsEnabled(true)
await buildStale()
const { start } = await import('../server/dist/main.js')
try {
  await start(process.env)
} catch (err) {
  // A mistake in the configuration is told in plain words; everything else with its stack.
  console.error(err?.constructor?.name === 'ConfigError' ? `\n${err.message}\n` : err)
  process.exit(1)
}
