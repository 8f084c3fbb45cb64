import { describe, expect, test } from 'vitest'
import { plainError } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { times } from '../support/times.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())
type Project = Awaited<ReturnType<typeof newProject>>

describe('POST /contacts/lookup', () => {
  const lookup = (project: Project, emails: unknown) => project.call('POST', '/contacts/lookup', { emails })

  test('answers which addresses are contacts, each in the given spelling and as often as given', async () => {
    const project = await newProject()
    await (await newProject()).contacts.create('theirs@example.com')
    await Promise.all(['ada@example.com', 'caf\u00e9@bücher.example'].map((email) => project.contacts.create(email)))
    const found = ['ADA@Example.com', ' ada@example.com', 'ada@example.com', 'cafe\u0301@BÜCHER.example', 'ada@example.com']
    const notFound = ['theirs@example.com', 'nobody', '', 'nobody', '%', '_da@example.com', 'ada@example.co', '=cmd()@example.com']
    const { status, body } = await lookup(project, [...found, ...notFound])
    expect(status).toBe(200)
    expect(body).toEqual({ found, notFound })
  })

  test.each<[string, unknown, number]>([
    ['no addresses', [], 400],
    ['one address', ['a@example.com'], 200],
    ['500 addresses', times(500, (n) => `a${n}@example.com`), 200],
    ['501 addresses', times(501, (n) => `a${n}@example.com`), 400],
    ['501 times the same address', times(501, () => 'a@example.com'), 400],
  ])('with %s has the right status', async (_, emails, status) => {
    const answer = await lookup(await newProject(), emails)
    expect(answer.status).toBe(status)
    expect(answer.body).toEqual(status === 400 ? plainError : { found: [], notFound: emails })
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a string', 'a@example.com'],
    ['numbers', [1]],
    ['null', [null]],
    ['an address of 64 kB', ['x'.repeat(65_536)]],
  ])('with %s instead of addresses is a 422', async (_, emails) => {
    expect((await lookup(await newProject(), emails)).status).toBe(422)
  })
})
