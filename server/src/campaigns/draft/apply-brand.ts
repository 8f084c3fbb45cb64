import { sql } from 'kysely'
import { many, type Pool, scalar, type Tx, transact } from '../../db/index.ts'
import { nextRevision } from '../../http/core/if-match.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { advanceJob, completeJob, countUnfinished, type JobId, lockJob, queueJob, workInPieces } from '../../jobs/job.ts'
import { fail } from '../../lib/errors/errors.ts'
import type { Brand } from '../../projects/brand.ts'
import { findBrand, isAccepted } from '../../templates/design/body.ts'
import { renderDesign } from '../../templates/design/render.ts'
import type { Design } from '../../templates/design/schema.ts'
import { changeTemplate } from '../../templates/template.ts'

/** Designs per transaction: rendering takes a millisecond each, and their rows are locked meanwhile. */
const PAGE = 20
/** Names that the result lists, of each kind. */
const MAX_NAMED = 50
/** At the same time. */
const MAX_DRY_RUNS = 5
/** A dry run is a job of its own kind. */
const typeOf = (dryRun: boolean) => (dryRun ? 'compare-brand' : 'apply-brand')

/** `savedBy`: the person who gets the new versions of templates. */
type Input = { dryRun: boolean; savedBy: string; total: number }
/** Templates come first. `after` is the last one that was looked at. */
type Position = { kind: Kind; after: string | null; looked: number }
type Kind = 'templates' | 'campaigns'
type Named = { id: string; name: string }
const nothing = () => ({ templates: 0, campaigns: 0, refused: 0, changedTemplates: [] as Named[], changedCampaigns: [] as Named[] })
type Result = { dryRun: boolean } & ReturnType<typeof nothing>
type Row = Named & { design: Design; body: string }

/** Renders the designs of templates and drafts again, in the brand as it is now. One run at a time per project. */
export async function queueBrand(tx: Tx, { projectId, dryRun, savedBy }: { projectId: string; dryRun: boolean; savedBy: string }) {
  const unfinished = await countUnfinished(tx, { projectId, type: typeOf(dryRun) })
  if (unfinished >= (dryRun ? MAX_DRY_RUNS : 1)) fail('CONFLICT', { message: 'The brand is being applied already.' })
  const total = await scalar<number>(tx)`
    select (select count(*)::int from templates where project_id = ${projectId} and design is not null)
      + (select count(*)::int from campaigns where ${draftsOf(projectId)})
  `
  const input: Input = { dryRun, savedBy, total }
  return queueJob(tx, 'campaigns.apply-brand', { projectId, type: typeOf(dryRun), input })
}

const draftsOf = (projectId: string) => sql`project_id = ${projectId} and status = 'DRAFT' and deleted_at is null and design is not null`

export const continueApplyBrand = (db: Pool, job: JobId) => workInPieces((isLast) => transact(db, (tx) => applyPage(tx, job, isLast)))

async function applyPage(tx: Tx, job: JobId, isLast: boolean) {
  const taken = await lockJob<Input, Position>(tx, job)
  if (!taken) return false
  const { input, position } = taken
  const { kind, after, looked } = position ?? { kind: 'templates', after: null, looked: 0 }
  // The result of this job is what `advanceJob` stored.
  const result = (taken.result as unknown as Result | null) ?? { dryRun: input.dryRun, ...nothing() }
  const rows = await lockPage(tx, kind, { projectId: job.projectId, after })
  const next = { ...result, ...(await applyTo(tx, { kind, rows, result, job, input })) }
  const isDone = rows.length < PAGE
  if (isDone && kind === 'campaigns') {
    await completeJob(tx, job, { ...next, changedCount: next.templates + next.campaigns })
    return false
  }
  const seen = looked + rows.length
  const reached: Position = isDone ? { kind: 'campaigns', after: null, looked: seen } : { kind, after: rows.at(-1)!.id, looked: seen }
  await advanceJob(tx, job, { position: reached, result: next, progress: (seen / Math.max(1, input.total)) * 100 })
  if (isLast) await enqueue(tx, 'campaigns.apply-brand', job)
  return true
}

/** In the order of their ids, so that two transactions do not deadlock. */
function lockPage(tx: Tx, kind: Kind, { projectId, after }: { projectId: string; after: string | null }) {
  const from = after === null ? sql`` : sql`and id > ${after}`
  return kind === 'templates'
    ? many<Row>(tx)`
        select id, name, design, body from templates where project_id = ${projectId} and design is not null ${from} order by id limit ${PAGE} for update`
    : many<Row>(tx)`select id, name, design, body from campaigns where ${draftsOf(projectId)} ${from} order by id limit ${PAGE} for update`
}

type Page = { kind: Kind; rows: Row[]; result: Result; job: JobId; input: Input }

/** Adds a page to the result. */
async function applyTo(tx: Tx, { kind, rows, result, job: { projectId }, input }: Page): Promise<Partial<Result>> {
  const brand = await findBrand(tx, projectId)
  const changed: Named[] = []
  let refused = 0
  for (const row of rows) {
    const outcome = await applyOne(tx, { kind, row, brand, projectId, input })
    if (outcome === 'changed') changed.push({ id: row.id, name: row.name })
    if (outcome === 'refused') refused++
  }
  const named = (listed: Named[]) => [...listed, ...changed].slice(0, MAX_NAMED)
  return {
    refused: result.refused + refused,
    ...(kind === 'templates'
      ? { templates: result.templates + changed.length, changedTemplates: named(result.changedTemplates) }
      : { campaigns: result.campaigns + changed.length, changedCampaigns: named(result.changedCampaigns) }),
  }
}

type One = { kind: Kind; row: Row; brand: Brand; projectId: string; input: Input }

async function applyOne(tx: Tx, { kind, row: { id, design, body }, brand, projectId, input }: One) {
  const { html } = renderDesign(design, brand)
  if (html === body) return 'same'
  // A footer can make an email too long.
  if (!(await isAccepted(projectId, html))) return 'refused'
  if (input.dryRun) return 'changed'
  if (kind === 'templates') await changeTemplate(tx, { projectId, id, changes: { design, body: html }, savedBy: input.savedBy })
  else
    await sql`
      update campaigns set body = ${html}, updated_at = ${nextRevision(sql.ref('updated_at'))} where project_id = ${projectId} and id = ${id}
    `.execute(tx)
  return 'changed'
}
