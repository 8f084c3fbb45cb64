import { execFileSync, spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { keepSection } from '../server/chaos/sections.ts'

/**
 * Compares the CPU of two commits: `npm run bench:pairs -- <folder before> <folder after> <part> …`. Both folders are built checkouts with their
 * packages. One round runs the commit before, the commit after, and the commit after once more: the last two are a pair of the same commit,
 * and the spread of such pairs is what a difference must exceed.
 */
const { values, positionals } = parseArgs({ allowPositionals: true, options: { rounds: { type: 'string', default: '7' } } })
const [before, after, ...parts] = positionals
if (!before || !after || !parts.length) throw new Error('Usage: npm run bench:pairs -- <folder before> <folder after> <part> …')
const rounds = Number(values.rounds)

/** CPU µs by the name of the measured path. */
type Cpu = Map<string, number>
type Round = { before: Cpu; after: Cpu; again: Cpu }

const TITLE = `# Pairs of commits

CPU of two commits in alternating runs of \`npm run bench\`, in short. A path counts as slower only if the median of its pairs lies beyond every pair of the same
commit.
`
const QUICK_DRAIN = '0.2'

function runIn(folder: string): Cpu {
  const env = { ...process.env, BENCH_SCALE: process.env.BENCH_SCALE ?? QUICK_DRAIN }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', 'bench/run.ts', 'quick', ...parts], {
    cwd: folder,
    env,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  if (status !== 0) throw new Error(`The benchmark failed in ${folder}:\n${stderr.slice(-2_000)}`)
  return cpuOf(stdout)
}

/** Rows `| path | … | 154 µs | …` of requests, and `| name | …, 1176 µs CPU per email …` of single calls. */
function cpuOf(report: string): Cpu {
  const found: Cpu = new Map()
  for (const row of report.split('\n').filter((each) => each.startsWith('| '))) {
    const name = row.split(' | ')[0]!.slice(2)
    const micros = /([\d.]+) µs/.exec(row)?.[1]
    if (micros && !name.startsWith('floor') && !name.startsWith('of these')) found.set(name, Number(micros))
  }
  return found
}

const commitOf = (folder: string) => execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim()
const ratio = (numerator: number, denominator: number) => numerator / denominator
const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!
const shown = (numbers: number[]) =>
  numbers
    .toSorted((a, b) => a - b)
    .map((each) => each.toFixed(2))
    .join(' ')

function reportOf(measured: Round[]) {
  const names = [...measured[0]!.after.keys()].filter((name) => measured.every((round) => round.before.has(name) && round.again.has(name)))
  const rows = names.map((name) => {
    const pairs = measured.map((round) => ratio(round.after.get(name)!, round.before.get(name)!))
    const same = measured.map((round) => ratio(round.again.get(name)!, round.after.get(name)!))
    const verdict = median(pairs) > Math.max(...same.map((each) => Math.max(each, 1 / each))) ? '**slower**' : 'not slower'
    const cpu = (of: 'before' | 'after') => Math.round(median(measured.map((round) => round[of].get(name)!)))
    return `| ${name} | ${cpu('before')} µs | ${cpu('after')} µs | ${median(pairs).toFixed(2)} | ${shown(pairs)} | ${shown(same)} | ${verdict} |`
  })
  return [
    `${cpus()[0]!.model}, ${cpus().length} cores, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}.`,
    `${measured.length} rounds. CPU of the server and its PostgreSQL processes.`,
    [
      `| path | ${commitOf(before!)} | ${commitOf(after!)} | median of the ratios | ratios | ratios of ${commitOf(after!)} to itself | |`,
      '|---|---|---|---|---|---|---|',
      ...rows,
    ].join('\n'),
  ].join('\n\n')
}

const measured: Round[] = []
for (let round = 0; round < rounds; round++) {
  measured.push({ before: runIn(before), after: runIn(after), again: runIn(after) })
  console.log(`round ${round + 1} of ${rounds}`)
}
const report = reportOf(measured)
console.log(report)
keepSection(new URL('./pairs.md', import.meta.url), TITLE, `${parts.join(', ')}: ${commitOf(before)} and ${commitOf(after)}`, report)
