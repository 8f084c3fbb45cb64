import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { keepSection } from '../server/chaos/sections.ts'
import { attachEmbedded } from '../server/src/db/embedded/embedded.ts'
import { PUBLIC_KEY, TOPIC } from '../server/test/support/servers/sns-server.ts'
import { keptDataFolder } from './data-folder.ts'
import { timeFootprint } from './footprint.ts'
import { type Measured, measure, type Row, type Scale } from './load.ts'
import { freePort, type Node, startScript } from './node.ts'
import { timeCampaignDrain, timeSplit } from './paths/campaign.ts'
import { asTenant, seedAudience, seedReaders, timeBeside, timeFreeze, timeRealDrain } from './paths/campaigns.ts'
import { timeCaps } from './paths/caps.ts'
import { measureUpserts, type Product, type Timing, timeDeletes, timeImport, timeLargeProject } from './paths/contacts.ts'
import { DOMAIN, emptyQueue, ownDomain, startSink, timeDrain, watchDrain } from './paths/drain.ts'
import { timeEvents } from './paths/events.ts'
import { timeInsight } from './paths/insight.ts'
import { timeKeys } from './paths/keys.ts'
import { timeLatency } from './paths/latency.ts'
import { timeNotifications } from './paths/notifications.ts'
import { ECHO_BODY, measurePlumbing } from './paths/plumbing.ts'
import { timeReceivers } from './paths/receivers.ts'
import { timeRendering } from './paths/render.ts'
import { timeRunning } from './paths/running.ts'
import { timeSegments } from './paths/segments.ts'
import { measureSending, SEND_FLOOR } from './paths/send.ts'
import { measureSubmission } from './paths/submission.ts'
import { measureTracking, watchTracking } from './paths/track.ts'
import { startReceiver, timeToldCampaign, timeToldEvents } from './paths/webhooks.ts'
import { forgetExecutions, seedEntering, timeEntering, timeEvented, timeSleeping, timeWorkflowBeside } from './paths/workflows.ts'

const FULL: Scale = { warmUpSeconds: 5, runSeconds: 15, runs: 3 }
const QUICK: Scale = { warmUpSeconds: 1, runSeconds: 3, runs: 3 }
/** Name, options of SMTP_URL, workers. */
const DRAINS = [
  ['signed', '', 1],
  ['unsigned', '&dkim=off', 1],
  ['signed, two workers', '', 2],
] as const
const DATA_DIR = keptDataFolder()

const TITLE = `# Benchmark results

The load generator runs on the same machine. CPU is user + system time of the server and all its PostgreSQL processes per request. Compare
the ratios: the speed of this machine varies by a factor of two, as the floors show.
`

const FLOOR = 'floor: an echo with the same options and body'

/** Run in this order: those named on the command line, or all of them. */
const PARTS = {
  tracking: measureTracks,
  requests: measureRequests,
  submission: measureSubmissions,
  caps: timeCapParts,
  keys: timeKeyParts,
  data: timeData,
  segments: timeSegmentParts,
  insight: timeInsightParts,
  sending: timeSending,
  'campaign-drain': timeCampaigns,
  receivers: timeReceiverParts,
  campaigns: timeRealCampaigns,
  workflows: timeWorkflows,
  webhooks: timeWebhooks,
  running: async () => void timings.push(...(await timeRunning({ quick }))),
  rendering: async () => void timings.push(...(await timeRendering())),
  footprint: timeFootprintParts,
}
type Part = keyof typeof PARTS

const quick = process.argv.includes('quick')
const named = process.argv.slice(2).filter((name): name is Part => Object.hasOwn(PARTS, name))
const scale = quick ? QUICK : FULL
const dataScale = Number(process.env.BENCH_SCALE ?? (quick ? 0.01 : 1))
const rows: Row[] = []
const timings: Timing[] = []
const add = (more: [string, Measured][], floor: Measured) => rows.push(...more.map(([name, measured]) => ({ name, measured, floor })))
for (const name of named.length ? named : (Object.keys(PARTS) as Part[])) {
  rows.length = timings.length = 0
  await PARTS[name]()
  const report = printReport()
  console.log(`${name}\n\n${report}`)
  if (!quick) keepSection(new URL('./results.md', import.meta.url), TITLE, name, report)
}

