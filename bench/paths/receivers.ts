import type { Node } from '../node.ts'
import { scaled } from '../seed.ts'
import { CAMPAIGN } from './campaign.ts'
import type { Product, Timing } from './contacts.ts'
import { type BenchContent, drain, emptyQueue, push, type Sink } from './drain.ts'

const EMAILS = 20_000
const LARGE_EMAILS = 4_000
const LARGE_BYTES = 100_000
const SLOW_EMAILS = 5_000

const PARAGRAPH = '<p>The quick brown fox jumps over the lazy dog, and back again.</p>\n'
const LARGE: BenchContent = {
  ...CAMPAIGN,
  body: CAMPAIGN.body.replace('</body>', `${PARAGRAPH.repeat(Math.ceil((LARGE_BYTES - CAMPAIGN.body.length) / PARAGRAPH.length))}</body>`),
}

const PROMPT = { answerMs: 0, refusedShare: 0 }

/** Campaigns to receivers that are slow or refuse some, and of large emails; beside them a loop that only signs and pushes. */
export async function timeReceivers(product: Product, worker: Node, sink: Sink, scale: number): Promise<Timing[]> {
  const timings: Timing[] = []
  const run = async (name: string, emails: number, content = CAMPAIGN, share = 1) => {
    const count = scaled(emails, scale)
    const { perSecond, cpu, app, postgres } = await drain(product, worker, sink, count, content, share)
    const [each, parts] = [Math.round(cpu), `app ${Math.round(app)}, PostgreSQL ${Math.round(postgres)}`]
    timings.push({
      name: `${count.toLocaleString('en')} emails ${name}`,
      result: `${Math.round(perSecond)} emails/s, ${each} µs CPU per email: ${parts}`,
    })
  }
  await drain(product, worker, sink, scaled(2_000, scale), CAMPAIGN) // warm up
  const floors = { signed: await push(sink, scaled(EMAILS, scale), true), unsigned: await push(sink, scaled(EMAILS, scale), false) }
  timings.push({ name: 'floor: a loop that signs and pushes', result: `${Math.round(floors.signed)} emails/s` })
  timings.push({ name: 'floor: a loop that only pushes', result: `${Math.round(floors.unsigned)} emails/s` })
  await run('to a receiver that answers at once', EMAILS)
  await run(`of ${Math.round(LARGE.body.length / 1_000)} KB`, LARGE_EMAILS, LARGE)
  sink.behave({ answerMs: 50, refusedShare: 0.05 })
  await run('to a receiver that answers after 50 ms and refuses 5 % for now', SLOW_EMAILS, CAMPAIGN, 0.94)
  await emptyQueue(product)
  sink.behave({ answerMs: 200, refusedShare: 0 })
  await run('to a receiver that answers after 200 ms', SLOW_EMAILS)
  sink.behave(PROMPT)
  return timings
}
