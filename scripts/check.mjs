import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** Two checks run at a time as it is, and several threads work out the same types. */
const ONE_THREAD = ['--singleThreaded']
/** The compiler is a Go program: with five times its heap before it collects garbage it takes two thirds of the CPU, and 1.4 GB. */
const ENV = { ...process.env, GOGC: '400' }

/** Checks of `npm test` besides the tests, longest first. One after the other, a core would be idle for half of the time. */
const CHECKS = [
  // The tests would build it anyway.
  ['build', process.execPath, 'scripts/build.mjs'],
  ['unused code', 'knip'],
  ['types of the server', 'tsc', '-p', 'server', ...ONE_THREAD],
  ['lint', 'biome', 'check', '.'],
  ['types of the dashboard', 'tsc', '-p', 'dashboard', ...ONE_THREAD],
  ['types of the SDK', 'tsc', '-p', 'sdk', ...ONE_THREAD],
]

const waiting = [...CHECKS]
await Promise.all(Array.from({ length: Math.min(availableParallelism(), CHECKS.length) }, runWaiting))

async function runWaiting() {
  for (let check = waiting.shift(); check; check = waiting.shift()) {
    const [name, command, ...args] = check
    const { code, output } = await run(command, args)
    if (code === 0) continue
    console.error(`${name} failed:\n${output}`)
    process.exitCode = 1
  }
}

/** npm, which runs this script, finds the commands of the packages. */
function run(command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: ENV })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  return new Promise((resolve) => {
    child.once('error', (err) => resolve({ code: 1, output: err.message }))
    child.once('close', (code) => resolve({ code, output }))
  })
}
