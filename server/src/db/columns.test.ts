import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, type RawBuilder } from 'kysely'
import { expect, expectTypeOf, test } from 'vitest'
import { columns, type RowOf } from './columns.ts'

const db = new Kysely<never>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (introspected) => new PostgresIntrospector(introspected),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})
const compiled = (query: RawBuilder<unknown>) => {
  const { sql, parameters } = query.compile(db)
  return [sql, parameters]
}

test('a select list has the columns of a table under their names in code, with their types', () => {
  const list = columns('emails', 'e', ['id', 'handedOverAt', 'attempts'])
  expect(compiled(list)).toEqual(['e.id as "id", e.handed_over_at as "handedOverAt", e.attempts as "attempts"', []])
  expectTypeOf<RowOf<typeof list>>().toEqualTypeOf<{ id: string; handedOverAt: Date | null; attempts: number }>()
  // @ts-expect-error: emails have no such column
  columns('emails', 'e', ['colour'])
})
