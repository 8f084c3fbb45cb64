import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { campaignUnderFaults } from './campaign/campaign.ts'
import { runClusterParts } from './cluster/cluster.ts'
import { mergeLines, readLines, skippedWithTools, writeLines } from './cluster/parts.ts'
import { feedbackUnderFaults } from './feedback/feedback.ts'
import { type IdleTimes, timesAtIdle } from './idle.ts'
import { mailUnderFaults } from './mail/mail.ts'
import { ATTACK_NAMES } from './neighbours/attacks.ts'
import { neighboursBesieged } from './neighbours/besieged.ts'
import { neighboursUnderAttack } from './neighbours/neighbours.ts'
import { cells, columns } from './neighbours/neighbours-check.ts'
import { siegeCells, siegeColumns } from './neighbours/siege-check.ts'
import { SIEGE_NAMES } from './neighbours/sieges.ts'
import { overload } from './overload/overload.ts'
import { relayUnderFaults } from './relay/relay.ts'
import { rollingRestarts } from './rolling.ts'
import { keepSection, readSections } from './sections.ts'
import { largeBacklog, largeSubmissions, submissionUnderFaults } from './submission/submission.ts'
import { readSeed } from './support/random.ts'
import { trackUnderFaults } from './track/track.ts'
import { workflowUnderFaults } from './workflow/workflow.ts'

type Row = [string, string | number]

const { values, positionals } = parseArgs({
  // Suites may be named without `--suite`: `npm run chaos -- relay neighbours`.
  allowPositionals: true,
  options: {
    // One or more suites, separated by commas; they run one after the other.
    suite: { type: 'string', default: 'track,mail,campaign,workflow,feedback,relay,submission,rolling,cluster,overload,idle,neighbours' },
    faults: { type: 'string' },
    // Time limit of a suite.
    minutes: { type: 'string', default: '30' },
    // Without reports on messages that arrived: only the policy decides about unknown outcomes.
    'no-evidence': { type: 'boolean', default: false },
    // Contacts that match the audience of the large campaign.
    contacts: { type: 'string', default: '100000' },
    // Contacts that enter the workflow.
    entering: { type: 'string', default: '10000' },
    // Emails of the suite `mail` that fall due at one moment, while processes are killed.
    scheduled: { type: 'string', default: '0' },
    // Requests of each shape of attack.
    requests: { type: 'string', default: '1000' },
    // One attack or siege of the neighbours, by name.
    attack: { type: 'string' },
    // Parts of the suite `cluster`, by number.
    parts: { type: 'string', default: '' },
    // Leaves results.md as it is, as `--attack` does.
    'no-results': { type: 'boolean', default: false },
  },
})
const RESULTS = new URL('./results.md', import.meta.url)
const TITLE = '# Results of the long crash test\n'
const SUITES = {
  track: runTrack,
  mail: runMail,
  campaign: runCampaign,
  workflow: runWorkflow,
  feedback: runFeedback,
  relay: runRelay,
  submission: runSubmission,
  rolling: runRolling,
  cluster: runCluster,
  overload: runOverload,
  idle: runIdle,
  neighbours: runNeighbours,
  // The second part of the neighbours, alone.
  sieges: async () => reportNeighbours('sieges', [await runSieges(SIEGE_NAMES)]),
}
/** Suites with a section of their own for a run without evidence. */
const WITH_EVIDENCE = ['mail', 'campaign']
/** The clients are the limit, not this rate. */
const FEEDBACK = { mails: 10_000, perSecond: 5_000 }
/** Delay and wait are short, so that every contact meets several kills. A kill about every second. */
const WORKFLOW = { perSecond: 40, delaySeconds: 1, waitSeconds: 2, calmMs: 1_000 }
const STUCK_SECONDS = 60
/** Requests per second, and restarts of each node. */
const ROLLING = { perSecond: 200, rounds: 5 }
/** Requests per second while the primary changes. */
const CLUSTER = { perSecond: 40 }
/** How long ten times the capacity is offered. */
const OVERLOAD = { seconds: 120 }
/** Emails that leave an idle node, one after the other. */
const IDLE = { sends: 30 }
/** Peak of resident memory with many messages of 40 MB at once; the budget of body bytes is 128 MB. */
const LARGE = { messages: 50, bytes: 40 * 1024 * 1024, maxMb: 768 }
const BACKLOG = { messages: 20, bytes: LARGE.bytes }
const ATTACKED = { bigContacts: 600, idleMs: 20_000, lastsMs: 10_000 }
/** Time that a fault takes, with the recovery after it. */
const SECONDS_PER_FAULT = 6
const seed = readSeed()
const planFor = (faults: number) => ({
  seed,
  faults: Number(values.faults ?? faults),
  calmMs: 3_000,
  withinMs: Number(values.minutes) * 60_000,
  say: console.log,
})