async function measureTracks() {
  const floor = await measureFloor('/track', ECHO_BODY)
  add([[FLOOR, floor]], floor)
  await withProduct('api', {}, async (product) => void add(await measureTracking(product, scale), floor))
}

async function measureRequests() {
  const floor = await measureFloor('/track', ECHO_BODY)
  const sendFloor = await measureFloor('/send', SEND_FLOOR.body)
  await withProduct('api', {}, async (product) => {
    add([[FLOOR, floor]], floor)
    add([await measurePlumbing(product, scale)], floor)
    add(await measureUpserts(product, scale), floor)
    add([[SEND_FLOOR.name, sendFloor]], sendFloor)
    add(await measureSending(product, scale), sendFloor)
    timings.push(await watchTracking(product, dataScale))
    timings.push(await timeNotifications(product, dataScale))
  })
}

/** Beside /v1/send, in one run. */
async function measureSubmissions() {
  const floor = await measureFloor('/send', SEND_FLOOR.body)
  const port = await freePort()
  await withProduct('api', { SMTP_SUBMISSION_PORT: String(port), SMTP_SUBMISSION_HOST: '127.0.0.1' }, async (product) => {
    add([[SEND_FLOOR.name, floor]], floor)
    add(await measureSending(product, scale), floor)
    add(await measureSubmission(product, port, scale), floor)
    await emptyQueue(product)
  })
}

/** With a relay, because emails of the sandbox are not limited; no worker sends them. */
async function timeCapParts() {
  await withProduct('api', { SMTP_URL: 'smtp://127.0.0.1:1' }, async (product) => {
    const capped = { ...product, ...(await newProject(product.url)) }
    timings.push(...(await timeCaps(product, capped, { ...scale, runSeconds: quick ? 2 : 5 })))
    await emptyQueue(product)
  })
}

/** No worker runs: what is accepted is not sent. */
async function timeKeyParts() {
  await withProduct('api', { SMTP_URL: 'smtp://127.0.0.1:1' }, async (product) => {
    timings.push(...(await timeKeys(product, { ...scale, warmUpSeconds: 1, runSeconds: quick ? 2 : 5 })))
    await emptyQueue(product)
  })
}

async function timeData() {
  await withProduct('all', {}, async (product) => {
    timings.push(...(await timeEvents(product, dataScale)))
    timings.push(...(await timeLargeProject(product, dataScale)))
    timings.push(await timeImport(product, dataScale))
    timings.push(...(await timeDeletes(product)))
  })
}

async function timeSegmentParts() {
  await withProduct('all', {}, async (product) => void timings.push(...(await timeSegments(product, dataScale))))
}

async function timeInsightParts() {
  await withProduct('api', {}, async (product) => void timings.push(...(await timeInsight(product, dataScale))))
}

async function databaseUrl() {
  return (await attachEmbedded(DATA_DIR))!.url
}

/** A process that does nothing but send. */
async function startWorker({ url }: Product, smtpUrl: string, env: Record<string, string> = {}) {
  return startScript('./server.mjs', {
    ...env,
    ROLE: 'worker',
    DATABASE_URL: await databaseUrl(),
    SECRET_KEY: readFileSync(`${DATA_DIR}/secret.key`, 'utf8').trim(),
    SMTP_URL: smtpUrl,
    PUBLIC_URL: url,
  })
}

