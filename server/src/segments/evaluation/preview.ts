import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { type Expression, type FilterNode, toExpression } from '../../conditions/expression.ts'
import { OPERATORS } from '../../conditions/operators.ts'
import { referencesOf } from '../../conditions/references.ts'
import type { ConditionTree } from '../../conditions/schema.ts'
import { expressionSql, probeSql, type ScanSql, type SqlContext, scanSql } from '../../conditions/sql.ts'
import { CONTACT_COLUMNS, Contact, type ContactRow, showContact } from '../../contacts/record/contact.ts'
import { type Db, many, one, type Pool } from '../../db/index.ts'
import { maySendSql, SUPPRESSION_JOINS } from '../../delivery/rules/may-send.ts'
import { failTooSlow, LONG_STATEMENT_MS } from '../../http/limits/too-slow.ts'
import { SECOND } from '../../lib/text/units.ts'
import { scanContacts } from '../../projects/scans.ts'
import { loadLookup } from '../definition/expressions.ts'
import { readSqlContext } from './evaluate.ts'
import { sampleContacts, scaleUp } from './sample.ts'

export const SegmentPreview = z.object({
  count: z.int().describe('Contacts that match.'),
  estimated: z.boolean().describe('True if the numbers come from a sample of 10,000 contacts.'),
  mailable: z.int().describe('Matching contacts that are subscribed and not suppressed.'),
  perFilter: z.array(
    z.object({
      path: z.string().describe('Place of the filter in the condition, such as `groups.0.filters.1`.'),
      field: z.string(),
      operator: z.enum(OPERATORS),
      remaining: z.int().describe('Contacts that match the filters of its group up to and including this one.'),
    }),
  ),
  sample: z.array(Contact).describe('Up to five matching contacts, newest first.'),
})

/** Longest scan of all contacts. */
const SCAN_MS = 2 * SECOND
/** With more filters, only a sample is evaluated. */
const MAX_SCANNED_FILTERS = 20
const SHOWN_CONTACTS = 5

type Question = { expression: Expression; filters: Placed[]; context: SqlContext }

/** Evaluates a condition that is not stored. */
export async function previewCondition(db: Pool, projectId: string, tree: ConditionTree): Promise<z.output<typeof SegmentPreview>> {
  const lookup = await loadLookup(db, projectId, referencesOf(tree).segments)
  const expression = toExpression(tree, lookup)
  const filters = placeFilters(expression)
  const question = { expression, filters, context: await readSqlContext(db, projectId, expression) }
  const exact = filters.length <= MAX_SCANNED_FILTERS && (await scanAll(db, question))
  const { numbers, estimated, sample } =
    exact || (await scanContacts(db, { projectId, ms: LONG_STATEMENT_MS }, (tx) => scanSample(tx, question), failTooSlow))
  const { count, mailable, remaining } = numbers
  const perFilter = filters.map(({ node: { path, filter } }, index) => ({
    path,
    field: filter.field,
    operator: filter.operator,
    remaining: remaining[index]!,
  }))
  return { count, estimated, mailable, perFilter, sample: sample.map(showContact) }
}

/** Undefined when it takes too long. */
const scanAll = (db: Pool, question: Question) =>
  scanContacts(db, { projectId: question.context.projectId, ms: SCAN_MS }, async (tx) => {
    const numbers = await one(tx, numbersSql(question, scanSql(question.expression, question.context), sql`true`))
    return { numbers, estimated: false, sample: numbers.count ? await many(tx, sampleSql(question, sql`true`)) : [] }
  })

async function scanSample(db: Db, question: Question) {
  const { ids, total, isComplete } = await sampleContacts(db, question.context.projectId)
  const isSampled = sql`contacts.id = any(${ids}::uuid[])`
  const scan = probeSql(question.expression, question.context)
  const { count, mailable, remaining } = await one(db, numbersSql(question, scan, isSampled))
  const scaled = (number: number) => scaleUp(number, ids.length, total)
  return {
    numbers: { count: scaled(count), mailable: scaled(mailable), remaining: remaining.map(scaled) },
    estimated: !isComplete,
    sample: count ? await many(db, sampleSql(question, isSampled)) : [],
  }
}

const sampleSql = ({ expression, context }: Question, which: RawBuilder<unknown>) => sql<ContactRow>`
  select ${CONTACT_COLUMNS} from contacts
  where project_id = ${context.projectId} and ${which} and ${expressionSql(expression, context)}
  order by id desc limit ${SHOWN_CONTACTS}`

/** Evaluates each filter once per contact. Without the offset the planner would evaluate it wherever its result is used. */
function numbersSql({ context, expression, filters }: Question, { joins, each }: ScanSql, which: RawBuilder<unknown>) {
  const columns = new Map(filters.map(({ node }, index) => [node, sql.ref(`filter_${index}`)]))
  const matches = combine(expression, columns)
  const evaluated = filters.map(({ node }) => sql`${each.get(node.path)} as ${columns.get(node)}`)
  const remaining = filters.map(({ upTo }) => {
    const all = upTo.map((node) => columns.get(node)!)
    return sql`(count(*) filter (where ${sql.join(all, sql` and `)}))::int`
  })
  return sql<{ count: number; mailable: number; remaining: number[] }>`
    select (count(*) filter (where ${matches}))::int as count, (count(*) filter (where ${matches} and is_mailable))::int as mailable,
      array[${sql.join(remaining)}] as remaining
    from (
      select ${maySendSql('MARKETING')} as is_mailable, ${sql.join(evaluated)}
      from contacts ${joins} ${SUPPRESSION_JOINS}
      where contacts.project_id = ${context.projectId} and ${which}
      offset 0
    ) as evaluated`
}

/** The condition over the results of its filters. */
function combine(expression: Expression, columns: Map<Expression, RawBuilder<unknown>>): RawBuilder<unknown> {
  if (expression.type === 'filter') return columns.get(expression)!
  const nodes = expression.nodes.map((node) => combine(node, columns))
  return sql`(${sql.join(nodes, expression.type === 'and' ? sql` and ` : sql` or `)})`
}

type Placed = { node: FilterNode; upTo: FilterNode[] }

/** The filters of a condition in order, each with those of its group up to it. */
function placeFilters(expression: Expression): Placed[] {
  if (expression.type === 'filter') return []
  const own = expression.nodes.filter((node) => node.type === 'filter')
  return [...own.map((node, index) => ({ node, upTo: own.slice(0, index + 1) })), ...expression.nodes.flatMap((node) => placeFilters(node))]
}