const named = positionals.length ? positionals : values.suite.split(',')
for (const name of named as (keyof typeof SUITES)[]) {
  const section = await SUITES[name]()
  console.log(section)
  if (!values['no-results'] && values.attack === undefined) keepSection(RESULTS, TITLE, nameOf(name), section)
}

function nameOf(suite: string) {
  return values['no-evidence'] && WITH_EVIDENCE.includes(suite) ? `${suite} without evidence` : suite
}

async function runTrack() {
  const plan = planFor(100)
  const run = await trackUnderFaults(plan)
  const upSeconds = run.seconds - run.outagesMs / 1_000
  return report(`track --faults ${plan.faults}`, 'tracking, two nodes, embedded PostgreSQL', run, [
    ['requests, each with a key of its own', run.calls],
    ['of them per second', `${Math.round(run.calls / run.seconds)}; outages left out, ${Math.round(run.calls / upSeconds)}`],
    ['webhooks, each signed and told under one id, to two endpoints', run.webhooks.told],
    ['· requests', run.webhooks.requests],
    ...Object.entries(run.webhooks.answers).map(([answer, count]): Row => [`· bad first answers: ${answer}`, count]),
    ['· rotations of the secrets', run.webhooks.rotations],
  ])
}

async function runMail() {
  const scheduled = Number(values.scheduled)
  const plan = { ...planFor(200), calmMs: 2_000, evidence: !values['no-evidence'], scheduled }
  const run = await mailUnderFaults(plan)
  const extra = plan.evidence ? '' : ', without evidence'
  const copies = (wanted: number): Row => [
    `retried after an unknown outcome, and arrived ${wanted} times`,
    run.repeated.filter(([, count]) => count === wanted).length,
  ]
  return report(
    `mail --faults ${plan.faults}${plan.evidence ? '' : ' --no-evidence'}${scheduled ? ` --scheduled ${scheduled}` : ''}`,
    `sending${extra}: two API nodes, three workers, embedded PostgreSQL, an SMTP server`,
    run,
    [
      ...rowsOfDeaths(run.deaths),
      ['requests, each with a key of its own', run.calls],
      ...(scheduled ? [['scheduled emails that fell due at one moment', scheduled] as Row] : []),
      ['scheduled emails that were cancelled when they fell due', run.racedCancels],
      ['emails that arrived', run.mails],
      ['copies that arrived', run.copies],
      ...(plan.evidence ? [] : [copies(2), copies(3)]),
    ],
  )
}

async function runCampaign() {
  const { faults, ...plan } = planFor(100)
  const contacts = Number(values.contacts)
  const evidence = !values['no-evidence']
  const others = { halted: Math.ceil(faults / 2), scheduled: Math.ceil(faults / 5) }
  const run = await campaignUnderFaults({
    ...plan,
    ...others,
    faults,
    calmMs: 2_000,
    contacts,
    evidence,
    lastsSeconds: faults * SECONDS_PER_FAULT,
  })
  const kills = Object.entries(run.injected).filter(([kind]) => kind.startsWith('kill'))
  return report(
    `campaign --faults ${faults} --contacts ${contacts}${evidence ? '' : ' --no-evidence'}`,
    `campaigns${evidence ? '' : ', without evidence'}: two API nodes, three workers, embedded PostgreSQL, an SMTP server`,
    run,
    [
      ['· kills', kills.reduce((sum, [, count]) => sum + count, 0)],
      ...rowsOfDeaths(run.deaths),
      ['contacts that match the audience of the large campaign', contacts],
      ['· recipients; sent, failed, skipped', describeCounts(run.largest)],
      ['· excluded', run.largest.excluded],
      ['campaigns, each balanced and started once', run.campaigns],
      ['pauses, each without a mark after its answer', run.pauses],
      ['cancellations, each without a mark after its answer', run.cancellations],
      ['contacts unsubscribed during the send', run.unsubscribed],
      ['edits of segment and template during the send', run.edits],
      ['messages that arrived', run.copies],
    ],
  )
}

