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

type Prepared<Row, Values> = RawBuilder<Row> & {
  /** The statement with values in the places of `given`. */
  with(values: Values): Statement<Row>
}

/**
 * A statement that PostgreSQL parses and plans once per connection, as in ``many(db, prepared<Row>`select …`)``: for statements that run on every
 * request and have one good plan whatever their parameters. Planning them costs more than running them. The fragments of its text must be SQL of
 * few forms: each text is kept, here and by every connection.
 *
 * On the hottest paths the statement is a constant, since making the text of a long one takes longer than sending it. Its values are `given`:
 * ``const MARK = prepared<Row, Values>`… ${given<Values>().worker} …` ``, and then `many(db, MARK.with({ worker }))`.
 */
export function prepared<Row, Values extends object = never>(text: TemplateStringsArray, ...parts: unknown[]): Prepared<Row, Values> {
  const statement = sql<Row>(text, ...parts)
  let written: Written | undefined
  const runnable = (values?: Values): Statement<Row> => {
    const compile = () => {
      written ??= textOf(statement.toOperationNode())
      return toQuery<Row>(written, values)
    }
    return { compile, execute: (db) => db.executeQuery(compile()) }
  }
  return Object.assign(statement, runnable(), { with: runnable })
}

class Given {
  readonly name: string
  readonly isJson: boolean

  constructor(name: string, isJson = false) {
    this.name = name
    this.isJson = isJson
  }
}

/** The values of a constant statement, in the places where each execution has its own. */
export const given = <Values extends object>() => new Proxy({}, { get: (_, name) => new Given(String(name)) }) as Values

/** A parameter that is JSON. */
export const json = (value: unknown) => (value instanceof Given ? new Given(value.name, true) : JSON.stringify(value))

function valueAt(parameter: unknown, values: object | undefined) {
  if (!(parameter instanceof Given)) return parameter
  const value = (values as Record<string, unknown>)[parameter.name]
  return parameter.isJson ? JSON.stringify(value) : value
}

/** By text: a hash of it. A pooler in transaction mode knows a statement by its name, whichever process prepared it. */
const names = new Map<string, string>()

/** The name of a text, if it is that of a prepared statement. */
export const preparedName = (text: string) => names.get(text)

const nameOf = (text: string) => `sterna_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`

const toQuery = <Row>({ text, parameters }: Written, values: object | undefined) =>
  CompiledQuery.raw(
    text,
    parameters.map((parameter) => valueAt(parameter, values)),
  ) as CompiledQuery<Row>

type Written = { text: string; parameters: unknown[] }

function textOf(node: OperationNode) {
  const written: Written = { text: '', parameters: [] }
  write(node, written)
  if (!names.has(written.text)) names.set(written.text, nameOf(written.text))
  return written
}

/** Does what the compiler of Kysely does, in a fraction of its time. */
function write(node: OperationNode, into: Written) {
  if (RawNode.is(node)) {
    const { sqlFragments, parameters } = node
    for (let index = 0; index < sqlFragments.length; index++) {
      into.text += sqlFragments[index]
      if (index < parameters.length) write(parameters[index]!, into)
    }
  } else if (ValueNode.is(node) && !node.immediate) into.text += `$${into.parameters.push(node.value)}`
  else into.text += nameOrLiteral(node)
}

const compiler = new PostgresQueryCompiler()
const constants = new WeakMap<OperationNode, string>()

function nameOrLiteral(node: OperationNode) {
  const known = constants.get(node)
  if (known !== undefined) return known
  const { sql: text, parameters } = compiler.compileQuery(RawNode.createWithChild(node), { queryId: '' })
  if (parameters.length) throw new Error(`a prepared statement has no ${node.kind}`)
  constants.set(node, text)
  return text
}
