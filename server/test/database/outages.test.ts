import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { cloneDatabase } from '../support/database.ts'
import { eventually, until } from '../support/eventually.ts'
import { startNode } from '../support/process.ts'
import { startForwarder } from '../support/servers/forwarder.ts'
import { times } from '../support/times.ts'

test('while the database is away, a node stays ready for a while, refuses requests, and logs one line; another one in the end', async ({
  onTestFinished: undo,
}) => {
  const database = await cloneDatabase()
  const [, credentials, name, folder] = /^postgres:\/\/(.*)@\/(\w+)\?host=([^&]+)/.exec(database.url)!
  const server = { socketFolder: decodeURIComponent(folder!) }
  const forwarder = await startForwarder(server)
  const node = await startNode({
    DATABASE_URL: `postgres://${credentials}@127.0.0.1:${forwarder.port}/${name}`,
    RATE_LIMIT_PER_MINUTE: '0',
  })
  undo(database.drop)
  undo(forwarder.stop)
  undo(async () => void (await node.stop('SIGKILL')))
  const ready = async () => {
    const answer = await fetch(`${node.url}/ready`)
    const { checks } = (await answer.json()) as { checks?: { database: boolean } }
    return [answer.status, checks?.database]
  }
  const lines = (level: RegExp) =>
    node
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{') && level.test(JSON.parse(line).level))
      .map((line) => JSON.parse(line).msg as string)
  const warnings = () => lines(/warn|error|fatal/)
  const before = warnings().length

  forwarder.pointTo(undefined)
  await eventually(async () => expect(await ready()).toEqual([200, false]))
  for (const key of times(20, () => `sk_${randomBytes(32).toString('hex')}`))
    expect((await fetch(`${node.url}/contacts`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(503)
  await until('the outage is logged', () => warnings().length > before)

  forwarder.pointTo(server)
  await eventually(async () => expect(await ready()).toEqual([200, true]))
  await until('its end is logged', () => lines(/info/).includes('the database answers again'))
  expect(warnings().slice(before)).toEqual(['the database is away'])
})
