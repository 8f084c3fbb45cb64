import { readFileSync } from 'node:fs'

const LOOK_MS = 500

/**
 * `npm start` forwards signals to its child, which is this process (`exec` in package.json), but a killed npm forwards nothing. npx and scripts
 * of others start a shell in between, which ends by a signal and forwards nothing either. Started by npm or npx, Sterna therefore stops when
 * its parent, or the npm above it, has ended; started otherwise it may outlive its parent.
 */
export function stopWithNpm() {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = '' } = process.env
  if (event === undefined || !/\bsterna\b|scripts\/(start|cli)\.mjs/.test(script)) return
  const parent = process.ppid
  const npm = npmAbove(parent)
  const watch = setInterval(() => {
    if (process.ppid === parent && (npm === undefined || parentOf(parent) === npm)) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, LOOK_MS)
  watch.unref()
  // Already stopping because of a signal: a second one would exit at once.
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      clearInterval(watch)
      if (process.listenerCount(signal) === 0) process.exit(1)
    })
  }
}

/** The npm that started the shell above this process. Only on Linux: the shell of macOS is replaced by the command that it runs. */
function npmAbove(shell) {
  const npm = parentOf(shell)
  try {
    return npm !== undefined && /^npm\b|\/np[mx]-cli\.js\b/.test(readFileSync(`/proc/${npm}/cmdline`, 'utf8')) ? npm : undefined
  } catch {
    return undefined
  }
}

function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Behind the name, which is in brackets and may contain anything: the state, then the parent.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}
