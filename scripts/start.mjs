import { buildStale } from './build.mjs'

stopWithNpm()
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

/**
 * npm passes signals on to its child, which is this process (`exec` in package.json: a shell in between would keep them), but a killed npm
 * passes nothing on. Started by `npm start`, Sterna therefore stops when its parent is gone; started otherwise it may outlive its parent.
 */
function stopWithNpm() {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script } = process.env
  if (event !== 'start' || !script?.includes('scripts/start.mjs')) return
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 500)
  watch.unref()
  // Stopping already, by a signal of its own: one more would end it at once.
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      clearInterval(watch)
      if (process.listenerCount(signal) === 0) process.exit(1)
    })
  }
}
