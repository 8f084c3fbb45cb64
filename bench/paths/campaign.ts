import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { connect } from '../../server/src/db/index.ts'
import { type BuildRequest, createMessageBuilder } from '../../server/src/delivery/message/build.ts'
import { type ClaimedEmail, createClaim } from '../../server/src/delivery/outbox/claim.ts'
import { createContents } from '../../server/src/delivery/outbox/contents/content.ts'
import { KEYED_PLANS } from '../../server/src/delivery/outbox/keyed-plans.ts'
import { createMark } from '../../server/src/delivery/outbox/mark.ts'
import { createSettle } from '../../server/src/delivery/outbox/settle.ts'
import { PRIORITIES } from '../../server/src/delivery/outbox/streams/stream-of.ts'
import { passGate } from '../../server/src/delivery/sender/gate.ts'
import { idOf } from '../../server/src/delivery/sender/settlements.ts'
import { createSmtpTransport } from '../../server/src/delivery/transport/smtp.ts'
import { createLog } from '../../server/src/lib/process/log.ts'
import { deriveSecrets } from '../../server/src/lib/secrets.ts'
import { bytesOf } from '../../server/src/mime/compose.ts'
import { unsubscribeHeaders } from '../../server/src/preferences/footer.ts'
import { preferenceLinks } from '../../server/src/preferences/link.ts'
import type { Recipient } from '../../server/src/templates/language/variables.ts'
import { outgoingHtml } from '../../server/src/templates/outgoing-html.ts'
import { renderEmails } from '../../server/src/templates/rendering/render.ts'
import type { Node } from '../node.ts'
import { cpuMicroseconds } from '../process.ts'
import { connectToBench, scaled } from '../seed.ts'
import type { Product, Timing } from './contacts.ts'
import { type BenchContent, DOMAIN, drain, queueEmails, type Sink } from './drain.ts'

const EMAILS = 20_000
const ROUNDS = 3
const LINKS = 30
/** As a worker claims bulk emails, builds them and has them on the wire. */
const CLAIMED = 96
const BATCH = 48
const CONCURRENCY = 64

const ARTICLE = (n: number) => `<tr><td style="padding:12px 0;border-bottom:1px solid #dddddd">
<h2 style="margin:0"><a href="https://shop.example/articles/${n}?utm_source=news&amp;utm_campaign=spring">Article ${n}</a></h2>
<p>The quick brown fox jumps over the lazy dog.</p></td></tr>
`
export const CAMPAIGN: BenchContent = {
  type: 'MARKETING',
  subject: '{{ field1 }}, your news',
  previewText: 'For {{ field1 }}: thirty articles',
  body: `<!doctype html><html><head><title>News</title><style>a { color: #0b5cad }</style></head><body style="margin:0;font:16px/1.5 Arial">
<h1>Dear {{ field1 ?? "reader" }},</h1><p>your plan is {{ field2 }}, in {{ field3 }} since {{ field4 }}.</p>
<table role="presentation">${Array.from({ length: LINKS }, (_, n) => ARTICLE(n)).join('')}</table>
<p>Yours, {{ field5 }}</p></body></html>`,
}
/** Of eight texts, one for each combination of three conditions. */
const CONDITIONAL: BenchContent = {
  ...CAMPAIGN,
  body: CAMPAIGN.body
    .replace('<table', '{% if field6 contains "7" %}<p>A gift for you.</p>{% else %}<p>Welcome.</p>{% endif %}<table')
    .replace(
      '<p>Yours',
      '{% unless field7 contains "3" %}<p>P. S. {{ field8 }}</p>{% endunless %}{% if field9 contains "1" %}<p>Bye.</p>{% endif %}<p>Yours',
    ),
}
const SIZE = `${(CAMPAIGN.body.length / 1024).toFixed(1)} KB, ${LINKS} tracked links`

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!

type DrainOptions = { scale: number; name: string; isConditional?: boolean }

