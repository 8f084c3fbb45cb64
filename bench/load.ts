import autocannon from 'autocannon'
import { cpuMicroseconds } from './process.ts'

type Headers = Record<string, string>
export type Target = {
  url: string
  method?: 'GET' | 'POST'
  headers?: Headers
  /** One body, or one per request: best taken from a list, as the load generator shares the cores. */
  body?: string | (() => string)
  /** Headers of a single request. */
  moreHeaders?: () => Headers
}
export type Measured = { perSecond: number; cpuMicros: number; p50: number; p99: number }
/** A line of the table, with the floor it is compared to. */
export type Row = { name: string; measured: Measured; floor: Measured }
export type Scale = { warmUpSeconds: number; runSeconds: number; runs: number }

const CONNECTIONS = 64

/** Median of several runs after a warm-up. A single failed request fails the measurement. */
export async function measure(pid: number, target: Target, { warmUpSeconds, runSeconds, runs }: Scale): Promise<Measured> {
  await load(target, { duration: warmUpSeconds })
  const measured: Measured[] = []
  for (let run = 0; run < runs; run++) {
    const before = cpuMicroseconds(pid)
    const result = await load(target, { duration: runSeconds })
    const cpu = cpuMicroseconds(pid) - before
    measured.push({
      perSecond: result.requests.average,
      cpuMicros: cpu / result.requests.total,
      p50: result.latency.p50,
      p99: result.latency.p99,
    })
  }
  return measured.sort((a, b) => a.perSecond - b.perSecond)[Math.floor(runs / 2)]!
}

export async function load(
  { url, method = 'GET', headers = {}, body, moreHeaders }: Target,
  howMuch: { duration: number; overallRate?: number } | { amount: number },
) {
  const vary = (make: () => string) => ({
    setupRequest: (request: autocannon.Request) => ({
      ...request,
      body: make(),
      ...(moreHeaders ? { headers: { ...headers, ...moreHeaders() } } : {}),
    }),
  })
  const result = await autocannon({
    url,
    method,
    headers,
    ...(typeof body === 'string' ? { body } : {}),
    ...(typeof body === 'function' ? { requests: [vary(body)] } : {}),
    connections: CONNECTIONS,
    ...howMuch,
  })
  const failed = result.non2xx + result.errors + result.timeouts
  if (failed) throw new Error(`${failed} requests to ${url} failed; nothing was measured`)
  return result
}
