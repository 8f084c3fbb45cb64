import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll } from 'vitest'
import { explainExpression } from '../../src/conditions/explain.ts'
import type { Expression } from '../../src/conditions/expression.ts'
import { readFacts } from '../../src/conditions/facts.ts'
import { type Evaluation, evaluationOf, matchesExpression, matchesInTurns } from '../../src/conditions/match.ts'
import { expressionSql, probeSql, type ScanSql, type SqlContext, scanSql } from '../../src/conditions/sql.ts'
import { connect, many, type Pool } from '../../src/db/index.ts'
import { lowestId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { cloneDatabase } from '../support/database.ts'

export type World = {
  projectId: string
  /** `data` is JSON text: it may hold numbers that JavaScript cannot. */
  contacts: { id: string; email: string; subscribed: boolean; data: string; createdAt: Date; updatedAt: Date }[]
  events: { contactId: string; name: string; at: Date; data: object }[]
  members: { segmentId: string; contactId: string }[]
}

/** A database for a test file. Call at the top level; `db` is set before the first test. */
export function useDatabase() {
  const database = {} as { db: Pool }
  let close = async () => {}
  beforeAll(async () => {
    const { url, drop } = await cloneDatabase()
    database.db = connect({ url, max: 4, log: createLog('silent') })
    close = async () => {
      await database.db.destroy()
      await drop()
    }
  })
  afterAll(() => close())
  return database
}

/** An event id with this time. */
const idAt = (at: Date) => `${lowestId(at).slice(0, 14)}7${randomUUID().slice(15)}`

export async function write(db: Pool, { projectId, contacts, events, members }: World) {
  const column = <Row, Key extends keyof Row>(rows: Row[], key: Key) => rows.map((row) => row[key])
  await sql`
    insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
    select ${projectId}::uuid, id, email, subscribed, data::jsonb, created_at, updated_at
    from unnest(
      ${column(contacts, 'id')}::uuid[], ${column(contacts, 'email')}::text[], ${column(contacts, 'subscribed')}::boolean[],
      ${column(contacts, 'data')}::text[], ${column(contacts, 'createdAt')}::timestamptz[], ${column(contacts, 'updatedAt')}::timestamptz[]
    ) as c(id, email, subscribed, data, created_at, updated_at)
  `.execute(db)
  await sql`
    insert into events (project_id, id, name, contact_id, data)
    select ${projectId}::uuid, id, name, contact_id, data::jsonb
    from unnest(
      ${events.map(({ at }) => idAt(at))}::uuid[], ${column(events, 'name')}::text[], ${column(events, 'contactId')}::uuid[],
      ${events.map(({ data }) => JSON.stringify(data))}::text[]
    ) as e(id, name, contact_id, data)
  `.execute(db)
  await sql`
    insert into segment_members (project_id, segment_id, contact_id)
    select ${projectId}::uuid, segment_id, contact_id
    from unnest(${column(members, 'segmentId')}::uuid[], ${column(members, 'contactId')}::uuid[]) as m(segment_id, contact_id)
    on conflict do nothing
  `.execute(db)
}

/** The ids of the contacts that match each expression, as every reader finds them, in order. */
export async function readAll(db: Pool, expressions: Expression[], context: SqlContext) {
  return {
    probed: await readRowByRow(db, expressions, context),
    scanned: await readWholeProject(db, expressions, context, scanSql),
    sampled: await readWholeProject(db, expressions, context, probeSql),
    ...(await readInMemory(db, expressions, context)),
  }
}

const group = (rows: { expression: number; id: string }[], count: number) =>
  Array.from({ length: count }, (_, index) =>
    rows
      .filter(({ expression }) => expression === index)
      .map(({ id }) => id)
      .sort(),
  )

/** All expressions in one statement: a statement for each would take most of the time of a test. */
async function readRowByRow(db: Pool, expressions: Expression[], context: SqlContext) {
  const parts = expressions.map(
    (expression, index) => sql`
      select ${index}::int as expression, id from contacts
      where project_id = ${context.projectId} and ${expressionSql(expression, context)}`,
  )
  return group(await many(db, sql<{ expression: number; id: string }>`${sql.join(parts, sql` union all `)}`), expressions.length)
}

type Compile = (expression: Expression, context: SqlContext) => ScanSql

async function readWholeProject(db: Pool, expressions: Expression[], context: SqlContext, compile: Compile) {
  const parts = expressions.map((expression, index) => {
    const { joins, matches } = compile(expression, context)
    return sql`
      select ${index}::int as expression, contacts.id from contacts ${joins}
      where contacts.project_id = ${context.projectId} and ${matches}`
  })
  return group(await many(db, sql<{ expression: number; id: string }>`${sql.join(parts, sql` union all `)}`), expressions.length)
}

async function readInMemory(db: Pool, expressions: Expression[], context: SqlContext) {
  const rows = await many(db, sql<{ id: string }>`select id from contacts where project_id = ${context.projectId}`)
  const facts = await readFacts(db, { projectId: context.projectId, contactIds: rows.map(({ id }) => id), expressions })
  const evaluations = facts.map((about) => evaluationOf(about, context))
  const idsWhere = async (isMatch: (expression: Expression, about: Evaluation) => boolean | Promise<boolean>) => {
    const answers = async (expression: Expression) => Promise.all(evaluations.map((about) => isMatch(expression, about)))
    const found = await Promise.all(expressions.map(answers))
    return found.map((matches) =>
      facts
        .filter((_, index) => matches[index])
        .map(({ contact }) => contact.id)
        .sort(),
    )
  }
  const pause = async () => {}
  return {
    matched: await idsWhere(matchesExpression),
    matchedInTurns: await idsWhere((expression, about) => matchesInTurns(expression, about, pause)),
    explained: await idsWhere(async (expression, about) => (await explainExpression(expression, about, pause)).matches),
  }
}

type Answers = Awaited<ReturnType<typeof readAll>>

/** The answers of every reader for one expression, and those that they must be: the answers of one of them. */
export function compareAnswers(answers: Answers, index: number) {
  const readers = Object.keys(answers) as (keyof Answers)[]
  const pick = (of: (reader: keyof Answers) => string[] | undefined) => Object.fromEntries(readers.map((reader) => [reader, of(reader)]))
  return { found: pick((reader) => answers[reader][index]), expected: pick(() => answers.probed[index]) }
}
