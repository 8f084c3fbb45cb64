import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../support/random.ts'

const PATIENCE_MS = 5_000
const BACK_OFF_MS = 100
const GIVE_UP_MS = 150_000

export type CampaignClient = ReturnType<typeof campaignClient>
// biome-ignore lint/suspicious/noExplicitAny: a response may be anything; the caller reads the fields it needs
export type Reply = { status: number; body: any; answeredAt: number }

/** A client that repeats a request, on any node, until it gets an answer. `answeredAt` is by the clock of this machine, as that of the database. */
export function campaignClient({ urls, secret, random }: { urls: string[]; secret: string; random: Random }) {
  async function request(method: string, path: string, body?: object): Promise<Reply> {
    for (const giveUpAt = Date.now() + GIVE_UP_MS; ; await sleep(BACK_OFF_MS)) {
      const reply = await attempt(random.pick(urls) + path, method, body).catch(() => undefined)
      if (reply && reply.status < 500) return reply
      if (Date.now() > giveUpAt) throw new Error(`${method} ${path}: no answer, at last ${JSON.stringify(reply)}`)
    }
  }

  async function attempt(url: string, method: string, body?: object): Promise<Reply> {
    const headers = { authorization: `Bearer ${secret}`, ...(body ? { 'content-type': 'application/json' } : {}) }
    const answer = await fetch(url, {
      method,
      headers,
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await answer.text()
    return { status: answer.status, body: text ? JSON.parse(text) : undefined, answeredAt: Date.now() }
  }

  async function expectOk(method: string, path: string, body?: object) {
    const reply = await request(method, path, body)
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
    return reply.body
  }
  return { request, expectOk }
}