async function runWorkflow() {
  const contacts = Number(values.entering)
  const plan = { ...planFor(150), ...WORKFLOW, contacts }
  const run = await workflowUnderFaults(plan)
  const decided = run.racedWonByEvent && run.racedWonByTimeout ? [] : ['no race was won by the event, or none by the timeout']
  const second = run.answeredTwice ? [] : ['no second wait was ended by an event']
  const stuck = run.latestSeconds > STUCK_SECONDS ? [`an execution went on ${run.latestSeconds} s after its time`] : []
  return report(
    `workflow --faults ${plan.faults} --entering ${contacts}`,
    'workflows: two API nodes, three workers, embedded PostgreSQL, an SMTP server',
    { ...run, problems: [...run.problems, ...decided, ...second, ...stuck] },
    [
      ...rowsOfDeaths(run.deaths),
      ['contacts that entered, each with one execution and one path', run.executions],
      ['steps', run.steps],
      ['contacts that were reminded by the same steps', run.reminded],
      ['contacts with one answer, with two of the same name', `${run.answeredOnce}, ${run.answeredTwice}`],
      ['answers within 20 ms of the timeout: won by the answer, by the timeout', `${run.racedWonByEvent}, ${run.racedWonByTimeout}`],
      ['longest time after its time until an execution went on', `${run.latestSeconds.toFixed(1)} s`],
      ['messages that arrived, one for each visit of the email step', run.copies],
    ],
  )
}

function describeCounts({ total, sent, failed, skipped }: Record<'total' | 'sent' | 'failed' | 'skipped', number>) {
  return `${total}; ${sent}, ${failed}, ${skipped}`
}

async function runFeedback() {
  const plan = { ...planFor(60), ...FEEDBACK }
  const run = await feedbackUnderFaults(plan)
  const upSeconds = run.seconds - run.outagesMs / 1_000
  return report(
    `feedback --faults ${plan.faults}`,
    'provider notifications: two API nodes, two workers, embedded PostgreSQL, 16 clients that retry until they get a response',
    run,
    [
      ...rowsOfDeaths(run.deaths),
      ['emails whose reports came in random order, compared with the same reports in order', plan.mails],
      ['notifications, with repetitions', run.calls],
      ['of them per second', `${Math.round(run.calls / run.seconds)}; outages left out, ${Math.round(run.calls / upSeconds)}`],
      ['per second, in order, new ones only, before the faults', run.calmPerSecond],
    ],
  )
}

async function runRelay() {
  const plan = { ...planFor(200), calmMs: 1_000 }
  const run = await relayUnderFaults(plan)
  return report(`relay --faults ${plan.faults}`, 'a relay that answers badly: two API nodes, two workers, four projects', run, [
    ['requests, each with a key of its own', run.calls],
    ['messages that arrived', run.arrived],
    ['bad answers of the relay', run.badAnswers],
    ['connections to the relay', run.connections],
  ])
}

async function runSubmission() {
  const { faults, calmMs, seed: planned, say } = planFor(20)
  const run = await submissionUnderFaults({ seed: planned, faults, calmMs, say, messages: 1_000, connections: 50 })
  const large = await largeSubmissions(LARGE)
  const backlog = await largeBacklog(BACKLOG)
  const tooMuch = (what: string, peakMb: number) => (peakMb > LARGE.maxMb ? [`${what} took ${peakMb} MB`] : [])
  const problems = [
    ...run.problems,
    ...large.problems,
    ...backlog.problems,
    ...tooMuch('50 messages of 40 MB', large.peakMb),
    ...tooMuch('20 messages of 40 MB that had waited', backlog.peakMb),
  ]
  process.exitCode ||= problems.length ? 1 : 0
  const rows: Row[] = [
    ...Object.entries(run.injected).map(([kind, count]): Row => [kind, count]),
    ['messages over 50 connections, each with a key, each 250 one email', run.messages],
    ['of them sent more than once', run.retried],
    ['50 messages of 40 MB at once: accepted, told to try again (452 4.3.1)', `${large.accepted}, ${large.busy}`],
    ['· resident memory of the node, before and at its peak', `${large.beforeMb} MB, ${large.peakMb} MB`],
    ['· longest time of a small message of another project meanwhile', `${large.longestWaitMs} ms`],
    ['messages of 40 MB that waited while sending was held, and left', backlog.waiting],
    ['· resident memory of the node, before and at its peak', `${backlog.beforeMb} MB, ${backlog.peakMb} MB`],
    ['problems', problems.length],
  ]
  return `${machine()}
\`SEED=${seed} npm run chaos -- submission --faults ${faults}\` plans the same faults again.

| SMTP submission: a node with every role, embedded PostgreSQL, ${run.seconds.toFixed(1)} s | |
|---|---|
${rows.map(([name, value]) => `| ${name} | ${value} |`).join('\n')}
${problems.map((problem) => `\n- ${problem}`).join('')}`
}

