import fc from 'fast-check'
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { many, one } from '../../src/db/index.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/times.ts'
import { type CampaignProject, newCampaignProject } from './campaign-project.ts'

const sterna = useSharedApp()

const CONTACTS = 6
/** Slow enough that requests meet a campaign that is being sent. */
const RATE_PER_MINUTE = 200
/** Campaigns at the same time, each with commands of its own. */
const CAMPAIGNS = 6

let project: CampaignProject
beforeAll(async () => {
  project = await newCampaignProject(sterna)
})

type Action = 'send' | 'pause' | 'resume' | 'cancel'
/** What is known of a campaign from the answers so far. `halted`: emails that were handed over when a pause or cancellation was answered. */
type Model = { sent: boolean; cancelled: boolean; halted: number | undefined }
type Real = {
  id: string
  /** The project is being reset: the campaign may be gone at any moment. */
  isReset: boolean
}

const handedOver = async ({ id }: Real) =>
  (
    await one(
      sterna.db,
      sql<{ count: number }>`
        select count(*)::int as count from emails where project_id = ${project.id} and campaign_id = ${id} and handed_over_at is not null
      `,
    )
  ).count

/** An action that comes too late, or too early, is a 409. A campaign without recipients is a 400: a reset may have removed them. */
async function act({ id, isReset }: Real, action: Action) {
  const { status } = await project.act(id, action)
  expect(isReset ? [200, 400, 404, 409] : [200, 409], `${action}: ${status}`).toContain(status)
  return status === 200
}

/** One action, or two at the same moment. */
class Act implements fc.AsyncCommand<Model, Real> {
  readonly actions: Action[]
  constructor(actions: Action[]) {
    this.actions = actions
  }

  check() {
    return true
  }

  async run(model: Model, real: Real) {
    if (real.isReset) return void (await Promise.all(this.actions.map((action) => act(real, action))))
    if (model.halted !== undefined) expect(await handedOver(real), `handed over during ${this}`).toBe(model.halted)
    const done = await Promise.all(this.actions.map((action) => act(real, action)))
    const taken = this.actions.filter((_, index) => done[index])
    if (taken.includes('send')) {
      expect(model.sent || model.cancelled, 'sent twice').toBe(false)
      model.sent = true
    }
    if (taken.includes('cancel')) {
      expect(model.cancelled, 'cancelled twice').toBe(false)
      model.cancelled = true
    }
    const isHalted = model.cancelled || (taken.includes('pause') && !taken.includes('resume'))
    if (isHalted) model.halted = await handedOver(real)
    else if (taken.includes('resume')) model.halted = undefined
    await expectLedger(real, { ended: false })
  }

  toString() {
    return this.actions.join('+')
  }
}

/** Outcomes never exceed the recipients; at the end they add up to them, and counters are those of the emails and the messages. */
async function expectLedger({ id }: Real, { ended }: { ended: boolean }) {
  const { totalRecipients, sentCount, failedCount, skippedCount } = await project.get(id)
  expect(sentCount + failedCount + skippedCount).toBeLessThanOrEqual(totalRecipients)
  if (!ended) return
  const counted = await one(
    sterna.db,
    sql<object>`
      select count(*)::int as total, count(*) filter (where state = 'sent')::int as sent, count(*) filter (where state = 'failed')::int as failed,
        count(*) filter (where state in ('skipped', 'cancelled'))::int as skipped,
        (select count(*)::int from sandbox_messages m join emails s on s.project_id = m.project_id and s.id = m.email_id
          where m.project_id = ${project.id} and s.campaign_id = ${id}) as messages
      from emails where project_id = ${project.id} and campaign_id = ${id}
    `,
  )
  expect({ total: totalRecipients, sent: sentCount, failed: failedCount, skipped: skippedCount, messages: sentCount }).toEqual(counted)
  expect(sentCount + failedCount + skippedCount).toBe(totalRecipients)
}

/** Lets the campaign end, and compares. */
async function endAndCheck(model: Model, real: Real) {
  if (!model.sent) return
  await act(real, 'resume')
  await eventually(async () => {
    const [row] = await many(sterna.db, sql`select 1 from campaigns where id = ${real.id} and settled_at is not null`)
    expect(row).toBeDefined()
  })
  expect((await project.get(real.id)).status).toBe(model.cancelled ? 'CANCELLED' : 'SENT')
  await expectLedger(real, { ended: true })
}

const anyAction = fc.constantFrom<Action>('send', 'pause', 'resume', 'cancel')
const anyCommands = fc.commands(
  [
    fc.constant(new Act(['send'])),
    fc.constantFrom<Action>('pause', 'resume').map((action) => new Act([action])),
    anyAction.map((action) => new Act([action])),
    fc.tuple(anyAction, anyAction).map((actions) => new Act(actions)),
  ],
  { maxCommands: 8 },
)

/** Runs each sequence on a campaign of its own, all at the same time. */
async function runAll(
  sequences: Iterable<fc.AsyncCommand<Model, Real>>[],
  meanwhile: () => Promise<unknown> = async () => {},
  isReset = false,
) {
  await project.subscribe(...times(CONTACTS, (index) => `person${index}`))
  const campaigns = await Promise.all(sequences.map(() => project.create({ ratePerMinute: RATE_PER_MINUTE })))
  const running = sequences.map(async (commands, index) => {
    const [model, real]: [Model, Real] = [
      { sent: false, cancelled: false, halted: undefined },
      { id: campaigns[index]!.id, isReset },
    ]
    await fc.asyncModelRun(() => ({ model, real }), commands)
    if (!isReset) await endAndCheck(model, real)
  })
  await Promise.all([...running, meanwhile()])
}

const anySequences = fc.array(anyCommands, { minLength: CAMPAIGNS, maxLength: CAMPAIGNS })
/** A second attempt at fewer commands would take as long again. */
const options = { endOnFailure: true }

test('a campaign balances whatever is requested of it, in whatever order and at the same moment', async () => {
  await fc.assert(
    fc.asyncProperty(anySequences, (sequences) => runAll(sequences)),
    { ...options, numRuns: 2 },
  )
})

test('a reset at the same moment leaves nothing of a campaign', async () => {
  // A 503 on a busy machine has done nothing, and is to be repeated.
  const reset = () =>
    eventually(async () => expect((await project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)).status).toBeLessThan(300))
  await fc.assert(
    fc.asyncProperty(anySequences, async (sequences) => {
      await runAll(sequences, reset, true)
      await expectNothingLeft()
    }),
    { ...options, numRuns: 2 },
  )
})

async function expectNothingLeft() {
  await eventually(async () => expect(await many(sterna.db, sql`select 1 from project_wipes`)).toEqual([]))
  for (const table of ['campaigns', 'emails', 'streams', 'stream_rates', 'email_ledger', 'contents', 'sandbox_messages', 'campaign_audit'])
    expect([table, await many(sterna.db, sql`select 1 from ${sql.table(table)} where project_id = ${project.id}`)]).toEqual([table, []])
}
