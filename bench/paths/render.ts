import type { Recipient } from '../../server/src/templates/language/variables.ts'
import { renderEmails } from '../../server/src/templates/render.ts'
import type { Timing } from './contacts.ts'

const BATCH = 200
const BATCHES = 100

const PARAGRAPH = '<p style="margin:0">Dear {{ first name ?? "customer" }}, your plan is {{ plan | upcase }} since {{ createdAt }}.</p>\n'
const VARIABLES_ONLY = `${PARAGRAPH.repeat(10)}${'<p>The quick brown fox jumps over the lazy dog.</p>\n'.repeat(17)}`
const WITH_LOOP = `${PARAGRAPH.repeat(10)}{% for item in items %}<li>{{ item.name }}: {{ item.price | times: 2 }}</li>{% endfor %}${'<p>Lorem ipsum dolor sit amet.</p>\n'.repeat(170)}`

/** Batches as a worker renders them, one after the other, with the template compiled once. */
export async function timeRendering(): Promise<Timing[]> {
  return [
    { name: `render, ${size(VARIABLES_ONLY)}, 30 variables, main thread`, result: await perEmail(VARIABLES_ONLY) },
    { name: `render, ${size(WITH_LOOP)}, 30 variables and a loop of 10, threads`, result: await perEmail(WITH_LOOP) },
  ]
}

const size = (body: string) => `${(body.length / 1024).toFixed(1)} KB`

async function perEmail(body: string) {
  const template = { subject: 'Hi {{ first name }}', body }
  const recipients = Array.from({ length: BATCH }, (_, n) => recipientAt(n))
  for (let warmUp = 0; warmUp < 10; warmUp++) await renderEmails(template, recipients)
  const before = performance.now()
  for (let batch = 0; batch < BATCHES; batch++) {
    const failed = (await renderEmails(template, recipients)).find(({ ok }) => !ok)
    if (failed) throw new Error(`an email was not rendered: ${JSON.stringify(failed)}`)
  }
  return `${(((performance.now() - before) / BATCH / BATCHES) * 1000).toFixed(1)} µs per email`
}

const recipientAt = (n: number): Recipient => ({
  id: `contact-${n}`,
  email: `person${n}@bench.example`,
  subscribed: true,
  createdAt: '2026-01-02T03:04:05.000Z',
  unsubscribeUrl: `https://mail.example/unsubscribe/${n}`,
  subscribeUrl: `https://mail.example/subscribe/${n}`,
  manageUrl: `https://mail.example/manage/${n}`,
  data: {
    'first name': `Ada ${n}`,
    plan: 'pro',
    items: Array.from({ length: 10 }, (_, item) => ({ name: `Item ${item}`, price: item * n })),
  },
})
