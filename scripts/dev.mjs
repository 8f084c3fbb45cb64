import { spawn } from 'node:child_process'

// The server restarts when its sources change; the dashboard reloads in the browser and proxies API requests to it.
const server = ['--import', 'tsx', '--watch-path=server/src', '--watch-preserve-output', 'server/scripts/dev.ts']
const parts = [
  spawn(process.execPath, server, { stdio: 'inherit' }),
  spawn('npm', ['run', '--silent', 'dev', '-w', 'dashboard'], { stdio: 'inherit' }),
]

const stopAll = (signal) => {
  for (const part of parts) part.kill(signal)
}
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stopAll(signal))
for (const part of parts) part.on('exit', () => stopAll('SIGTERM'))
