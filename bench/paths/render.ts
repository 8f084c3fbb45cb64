import { renderDesign } from '../../server/src/templates/design/render.ts'
import { readDesign } from '../../server/src/templates/design/schema.ts'
import type { Recipient } from '../../server/src/templates/language/variables.ts'
import { renderEmails } from '../../server/src/templates/rendering/render.ts'
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
    { name: 'design of 40 blocks to HTML', result: timeDesign() },
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

const SOME_BLOCKS = [
  { type: 'heading', attrs: { level: 2 }, content: [{ type: 'text', text: 'What is new in May' }] },
  {
    type: 'paragraph',
    attrs: {},
    content: [
      { type: 'text', text: 'Dear ' },
      { type: 'variable', attrs: { path: 'first name', fallback: 'customer' } },
      { type: 'text', text: ', the quick brown fox jumps over the lazy dog. ' },
      { type: 'text', text: 'Read more', marks: [{ type: 'link', attrs: { href: 'https://example.com/may' } }] },
    ],
  },
  {
    type: 'columns',
    attrs: {},
    content: ['Left', 'Right'].map((text) => ({
      type: 'column',
      content: [{ type: 'paragraph', attrs: {}, content: [{ type: 'text', text }] }],
    })),
  },
  { type: 'button', attrs: { href: 'https://example.com/start' }, content: [{ type: 'text', text: 'Start' }] },
]
const ROUNDS = 15
const RENDERS = 100

/** Beside `JSON.stringify` of the same design, in turns: their ratio does not depend on the machine. */
function timeDesign() {
  const design = readDesign({ version: 1, content: Array.from({ length: 10 }, () => SOME_BLOCKS).flat() })
  const perCall = (work: () => unknown) => {
    const before = performance.now()
    for (let call = 0; call < RENDERS; call++) work()
    return (performance.now() - before) / RENDERS
  }
  const rounds = Array.from({ length: ROUNDS }, () => ({
    render: perCall(() => renderDesign(design)),
    json: perCall(() => JSON.stringify(design)),
  }))
  const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
  const render = median(rounds.map((round) => round.render))
  const ratio = median(rounds.map((round) => round.render / round.json))
  return `${(render * 1000).toFixed(0)} µs, ${ratio.toFixed(0)} times JSON.stringify of the design`
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
