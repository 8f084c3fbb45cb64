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
const POLL_MS = 50
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

const listen = (product: Product, receiver: Receiver, events: string[]) =>
  send(product, 'POST', '/webhook-endpoints', { url: receiver.url, events })

const forget = async ({ dataDir, projectId }: Product) => {
  const client = await connectToBench(dataDir)
  await client.query('delete from webhook_endpoints where project_id = $1', [projectId])
  await client.end()
}

/** CPU in µs of the API node, of PostgreSQL, which is its child, and of the worker. */
const cpuOf = (product: Product, worker: Node) => {
  const { app, postgres } = cpuSplit(product.pid)
  return { server: app + postgres, all: app + postgres + cpuSplit(worker.pid).app }
}

/**
 * The same events without an endpoint and with five. First while the worker stands still: what it costs to accept them, as API nodes on
 * other machines do. Then while it tells them, and until the last was told.
 */
export async function timeToldEvents(product: Product, worker: Node, receiver: Receiver, scale: number): Promise<Timing[]> {
  const count = scaled(EVENTS, scale)
  const track = async () => {
    const before = cpuOf(product, worker)
    await load(trackTarget(product), { amount: count })
    const after = cpuOf(product, worker)
    return { before, perEvent: (after.server - before.server) / count }
  }
  await track() // warm up
  const without = await track()
  for (let n = 0; n < ENDPOINTS; n++) await listen(product, receiver, ['event.*'])
  const told = await receiver.taken()
  process.kill(worker.pid, 'SIGSTOP')
  const accepted = await track()
  process.kill(worker.pid, 'SIGCONT')
  await arrived(receiver, told + ENDPOINTS * count)
  const beside = await track()
  await arrived(receiver, told + 2 * ENDPOINTS * count)
  const all = (cpuOf(product, worker).all - beside.before.all) / count
  await forget(product)
  const micros = (value: number) => `${Math.round(value)} µs, ${(value / without.perEvent).toFixed(2)} ×`
  return [
    {
      name: `POST /v1/track, ${count.toLocaleString('en')} events, no endpoint: CPU per event, API node and PostgreSQL`,
      result: micros(without.perEvent),
    },
    { name: `the same with ${ENDPOINTS} endpoints that take the event, told afterwards`, result: micros(accepted.perEvent) },
    { name: 'the same, told meanwhile by a worker, whose CPU is not counted', result: micros(beside.perEvent) },
    { name: `the same with the worker, until all ${ENDPOINTS} were told`, result: micros(all) },
  ]
}

/** A campaign without and with one endpoint for `email.sent`, until the last email was told. */
export async function timeToldCampaign(product: Product, worker: Node, sink: Sink, receiver: Receiver, scale: number): Promise<Timing[]> {
  const count = scaled(EMAILS, scale)
  const send = async (isTold: boolean) => {
    const [before, told] = [cpuOf(product, worker).all, await receiver.taken()]
    await drain(product, worker, sink, count, CAMPAIGN)
    if (isTold) await arrived(receiver, told + count)
    return (cpuOf(product, worker).all - before) / count
  }
  await send(false) // warm up
  const without = await send(false)
  await listen(product, receiver, ['email.sent'])
  const withOne = await send(true)
  await forget(product)
  return [
    { name: `campaign of ${count.toLocaleString('en')} emails, no endpoint: CPU per email`, result: `${Math.round(without)} µs` },
    {
      name: 'the same with an endpoint for email.sent, until all were told',
      result: `${Math.round(withOne)} µs, ${(withOne / without).toFixed(2)} ×`,
    },
  ]
}
