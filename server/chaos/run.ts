import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { readSeed } from './random.ts'
import { trackUnderFaults } from './track.ts'

const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: '100' },
    // How long they may take.
    minutes: { type: 'string', default: '15' },
  },
})
const faults = Number(values.faults)
const seed = readSeed()
console.log(`SEED=${seed} npm run chaos -- --faults ${faults}`)
const run = await trackUnderFaults({ seed, faults, calmMs: 3_000, withinMs: Number(values.minutes) * 60_000, say: console.log })
const report = printReport()
console.log(report)
writeFileSync(new URL('./results.md', import.meta.url), report)
process.exitCode = run.problems.length ? 1 : 0

function printReport() {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  const upSeconds = run.seconds - run.outagesMs / 1_000
  const rows: [string, string | number][] = [
    ['faults', faults],
    ...Object.entries(run.injected).map(([kind, count]): [string, number] => [`· ${kind}`, count]),
    ['requests, each with a key of its own', run.calls],
    ['of them per second', `${Math.round(run.calls / run.seconds)}; outages left out, ${Math.round(run.calls / upSeconds)}`],
    ['acknowledged', run.acknowledged],
    ['retried', run.retriedCalls],
    ['never acknowledged: the client gave up', run.calls - run.acknowledged],
    ['lost', run.lost],
    ['duplicates', run.duplicates],
    ['longest time in which nobody was answered', seconds(run.longestSilenceMs)],
    ['longest time a client tried until it was acknowledged', seconds(run.longestWaitMs)],
    ['problems', run.problems.length],
  ]
  return `# Results of the long crash test

${cpus()[0]!.model}, ${cpus().length} cores, Node ${process.versions.node}, commit ${commit}, ${new Date().toISOString().slice(0, 10)}.
\`SEED=${seed} npm run chaos -- --faults ${faults}\` plans the same calls and faults again; the moments at which they meet differ.

| tracking for ${seconds(run.seconds * 1_000)}, two nodes, embedded PostgreSQL | |
|---|---|
${rows.map(([name, value]) => `| ${name} | ${value} |`).join('\n')}
${run.problems.map((problem) => `\n- ${problem}`).join('')}`
}
