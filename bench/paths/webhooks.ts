import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { load } from '../load.ts'
import type { Node } from '../node.ts'
import { cpuSplit } from '../process.ts'
import { connectToBench, scaled } from '../seed.ts'
import { CAMPAIGN } from './campaign.ts'
import { type Product, send, type Timing } from './contacts.ts'
import { drain, type Sink } from './drain.ts'
import { trackTarget } from './track.ts'

const EVENTS = 20_000
const EMAILS = 20_000
const ENDPOINTS = 5
/** As the worker makes to one endpoint. */
const REQUESTS_AT_ONCE = 8
const POLL_MS = 50
const ROUNDS = 3
const WITHIN_MS = 600_000

export async function startReceiver() {
  const child = fork(fileURLToPath(new URL('../receiver.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    url: `http://127.0.0.1:${port}/`,
    async taken() {
      child.send({})
      const [{ taken }] = (await once(child, 'message')) as [{ taken: number }]
      return taken
    },
    stop: () => child.kill('SIGKILL'),
  }
}
type Receiver = Awaited<ReturnType<typeof startReceiver>>

async function arrived(receiver: Receiver, count: number) {
  for (const end = Date.now() + WITHIN_MS; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, POLL_MS)))
    if ((await receiver.taken()) >= count) return
  throw new Error('the webhooks did not arrive in time')
}

const listen = async (product: Product, receiver: Receiver, events: string[]) =>
  ((await (await send(product, 'POST', '/webhook-endpoints', { url: receiver.url, events })).json()) as { id: string }).id

const enable = (product: Product, id: string, enabled: boolean) => send(product, 'PATCH', `/webhook-endpoints/${id}`, { enabled })

const forget = async ({ dataDir, projectId }: Product) => {
  const client = await connectToBench(dataDir)
  await client.query('delete from webhook_endpoints where project_id = $1', [projectId])
  await client.end()
}

/** CPU in µs of one signed request by the client of the worker, and of writing its bytes and reading those of the reply, in a process of its own. */
async function postFloor(receiver: Receiver, count: number) {
  const args = [receiver.url, String(count), String(REQUESTS_AT_ONCE)]
  const child = fork(fileURLToPath(new URL('../post.ts', import.meta.url)), args, { execArgv: ['--import', 'tsx'] })
  const [floors] = (await once(child, 'message')) as [{ perRequest: number; perWrite: number }]
  return floors
}

type Cpu = { api: number; postgres: number; worker: number }

/** CPU in µs of the API node, of PostgreSQL, which is its child, and of the worker. */
const cpuOf = (product: Product, worker: Node): Cpu => {
  const { app: api, postgres } = cpuSplit(product.pid)
  return { api, postgres, worker: cpuSplit(worker.pid).app }
}

const cpuSince = (before: Cpu, after: Cpu, count: number): Cpu => ({
  api: (after.api - before.api) / count,
  postgres: (after.postgres - before.postgres) / count,
  worker: (after.worker - before.worker) / count,
})

const serverOf = ({ api, postgres }: Cpu) => api + postgres
const allOf = (cpu: Cpu) => serverOf(cpu) + cpu.worker
const partsOf = ({ api, postgres, worker }: Cpu) =>
  `API node ${Math.round(api)}, PostgreSQL ${Math.round(postgres)}, worker ${Math.round(worker)}`

const medianOf = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!

/** The medians of two ways of doing the same, measured in turns because the speed of the machine varies. */
async function compare<Way extends string>(ways: Record<Way, () => Promise<Cpu>>) {
  const measured: [Way, Cpu][] = []
  for (let round = 0; round < ROUNDS; round++)
    for (const [way, measure] of Object.entries(ways) as [Way, () => Promise<Cpu>][]) measured.push([way, await measure()])
  return (way: Way): Cpu => {
    const median = (of: keyof Cpu) => medianOf(measured.flatMap(([each, cpu]) => (each === way ? cpu[of] : [])))
    return { api: median('api'), postgres: median('postgres'), worker: median('worker') }
  }
}

