import type { Sent } from '../support/load.ts'
import type { SendAck, SendCall } from './mail.ts'

/** Emails of one request. */
const PER_REQUEST = 500
/** After the last request: the faults have begun. */
const DUE_AFTER_MS = 10_000
/** Longest time of one request. */
const REQUEST_MS = 2_000

type Wave = {
  url: string
  secretKey: string
  count: number
  /** A new address. */
  address: () => string
  judge: (answer: { status: number; body: unknown }) => { acknowledged: SendAck } | { wrong: string } | 'again'
}

/** Schedules many emails for one and the same moment, before the faults begin. Returns them as the load returns its calls. */
export async function scheduleWave({ url, secretKey, count, address, judge }: Wave) {
  const wave = new Map<string, Sent<SendCall, SendAck>>()
  const requests = Math.ceil(count / PER_REQUEST)
  const sendAt = new Date(Date.now() + requests * REQUEST_MS + DUE_AFTER_MS).toISOString()
  for (let left = count; left > 0; left -= PER_REQUEST) {
    const key = `wave-${wave.size + 1}`
    const to = Array.from({ length: Math.min(left, PER_REQUEST) }, address)
    const headers = { authorization: `Bearer ${secretKey}`, 'idempotency-key': key }
    const body = { to, from: 'news@chaos.example', subject: `Email ${key}`, body: `<p>Hello {{email}}, this is ${key}.</p>`, sendAt }
    const answer = await fetch(`${url}/v1/send`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const verdict = judge({ status: answer.status, body: await answer.json() })
    if (verdict === 'again' || 'wrong' in verdict) throw new Error(`the emails were not scheduled: ${JSON.stringify(verdict)}`)
    wave.set(key, { call: { key, path: '/v1/send', headers, body }, attempts: 1, ack: verdict.acknowledged })
  }
  return wave
}