async function runRolling() {
  const run = await rollingRestarts({ ...ROLLING, say: console.log })
  process.exitCode ||= run.problems.length ? 1 : 0
  const rows: Row[] = [
    ['restarts', run.restarts],
    ['requests that were answered', run.answered],
    ['of them per second', Math.round(run.answered / run.seconds)],
    ['requests that failed', run.failed],
    ['longest time of a request', `${run.slowestMs} ms`],
    ['emails accepted, sent', `${run.sends}, ${run.sent}`],
    ['problems', run.problems.length],
  ]
  return `${machine()}
\`npm run chaos -- rolling\` restarts two API nodes and two workers one after the other, behind a load balancer that asks for readiness five times a second.

| rolling restarts, ${run.seconds.toFixed(1)} s | |
|---|---|
${rows.map(([name, value]) => `| ${name} | ${value} |`).join('\n')}
${run.problems.map((problem) => `\n- ${problem}`).join('')}`
}

async function runCluster() {
  const committed = readLines(readSections(RESULTS).get('cluster') ?? '')
  const outcomes = await runClusterParts({ ...CLUSTER, seed, say: console.log, named: values.parts.split(',').filter(Boolean) })
  const problems = [
    ...outcomes.flatMap(({ part, result }) => (result?.problems ?? []).map((problem) => `${part}: ${problem}`)),
    ...skippedWithTools(committed, outcomes),
  ]
  process.exitCode ||= problems.length ? 1 : 0
  return `${machine()}
\`npm run chaos -- cluster\`: two API nodes and three workers on PostgreSQL from npm, a primary and a standby behind a TCP proxy, while ${CLUSTER.perSecond} requests a second arrive, each repeated until it is answered. A line that was not run this time is of the commit in its last column.

${writeLines(mergeLines(committed, outcomes, commitNow()))}
${problems.map((problem) => `\n- ${problem}`).join('')}`
}

async function runOverload() {
  const { capacity, idle, over, offeredPerSecond, peakMb, recoveredMs, problems } = await overload({ ...OVERLOAD, say: console.log })
  process.exitCode ||= problems.length ? 1 : 0
  const times = ({ p50, p99 }: typeof idle) => `${p50.toFixed(1)} ms, ${p99.toFixed(1)} ms`
  const rows: Row[] = [
    ['requests per second that the node can answer, with 64 connections', Math.round(capacity)],
    ['a tenth of that: p50, p99', times(idle)],
    ['offered per second; ten times what it can answer', `${Math.round(offeredPerSecond)}; ${Math.round(10 * capacity)}`],
    ['· not offered, because all of 1,000 connections waited for an answer', over.skipped],
    ['· accepted requests: p50, p99', times(over)],
    ['· p99, as a multiple of the idle one (limit 20)', (over.p99 / idle.p99).toFixed(1)],
    ...Object.entries(over.statuses).map(([status, count]): Row => [`· answered ${status}`, count]),
    ['· connections lost', over.resets],
    ['peak of resident memory of the node (limit 512 MB)', `${peakMb} MB`],
    ['recovered after (limit 30 s)', recoveredMs === undefined ? 'not in time' : `${(recoveredMs / 1_000).toFixed(1)} s`],
    ['problems', problems.length],
  ]
  return `${machine()}
\`npm run chaos -- overload\` offers requests of four tenants, half \`POST /v1/send\` and half \`POST /contacts/lookup\` of 500 addresses, to one API node beside one worker and the embedded PostgreSQL, for ${OVERLOAD.seconds} s. The client takes CPU of the same machine.

| overload | |
|---|---|
${rows.map(([name, value]) => `| ${name} | ${value} |`).join('\n')}
${problems.map((problem) => `\n- ${problem}`).join('')}`
}

async function runIdle() {
  const { notified, without, cuts, problems } = await timesAtIdle({ ...IDLE, say: console.log })
  process.exitCode ||= problems.length ? 1 : 0
  const most = (values: number[]) => `${Math.max(...values)} ms`
  const row = (name: string, read: (times: IdleTimes) => string) => [name, read(notified), read(without)]
  const rows = [
    row('an email of an idle node, from the request to the relay, at most (limit 1 s)', ({ idle }) => most(idle)),
    row('a scheduled email, after its time, at most (limit 1 s)', ({ scheduled }) => most(scheduled)),
    row('an email beside 3,000 slow ones of another owner, at most (limit 1.5 s)', ({ other }) => most(other)),
    row('claims of a killed worker are taken over (limit 10 s)', ({ recovered }) => `${recovered} ms`),
  ]
  return `${machine()}
\`npm run chaos -- idle\`: one API node, two workers, embedded PostgreSQL. Without notifications, each connection that listens is ended within 50 ms (${cuts} were).

${tableOf(['', 'with notifications', 'without'], rows)}
${problems.map((problem) => `\n- ${problem}`).join('')}`
}