export async function timeCampaignDrain(product: Product, worker: Node, sink: Sink, { scale, name, isConditional }: DrainOptions) {
  const content = isConditional ? CONDITIONAL : CAMPAIGN
  const count = scaled(EMAILS, scale)
  await drain(product, worker, sink, scaled(2_000, scale), content) // warm up
  const rounds: Awaited<ReturnType<typeof drain>>[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(await drain(product, worker, sink, count, content))
  const medianOf = (of: (round: (typeof rounds)[number]) => number) => Math.round(median(rounds.map(of)))
  const cpu = medianOf((round) => round.cpu)
  const timing: Timing = {
    name: `campaign of ${count.toLocaleString('en')} emails, ${SIZE}, ${name}, median of ${ROUNDS}`,
    result: `${medianOf(({ perSecond }) => perSecond)} emails/s, ${cpu} µs CPU per email: app ${medianOf(({ app }) => app)}, PostgreSQL ${medianOf(({ postgres }) => postgres)}`,
  }
  return { cpu, timing }
}

type SplitOptions = { scale: number; databaseUrl: string; totals: { signed: number; unsigned: number } }
type Step = { name: string; micros: number }

/** The CPU time of each step alone, in this process and in PostgreSQL. The rest of the total is the loop of the worker and its threads. */
export async function timeSplit(product: Product, sink: Sink, { scale, databaseUrl, totals }: SplitOptions): Promise<Timing[]> {
  const count = scaled(EMAILS, scale)
  const built = await timeBuild(count)
  const steps: Step[] = [
    ...built.steps,
    { name: 'SMTP', micros: await timeSmtp(sink, built.message, count) },
    ...(await timeStatements(product, databaseUrl, count)),
  ]
  const sum = steps.reduce((all, { micros }) => all + micros, 0)
  const rest = { name: 'rest: loop, threads, garbage collection', micros: totals.signed - sum }
  return [...steps, rest].map(({ name, micros }) => ({
    name: `of these, alone: ${name}`,
    result: `${Math.round(micros)} µs, ${Math.round((micros / totals.signed) * 100)} %`,
  }))
}

/** CPU time of this process and, if given, of the PostgreSQL of another, per email. */
async function cpuPerEmail(count: number, work: () => Promise<void>, postgresOf?: number) {
  const own = () => {
    const { user, system } = process.cpuUsage()
    return user + system
  }
  const database = () => (postgresOf === undefined ? 0 : cpuMicroseconds(postgresOf))
  const before = own() + database()
  await work()
  return (own() + database() - before) / count
}

// Building -------------------------------------------------------------------------------------------------------------

const secrets = deriveSecrets('a master key that only the benchmark uses')
const PUBLIC_URL = 'https://mail.bench.example'

async function timeBuild(count: number) {
  const projectId = randomUUID()
  const recipients = Array.from({ length: BATCH }, (_, n) => recipientAt(projectId, n))
  const build = createMessageBuilder({ secrets, publicUrl: PUBLIC_URL, log: createLog('warn') })
  const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const signer = { domain: DOMAIN, selector: 'sterna', key }

  const requests = () => requestsFor(projectId, recipients)
  const rounds = Math.ceil(count / BATCH)
  const emails = rounds * BATCH
  const render = async () => {
    for (let round = 0; round < rounds; round++) await requests()
  }
  const [ready] = [await requests()]
  const compose = async (more: Pick<BuildRequest, 'signer'>) => {
    for (let n = 0; n < emails; n++) bytesOf(build({ ...ready[n % BATCH]!, ...more }))
  }
  await render()
  await compose({ signer: undefined })
  const micros = {
    render: await cpuPerEmail(emails, render),
    compose: await cpuPerEmail(emails, () => compose({ signer: undefined })),
    signed: await cpuPerEmail(emails, () => compose({ signer })),
  }
  return {
    message: bytesOf(build({ ...ready[0]!, signer })),
    steps: [
      { name: 'render', micros: micros.render },
      { name: 'compose', micros: micros.compose },
      { name: 'sign', micros: micros.signed - micros.compose },
    ],
  }
}

/** As the pipeline of a worker makes them. */
async function requestsFor(projectId: string, recipients: Recipient[]): Promise<BuildRequest[]> {
  const email = { type: 'MARKETING' as const, fromName: 'Bench', projectLanguage: 'en' }
  const results = await renderEmails(CAMPAIGN, recipients)
  return results.map((rendered, index) => {
    if (!rendered.ok) throw new Error(rendered.reason)
    const recipient = recipients[index]!
    const id = recipient.id
    return {
      email: { projectId, id, messageId: `${id}@${DOMAIN}`, createdAt: new Date(), toAddress: recipient.email, toName: null },
      content: { id: projectId, type: 'MARKETING', fromAddress: `news@${DOMAIN}`, replyTo: null, attachments: [] },
      fromName: 'Bench',
      subject: rendered.subject,
      html: outgoingHtml(email, recipient, rendered),
      headers: unsubscribeHeaders('MARKETING', recipient, {}),
      tracking: 'ENABLED',
      returnPath: undefined,
      signer: undefined,
    }
  })
}

function recipientAt(projectId: string, n: number): Recipient {
  const id = randomUUID()
  return {
    id,
    email: `reader${n}@drain.example`,
    subscribed: true,
    createdAt: '2026-01-02T03:04:05.000Z',
    ...preferenceLinks(secrets, PUBLIC_URL, { projectId, contactId: id }),
    data: Object.fromEntries(Array.from({ length: 40 }, (_, field) => [`field${field}`, `value ${field} of ${n}`])),
  }
}

// The wire -------------------------------------------------------------------------------------------------------------

async function timeSmtp(sink: Sink, message: Buffer, count: number) {
  const smtp = createSmtpTransport({ url: sink.url, name: 'bench.example' })
  const outgoing = { projectId: null, id: 'x', from: `news@${DOMAIN}`, recipient: 'reader@drain.example', subject: 'x', message }
  const push = (emails: number) =>
    concurrently(Array.from({ length: emails }), async () => {
      const outcome = await smtp.send(outgoing, async () => () => true)
      if (outcome.is !== 'accepted') throw new Error(`the sink replied ${JSON.stringify(outcome)}`)
    })
  await push(1_000)
  const micros = await cpuPerEmail(count, () => push(count))
  await smtp.close()
  return micros
}

// The database ---------------------------------------------------------------------------------------------------------

/** Any number that no worker has. */
const WORKER = 1

async function timeStatements(product: Product, databaseUrl: string, count: number): Promise<Step[]> {
  const client = await connectToBench(product.dataDir)
  await client.query(
    `insert into senders (worker, lease_until) values ($1, 'infinity') on conflict (worker) do update set lease_until = 'infinity'`,
    [WORKER],
  )
  const db = connect({ url: databaseUrl, max: 4, log: createLog('warn'), settings: KEYED_PLANS })
  try {
    await queueEmails(client, product.projectId, count, 'CAMPAIGN', CAMPAIGN)
    const contentsOf = createContents(db).find
    const mark = createMark(db, WORKER)
    const settle = createSettle(db, new AbortController().signal)
    const micros = (work: () => Promise<void>) => cpuPerEmail(count, work, product.pid)
    const claimed: ClaimedEmail[] = []
    return [
      { name: 'claim', micros: await micros(() => claimAll(createClaim(db, WORKER), claimed, count)) },
      {
        name: 'gate',
        micros: await micros(async () => {
          for (let at = 0; at < count; at += BATCH) await passGate(db, claimed.slice(at, at + BATCH), contentsOf)
        }),
      },
      {
        name: 'mark',
        micros: await micros(() =>
          concurrently(claimed, async (email) => {
            if (!(await mark({ ...idOf(email), streamId: email.streamId, needsConsent: true, subject: 'value 1, your news' })))
              throw new Error('an email was not marked')
          }),
        ),
      },
      {
        name: 'settle',
        micros: await micros(() =>
          concurrently(claimed, async (email) => void (await settle({ ...idOf(email), state: 'sent', error: null }))),
        ),
      },
    ]
  } finally {
    await client.query('delete from senders where worker = $1', [WORKER])
    await Promise.all([client.end(), db.destroy()])
  }
}

async function claimAll(claim: ReturnType<typeof createClaim>, claimed: ClaimedEmail[], count: number) {
  while (claimed.length < count) {
    const some = await claim(PRIORITIES.bulk, { limit: CLAIMED, except: [] })
    if (!some.length) throw new Error(`only ${claimed.length} emails could be claimed`)
    claimed.push(...some)
  }
}

/** As many at once as a worker has on the wire. */
async function concurrently<Item>(items: Item[], work: (item: Item) => Promise<void>) {
  let next = 0
  const run = async () => {
    while (next < items.length) await work(items[next++]!)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, run))
}
