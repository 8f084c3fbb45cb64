import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { printClient } from '../../../sdk/scripts/generate.ts'
import { printSchema } from '../../scripts/db-types.ts'
import { useApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'

const sterna = useApp({ env: { PUBLIC_URL: 'http://localhost:3000' } })
const committed = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')

test('docs/openapi.json matches the routes: `npm run openapi`', async () => {
  const { body } = await sterna.call('GET', '/openapi.json')
  expect(JSON.parse(committed('docs/openapi.json'))).toEqual(body)
})

test('the types of the SDK match that document: `npm run openapi`', () => {
  expect(committed('sdk/src/generated.ts')).toBe(printClient(JSON.parse(committed('docs/openapi.json'))))
})

test('db/schema.ts matches the migrated database: `npm run db:types`', async () => {
  const database = await cloneDatabase()
  expect(committed('server/src/db/schema.ts')).toBe(await printSchema(database.url))
  await database.drop()
})

test('every documented operation has its callers and its errors', async () => {
  const { body } = await sterna.call('GET', '/openapi.json')
  expect(body.openapi).toBe('3.1.0')
  const operations = Object.values(body.paths).flatMap((methods) => Object.values(methods as object))
  expect(operations.length).toBeGreaterThan(20)
  for (const operation of operations) {
    expect(operation).toMatchObject({ operationId: expect.any(String), summary: expect.any(String), security: expect.any(Array) })
    expect(operation.responses.default).toEqual({ $ref: '#/components/responses/UnexpectedError' })
  }
  for (const { content } of Object.values<{ content: Record<string, { schema: object }> }>(body.components.responses)) {
    expect(content['application/json']?.schema).toEqual({ $ref: '#/components/schemas/Error' })
  }
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
})
