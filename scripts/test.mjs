import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** More failures than this are no coincidence. */
const MAX_REPEATED = 6

const folder = mkdtempSync(join(tmpdir(), 'sterna-run-'))
const list = join(folder, 'failed.json')
process.exitCode = runAll()
rmSync(folder, { recursive: true })

/**
 * Runs the tests. Files that failed run once more, alone: with two files, PostgreSQL and a browser on two cores, a test may exceed a time limit.
 * Tests with random input are not repeated: other input would hide the failure.
 */
function runAll() {
  const code = run(['--reporter=default', '--reporter=./scripts/failed-files.mjs', ...process.argv.slice(2)])
  const files = code === 0 ? [] : repeatable()
  if (!files.length) return code
  console.log(`\nThese files failed and run once more, alone:\n${files.join('\n')}\n`)
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
  const { files, others } = read()
  return others || files.length > MAX_REPEATED || files.some(({ isRandom }) => isRandom) ? [] : files.map(({ file }) => file)
}

/** Nothing when vitest ended before its report. */
function read() {
  try {
    return JSON.parse(readFileSync(list, 'utf8'))
  } catch {
    return { files: [], others: 1 }
  }
}
