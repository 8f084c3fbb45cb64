import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { run } from '../../src/cli.ts'
import { VERSION } from '../../src/lib/process/version-number.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { destroyTestFolder, newTestFolder } from '../support/postgres.ts'
import { startNode } from '../support/process.ts'
import { folderOfRelease, listReleases, type MadeByRelease, restoreRows } from '../support/release-fixture.ts'

const folder = newTestFolder()
afterAll(() => destroyTestFolder(folder))

test('the installation of each release is kept, from the first one on', () => {
  expect(listReleases()).toContain('1.0.0-rc.1')
})

describe.each(listReleases())('an installation of %s', (version) => {
  test(`runs with ${VERSION}: its data, keys and links work as before`, async () => {
    const made = JSON.parse(readFileSync(join(folderOfRelease(version), 'made.json'), 'utf8')) as MadeByRelease
    const dataDir = join(folder, version)
    cpSync(join(folderOfRelease(version), 'uploads'), join(dataDir, 'uploads'), { recursive: true })
    const SECRET_KEY = readFileSync(join(folderOfRelease(version), 'secret.key'), 'utf8').trim()
    const database = await cloneDatabase({ empty: true })
    await restoreRows({ url: database.url, adminUrl: database.url.replace('//sterna:', '//postgres:') }, version)

    const env = { DATABASE_URL: database.url, DATA_DIR: dataDir, SECRET_KEY }
    const node = await startNode(env)
    const call = async (
      method: string,
      path: string,
      { key, body, headers = {} }: { key?: string; body?: object | string; headers?: Record<string, string> } = {},
    ) => {
      const answer = await fetch(`${node.url}${path}`, {
        method,
        redirect: 'manual',
        headers: {
          ...(key && { authorization: `Bearer ${key}` }),
          ...(typeof body === 'object' && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const bytes = Buffer.from(await answer.arrayBuffer())
      return {
        status: answer.status,
        headers: answer.headers,
        bytes,
        body: answer.headers.get('content-type')?.includes('json') ? JSON.parse(bytes.toString()) : undefined,
      }
    }
    const { secret, named, public: publicKey } = made.keys
    try {
      for (const key of [secret, named]) {
        const { status, body } = await call('GET', '/contacts?limit=1', { key })
        expect([status, body.total]).toEqual([200, made.contacts])
      }
      expect((await call('POST', '/v1/track', { key: publicKey, body: { email: 'reader0@example.com', event: 'upgraded' } })).status).toBe(
        200,
      )
      expect((await call('POST', '/auth/login', { body: made.account })).status).toBe(200)
      const template = await call('GET', `/templates/${made.templateId}`, { key: secret })
      expect(template.body).toMatchObject({ name: 'Welcome', subject: 'Welcome again', version: 2 })
      const image = await call('GET', `/uploads/${made.imageKey}`)
      expect([image.status, image.bytes.equals(readFileSync(join(dataDir, 'uploads', made.imageKey)))]).toEqual([200, true])
      expect((await call('GET', `/campaigns/${made.sentCampaignId}`, { key: secret })).body).toMatchObject({ status: 'SENT', sentCount: 7 })

      const click = await call('GET', made.links.click)
      expect([click.status, click.headers.get('location')]).toEqual([302, made.linkTarget])
      expect((await call('GET', made.links.open)).status).toBe(200)
      const subscribed = async () => (await call('GET', `/contacts/${made.unsubscribingContactId}`, { key: secret })).body.subscribed
      expect(await subscribed()).toBe(true)
      const oneClick = { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'List-Unsubscribe=One-Click' }
      expect((await call('POST', made.links.unsubscribe, oneClick)).status).toBe(200)
      expect(await subscribed()).toBe(false)

      // The database is on another server than it was.
      expect(node.output()).toContain('sending resume')
      const quiet = vi.spyOn(console, 'log').mockImplementation(() => {})
      expect(await run(['sending', 'resume'], env)).toBe(0)
      quiet.mockRestore()
      const email = { to: 'reader1@example.com', from: 'news@kept.example', subject: 'Hi', body: '<p>Hi</p>' }
      const { body: accepted } = await call('POST', '/v1/send', { key: secret, body: email })
      await eventually(async () =>
        expect((await call('GET', `/emails/${accepted.data.emails[0].email}`, { key: secret })).body.status).toBe('SENT'),
      )
    } finally {
      await node.stop()
      await database.drop()
    }
  })
})