/**
 * The same events without an endpoint and with five: accepted while the worker stands still, as by API nodes of other machines; told
 * meanwhile, and until the last was told.
 */
export async function timeToldEvents(product: Product, worker: Node, receiver: Receiver, scale: number): Promise<Timing[]> {
  const count = scaled(EVENTS, scale)
  const endpoints: string[] = []
  for (let n = 0; n < ENDPOINTS; n++) endpoints.push(await listen(product, receiver, ['event.*']))
  const track = async ({ isTold, untilAll = false }: { isTold: boolean; untilAll?: boolean }) => {
    for (const id of endpoints) await enable(product, id, isTold)
    const [before, told] = [cpuOf(product, worker), await receiver.taken()]
    await load(trackTarget(product), { amount: count })
    const accepted = cpuSince(before, cpuOf(product, worker), count)
    if (isTold) await arrived(receiver, told + ENDPOINTS * count)
    return untilAll ? cpuSince(before, cpuOf(product, worker), count) : accepted
  }
  await track({ isTold: true }) // warm up
  const cpu = await compare({
    without: () => track({ isTold: false }),
    meanwhile: () => track({ isTold: true }),
    untilAll: () => track({ isTold: true, untilAll: true }),
  })
  await forget(product)
  const { perRequest, perWrite } = await postFloor(receiver, count)
  const base = serverOf(cpu('without'))
  const micros = (value: number) => `${Math.round(value)} µs, ${(value / base).toFixed(2)} ×`
  return [
    {
      name: `POST /v1/track, ${count.toLocaleString('en')} events, no endpoint: CPU per event of the API node and PostgreSQL, median of ${ROUNDS}`,
      result: `${micros(base)}: ${partsOf(cpu('without'))}`,
    },
    {
      name: `the same with ${ENDPOINTS} endpoints that take the event, until the last is accepted, while a worker tells them`,
      result: micros(serverOf(cpu('meanwhile'))),
    },
    { name: `the same, until all ${ENDPOINTS} were told`, result: micros(serverOf(cpu('untilAll'))) },
    { name: 'the same with the CPU of the worker', result: `${micros(allOf(cpu('untilAll')))}: ${partsOf(cpu('untilAll'))}` },
    {
      name: `floor of the last: no endpoint, and ${ENDPOINTS} signed requests by the same client in a process of its own`,
      result: `${micros(base + ENDPOINTS * perRequest)}; a request ${Math.round(perRequest)} µs`,
    },
    {
      name: `floor of any client: no endpoint, and ${ENDPOINTS} times the bytes of a request are written to a socket and a reply is read`,
      result: `${micros(base + ENDPOINTS * perWrite)}; once ${Math.round(perWrite)} µs`,
    },
  ]
}

/** A campaign without and with one endpoint for `email.sent`, until the last email was told. */
export async function timeToldCampaign(product: Product, worker: Node, sink: Sink, receiver: Receiver, scale: number): Promise<Timing[]> {
  const count = scaled(EMAILS, scale)
  const endpoint = await listen(product, receiver, ['email.sent'])
  const sendOne = async (isTold: boolean) => {
    await enable(product, endpoint, isTold)
    const [before, told] = [cpuOf(product, worker), await receiver.taken()]
    await drain(product, worker, sink, count, CAMPAIGN)
    if (isTold) await arrived(receiver, told + count)
    return cpuSince(before, cpuOf(product, worker), count)
  }
  await sendOne(true) // warm up
  const cpu = await compare({ without: () => sendOne(false), withOne: () => sendOne(true) })
  await forget(product)
  const [without, withOne] = [cpu('without'), cpu('withOne')]
  return [
    {
      name: `campaign of ${count.toLocaleString('en')} emails, no endpoint: CPU per email, median of ${ROUNDS}`,
      result: `${Math.round(allOf(without))} µs: ${partsOf(without)}`,
    },
    {
      name: 'the same with an endpoint for email.sent, until all were told',
      result: `${Math.round(allOf(withOne))} µs, ${(allOf(withOne) / allOf(without)).toFixed(2)} ×: ${partsOf(withOne)}`,
    },
  ]
}