async function runNeighbours() {
  const isNamed = (name: string) => values.attack === undefined || values.attack === name
  const [attacks, sieges] = [ATTACK_NAMES.filter(isNamed), SIEGE_NAMES.filter(isNamed)]
  if (!attacks.length && !sieges.length) throw new Error(`--attack is one of: ${[...ATTACK_NAMES, ...SIEGE_NAMES].join(', ')}`)
  return reportNeighbours('neighbours', [
    ...(attacks.length ? [await runAttacks(attacks)] : []),
    ...(sieges.length ? [await runSieges(sieges)] : []),
  ])
}

type Beside = { table: string; broken: string[] }

async function runAttacks(attacks: typeof ATTACK_NAMES): Promise<Beside> {
  const requests = Number(values.requests)
  const { idle, phases, problems, slow } = await neighboursUnderAttack({ seed, requests, attacks, ...ATTACKED, say: console.log })
  const rows = Object.entries({ idle, ...phases }).map(([name, phase]) => [name, ...cells(phase, idle)])
  return { table: tableOf(['three projects beside an attacker', ...columns], rows), broken: [...problems, ...slow] }
}

async function runSieges(sieges: typeof SIEGE_NAMES): Promise<Beside> {
  const run = await neighboursBesieged({ seed, sieges, idleMs: ATTACKED.idleMs, say: console.log })
  const rows = run.sieges.flatMap(({ name, idle, phase }) => [
    ['idle', ...siegeCells(idle, idle)],
    [name, ...siegeCells(phase, idle)],
  ])
  return { table: tableOf(['four projects beside one that keeps all limits', ...siegeColumns], rows), broken: run.problems }
}

function reportNeighbours(suite: string, runs: Beside[]) {
  const broken = runs.flatMap((run) => run.broken)
  process.exitCode ||= broken.length ? 1 : 0
  const command = `${suite} --requests ${values.requests}${values.attack === undefined ? '' : ` --attack '${values.attack}'`}`
  return `${machine()}
\`SEED=${seed} npm run chaos -- ${command}\` attacks in the same ways again.

${runs.map(({ table }) => table).join('\n\n')}
${broken.map((problem) => `\n- ${problem}`).join('')}`
}

function tableOf(head: string[], rows: string[][]) {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

function countEach(names: string[]) {
  return [...new Set(names)].map((name): Row => [name, names.filter((other) => other === name).length])
}

function rowsOfDeaths(deaths: string[]): Row[] {
  const places = [...new Set(deaths.map((death) => death.split(':')[0]!))].sort()
  return places.map((place) => [
    `· of the kills at a crash point: ${place}`,
    deaths.filter((death) => death.startsWith(`${place}:`)).length,
  ])
}

type Run = Omit<Awaited<ReturnType<typeof trackUnderFaults>>, 'survivors' | 'webhooks'>

function report(command: string, what: string, run: Run, more: Row[]) {
  process.exitCode ||= run.problems.length ? 1 : 0
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  const rows: Row[] = [
    ['faults', Object.values(run.injected).reduce((sum, count) => sum + count, 0)],
    ...Object.entries(run.injected).map(([kind, count]): Row => [`· ${kind}`, count]),
    ...more,
    ['acknowledged', run.acknowledged],
    ['retried', run.retriedCalls],
    ['never acknowledged: the client gave up', run.calls - run.acknowledged],
    ['lost', run.lost],
    ['duplicates', run.duplicates],
    ['longest time without any response', seconds(run.longestSilenceMs)],
    ['longest time a client tried until it was acknowledged', seconds(run.longestWait.ms)],
    ...countEach(run.longestWait.failures).map(([failure, count]): Row => [`· before that: ${failure}`, count]),
    ['longest turn of the event loop that the clients share', seconds(run.longestTurnMs)],
    ['problems', run.problems.length],
  ]
  return `${machine()}
\`SEED=${seed} npm run chaos -- --suite ${command}\` plans the same calls and faults again; the moments at which they meet differ.

| ${what}, ${seconds(run.seconds * 1_000)} | |
|---|---|
${rows.map(([name, value]) => `| ${name} | ${value} |`).join('\n')}
${run.problems.map((problem) => `\n- ${problem}`).join('')}`
}

function commitNow() {
  return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
}

function machine() {
  return `${cpus()[0]!.model}, ${cpus().length} cores, Node ${process.versions.node}, commit ${commitNow()}, ${new Date().toISOString().slice(0, 10)}.`
}