/** A campaign by one worker, signed and unsigned, and what each step of it costs alone. */
async function timeCampaigns() {
  const sink = await startSink()
  await withProduct('api', { SMTP_URL: sink.url }, async (product) => {
    await emptyQueue(product)
    await ownDomain(product, DOMAIN)
    const totals = { signed: 0, unsigned: 0 }
    const drainBy = async (option: string, name: string, others: object[] = []) => {
      const worker = await startWorker(product, sink.url + option)
      try {
        const drains = []
        for (const other of [{ name }, ...others])
          drains.push(await timeCampaignDrain(product, worker, sink, { scale: dataScale, name, ...other }))
        timings.push(...drains.map(({ timing }) => timing))
        return drains[0]!.cpu
      } finally {
        await worker.stop()
      }
    }
    const conditional = (name: string) => [{ name: `${name}, with conditions`, isConditional: true }]
    totals.signed = await drainBy('', 'signed', conditional('signed'))
    totals.unsigned = await drainBy('&dkim=off', 'unsigned', conditional('unsigned'))
    sink.behave({ pipelining: true })
    await drainBy('', 'signed, to a receiver that offers PIPELINING')
    await drainBy('&dkim=off', 'unsigned, to a receiver that offers PIPELINING')
    sink.behave({ pipelining: false })
    timings.push(...(await timeSplit(product, sink, { scale: dataScale, databaseUrl: await databaseUrl(), totals })))
  })
  await sink.stop()
}

/** One worker, which signs. */
async function timeReceiverParts() {
  const sink = await startSink()
  await withProduct('api', { SMTP_URL: sink.url }, async (product) => {
    await emptyQueue(product)
    await ownDomain(product, DOMAIN)
    const worker = await startWorker(product, sink.url)
    timings.push(...(await timeReceivers(product, worker, sink, dataScale).finally(worker.stop)))
  })
  await sink.stop()
}

/** Whole campaigns: freeze, drain by one worker and by two, and what they do to others. */
async function timeRealCampaigns() {
  const sink = await startSink()
  await withProduct('api', { SMTP_URL: sink.url }, async (product) => {
    await emptyQueue(product)
    const large = await asTenant(product, {}, `large${Date.now()}.example`)
    const contacts = await seedAudience(large, dataScale)
    timings.push(...(await timeFreeze(large, await databaseUrl(), contacts)))
    const readers = await asTenant(product, await newProject(product.url), `readers${Date.now()}.example`)
    await seedReaders(readers, dataScale)
    for (const [name, option, count] of DRAINS) {
      const workers = await Promise.all(Array.from({ length: count }, () => startWorker(product, sink.url + option)))
      timings.push(...(await timeRealDrain(readers, workers, sink, name).finally(() => Promise.all(workers.map(({ stop }) => stop())))))
    }
    const small = await asTenant(product, await newProject(product.url), `small${Date.now()}.example`)
    const worker = await startWorker(product, sink.url)
    const sizes = quick ? { seconds: 4, emails: 60 } : { seconds: 30, emails: 300 }
    timings.push(...(await timeBeside({ large, small, worker, sink, ...sizes }).finally(worker.stop)))
  })
  await sink.stop()
}

/** Contacts that enter, pass steps, sleep and wake, by one worker, and what they do to others. */
async function timeWorkflows() {
  const sink = await startSink()
  await withProduct('api', { SMTP_URL: sink.url }, async (product) => {
    await emptyQueue(product)
    await forgetExecutions(product)
    const withWorker = async <T>(work: (worker: Node) => Promise<T>) => {
      const worker = await startWorker(product, sink.url)
      return work(worker).finally(worker.stop)
    }
    const entering = await asTenant(product, {}, `entering${Date.now()}.example`)
    const contacts = await seedEntering(entering, dataScale)
    timings.push(...(await withWorker((worker) => timeEntering(entering, worker, contacts))))
    const evented = await asTenant(product, await newProject(product.url), `evented${Date.now()}.example`)
    timings.push(...(await timeEvented(evented, dataScale, withWorker)))
    await forgetExecutions(product)
    const sizes = quick ? { idleSeconds: 5, overSeconds: 10 } : { idleSeconds: 30, overSeconds: 60 }
    timings.push(...(await withWorker((worker) => timeSleeping(entering, worker, { scale: dataScale, contacts, ...sizes }))))
    await forgetExecutions(product)
    const small = await asTenant(product, await newProject(product.url), `small${Date.now()}.example`)
    const beside = quick ? { seconds: 4, emails: 60 } : { seconds: 30, emails: 300 }
    timings.push(...(await withWorker((worker) => timeWorkflowBeside({ large: entering, contacts, small, worker, sink, ...beside }))))
    await forgetExecutions(product)
    await emptyQueue(product)
  })
  await sink.stop()
}

