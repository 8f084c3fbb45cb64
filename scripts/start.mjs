import { buildStale } from './build.mjs'

stopWithNpm()
await buildStale()
await import('./serve.mjs')

/**
 * npm forwards signals to its child, which is this process (`exec` in package.json: a shell in between would swallow them), but a killed npm
 * forwards nothing. Started by `npm start`, Sterna therefore stops when its parent has ended; started otherwise it may outlive its parent.
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
  // Already stopping because of a signal: a second one would exit at once.
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      clearInterval(watch)
      if (process.listenerCount(signal) === 0) process.exit(1)
    })
  }
}
