import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** More failures than this are no coincidence. */
const MAX_REPEATED = 6
const repeated = []

/** Second runs of files on this machine, and the number of runs they are from. */
const HISTORY = 'node_modules/.cache/sterna/second-runs.json'

const folder = mkdtempSync(join(tmpdir(), 'sterna-run-'))
const list = join(folder, 'failed.json')
process.exitCode = runAll()
rmSync(folder, { recursive: true })
report()

/**
 * Runs the tests. Files that failed run once more, alone: with two files, PostgreSQL and a browser on two cores, a test may exceed a time limit.
 * Tests with random input are not repeated: other input would hide the failure.
 */
function runAll() {
  const code = run(['--reporter=default', '--reporter=./scripts/failed-files.mjs', ...process.argv.slice(2)])
  const files = code === 0 ? [] : repeatable()
  if (!files.length) return code
  console.log(`\nThese files failed and run once more, alone:\n${files.join('\n')}\n`)
  repeated.push(...files)
  if (run(['--no-file-parallelism', ...files]) !== 0) return 1
  console.log(
    `\nPassed alone, after a failure beside other files (above). Please mend the tests, they depend on the machine:\n${files.join('\n')}\n`,
  )
  return 0
}

/** npm, which runs this script, finds the command. */
function run(args) {
  return spawnSync('vitest', ['run', ...args], { stdio: 'inherit', env: { ...process.env, FAILED_FILES: list } }).status ?? 1
}

function repeatable() {
  const { files, others } = read(list) ?? { files: [], others: 1 }
  return others || files.length > MAX_REPEATED || files.some(({ isRandom }) => isRandom) ? [] : files.map(({ file }) => file)
}

/** A file that needs a second run now and then is to be mended, though each single run ends well. */
function report() {
  const { runs = 0, files = {} } = read(HISTORY) ?? {}
  for (const file of repeated) files[file] = (files[file] ?? 0) + 1
  mkdirSync(dirname(HISTORY), { recursive: true })
  writeFileSync(HISTORY, JSON.stringify({ runs: runs + 1, files }))
  const counts = Object.entries(files).map(([file, count]) => `\n${count} × ${file}`)
  console.log(`The tests took ${Math.round(performance.now() / 1_000)} s. Second runs in ${runs + 1} runs: ${counts.join('') || 'none'}`)
}

/** Nothing when there is none, as when vitest ended before its report. */
function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
