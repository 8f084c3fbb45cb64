import { createHash } from 'node:crypto'
import {
  CompiledQuery,
  type Kysely,
  type OperationNode,
  PostgresQueryCompiler,
  type QueryResult,
  type RawBuilder,
  RawNode,
  sql,
  ValueNode,
} from 'kysely'
import type { Schema } from './schema.ts'

type Executor = Kysely<Schema>

/** A statement that can be run. */
export type Statement<Row> = { compile(db: Executor): CompiledQuery<Row>; execute(db: Executor): Promise<QueryResult<Row>> }

/**
 * A statement that PostgreSQL parses and plans once per connection, as in ``many(db, prepared<Row>`select …`)``: for statements that run on every
 * request and have one good plan whatever their parameters. Planning them costs more than running them. The fragments of its text must be SQL of
 * few forms: each text is kept, here and by every connection.
 */
export function prepared<Row>(text: TemplateStringsArray, ...values: unknown[]): RawBuilder<Row> {
  const statement = sql<Row>(text, ...values)
  const compile = () => toQuery<Row>(statement.toOperationNode())
  return Object.assign(statement, { compile, execute: (db: Executor) => db.executeQuery(compile()) })
}

/** By text: a hash of it. A pooler in transaction mode knows a statement by its name, whichever process prepared it. */
const names = new Map<string, string>()

/** The name of a text, if it is that of a prepared statement. */
export const preparedName = (text: string) => names.get(text)

const nameOf = (text: string) => `sterna_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`

function toQuery<Row>(node: OperationNode) {
  const query: Written = { text: '', parameters: [] }
  write(node, query)
  if (!names.has(query.text)) names.set(query.text, nameOf(query.text))
  return CompiledQuery.raw(query.text, query.parameters) as CompiledQuery<Row>
}

type Written = { text: string; parameters: unknown[] }

/** Does what the compiler of Kysely does, without its general walk: for a long statement, that takes longer than sending it. */
function write(node: OperationNode, query: Written) {
  if (RawNode.is(node)) {
    const { sqlFragments, parameters } = node
    for (let index = 0; index < sqlFragments.length; index++) {
      query.text += sqlFragments[index]
      if (index < parameters.length) write(parameters[index]!, query)
    }
  } else if (ValueNode.is(node) && !node.immediate) query.text += `$${query.parameters.push(node.value)}`
  else query.text += textOf(node)
}

const compiler = new PostgresQueryCompiler()
const texts = new WeakMap<OperationNode, string>()

/** The text of a name or a literal. */
function textOf(node: OperationNode) {
  const known = texts.get(node)
  if (known !== undefined) return known
  const { sql: text, parameters } = compiler.compileQuery(RawNode.createWithChild(node), { queryId: '' })
  if (parameters.length) throw new Error(`a prepared statement has no ${node.kind}`)
  texts.set(node, text)
  return text
}
