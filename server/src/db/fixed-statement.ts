import { CompiledQuery, type Kysely, type QueryResult, type RawBuilder } from 'kysely'
import type { Schema } from './schema.ts'

type Executor = Kysely<Schema>

/** A statement that can be run: one that is written in place, or a fixed one with its values. */
export type Statement<Row> = { compile(db: Executor): CompiledQuery<Row>; execute(db: Executor): Promise<QueryResult<Row>> }

class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/**
 * A statement for hot paths, whose text is made once: making that of a long statement takes longer than sending it. `build` gets placeholders of
 * the values, and must not look at them. Where the text depends on more, that is its `variant`, of which there are few.
 */
export function fixedStatement<Values extends Record<string, unknown>, Row, Variant>(
  build: (values: Values, variant: Variant) => RawBuilder<Row>,
) {
  const texts = new Map<string | undefined, { sql: string; parameters: readonly unknown[] }>()

  function textOf(db: Executor, variant: Variant | undefined) {
    const key = JSON.stringify(variant)
    const known = texts.get(key)
    if (known) return known
    const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) })
    const { sql, parameters } = build(placeholders as Values, variant as Variant).compile(db)
    texts.set(key, { sql, parameters })
    return { sql, parameters }
  }

  return (values: Values, variant?: Variant): Statement<Row> => {
    const compile = (db: Executor) => {
      const { sql, parameters } = textOf(db, variant)
      const given = parameters.map((each) => (each instanceof Placeholder ? values[each.name] : each))
      return CompiledQuery.raw(sql, given) as CompiledQuery<Row>
    }
    return { compile, execute: (db) => db.executeQuery(compile(db)) }
  }
}