/** What it costs to tell webhook endpoints, with receivers that answer at once. */
async function timeWebhooks() {
  const [sink, receiver] = [await startSink(), await startReceiver()]
  const env = { WEBHOOK_ALLOW_PRIVATE: '127.0.0.1/32' }
  await withProduct('api', { SMTP_URL: sink.url, ...env }, async (product) => {
    await emptyQueue(product)
    await ownDomain(product, DOMAIN)
    const worker = await startWorker(product, sink.url, env)
    try {
      timings.push(...(await timeToldEvents(product, worker, receiver, dataScale)))
      timings.push(...(await timeToldCampaign(product, worker, sink, receiver, dataScale)))
    } finally {
      await worker.stop()
    }
  })
  receiver.stop()
  await sink.stop()
}

/** In an installation of its own. */
async function timeFootprintParts() {
  const sink = await startSink()
  timings.push(...(await timeFootprint(sink, newProject, dataScale).finally(sink.stop)))
}

/** By one worker that does nothing else. */
async function timeSending() {
  const sink = await startSink()
  await withProduct('api', { SMTP_URL: sink.url }, async (product) => {
    await emptyQueue(product)
    const worker = await startWorker(product, sink.url)
    try {
      timings.push(...(await timeDrain(product, worker, sink, dataScale)))
      timings.push(...(await timeLatency(product, sink, await newProject(product.url), dataScale)))
      timings.push(await watchDrain(product, worker, sink, dataScale))
    } finally {
      await worker.stop()
    }
  })
  await sink.stop()
}

async function measureFloor(path: string, body: string) {
  const node = await startScript('./echo.ts', {})
  const target = { url: node.url + path, method: 'POST' as const, headers: { 'content-type': 'application/json' }, body }
  return measure(node.pid, target, scale).finally(node.stop)
}

async function withProduct(
  role: 'api' | 'all',
  env: Record<string, string>,
  work: (product: Product & { cookie: string }) => Promise<void>,
) {
  const settings = { ...env, DATA_DIR, ROLE: role, RATE_LIMIT_PER_MINUTE: '1000000000', SNS_TOPIC_ARNS: TOPIC, BENCH_SNS_KEY: PUBLIC_KEY }
  const node = await startScript('./server.mjs', settings)
  try {
    await work({ url: node.url, pid: node.pid, dataDir: DATA_DIR, ...(await newProject(node.url)) })
  } finally {
    await node.stop()
  }
}

async function newProject(url: string) {
  const post = (path: string, body: object, cookie = '') =>
    fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json', cookie }, body: JSON.stringify(body) })
  const signedUp = await post('/auth/signup', { email: `bench${Date.now()}@example.com`, password: 'only for measuring' })
  const cookie = signedUp.headers.get('set-cookie')!.split(';')[0]!
  const project = (await (await post('/users/@me/projects', { name: 'Bench' }, cookie)).json()) as {
    id: string
    secret: string
    public: string
  }
  return { projectId: project.id, secretKey: project.secret, publicKey: project.public, cookie }
}

function printReport() {
  const line = ({ name, measured: { perSecond, cpuMicros, p50, p99 }, floor }: Row) =>
    `| ${name} | ${Math.round(perSecond)} | ${Math.round((perSecond / floor.perSecond) * 100)} % | ${Math.round(cpuMicros)} µs | ${p50} ms | ${p99} ms |`
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const machine = `${cpus()[0]!.model}, ${cpus().length} cores, Node ${process.versions.node}, commit ${commit}, ${new Date().toISOString().slice(0, 10)}.`
  const requests = `Median of ${scale.runs} runs of ${scale.runSeconds} s with 64 connections.

| path | req/s | of the floor | CPU per request | p50 | p99 |
|---|---|---|---|---|---|
${rows.map(line).join('\n')}`
  const calls = `| single calls, scale ${dataScale} | |
|---|---|
${timings.map(({ name, result }) => `| ${name} | ${result} |`).join('\n')}`
  return [machine, ...(rows.length ? [requests] : []), ...(timings.length ? [calls] : [])].join('\n\n')
}
