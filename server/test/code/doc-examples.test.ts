import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'

const sterna = useSharedApp()

type Variables = Record<string, string>
const known = (variables: Variables, name: string) => variables[name] ?? expect.fail(`$${name} is not explained`)

/** The words of a shell command: quotes, variables and continued lines as in sh. */
function wordsOf(command: string, variables: Variables): string[] {
  const WORD = /(?:'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"])+/gs
  const PART = /'([^']*)'|"((?:\\.|[^"\\])*)"|([^'"]+)/gs
  const expand = (text: string) => text.replace(/\$(\w+)/g, (_, name: string) => known(variables, name))
  return [...command.replaceAll('\\\n', ' ').matchAll(WORD)].map(([word]) =>
    [...word.matchAll(PART)].map(([, literal, quoted, bare]) => literal ?? expand(quoted?.replace(/\\(.)/g, '$1') ?? bare!)).join(''),
  )
}

/** The commands in the shell examples of a page. */
const commandsIn = (page: string) =>
  [...readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8').matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block]) =>
    block!.split(/^(?=curl )/m).filter((command) => command.startsWith('curl ')),
  )

function requestOf(words: string[]) {
  const after = (option: string) => words.flatMap((word, index) => (word === option ? [words[index + 1]!] : []))
  const [body] = after('-d')
  return {
    method: (after('-X')[0] ?? (body === undefined ? 'GET' : 'POST')) as 'GET',
    url: words.find((word) => word.startsWith('http://localhost:3000/'))!.slice('http://localhost:3000'.length),
    headers: Object.fromEntries(after('-H').map((header) => header.split(/:\s*/) as [string, string])),
    ...(body === undefined ? {} : { payload: body }),
  }
}

test('the examples of docs/campaigns.md send a campaign', async () => {
  const project = await sterna.newProject()
  const variables: Variables = { STERNA_SECRET_KEY: project.sk }
  const answered: string[] = []
  for (const command of commandsIn('campaigns.md')) {
    const request = requestOf(wordsOf(command, variables))
    const { statusCode, body } = await sterna.app.inject(request)
    answered.push(`${request.method} ${request.url} ${statusCode}`)
    expect([request.url, statusCode, body]).toEqual([request.url, expect.toSatisfy((status) => status < 300), body])
    // As the page explains them.
    const answer = JSON.parse(body)
    if (request.url === '/segments') variables.SEGMENT = answer.id
    if (request.url === '/campaigns') variables.CAMPAIGN = answer.data.id
  }
  expect(answered.at(-1)).toBe(`POST /campaigns/${variables.CAMPAIGN}/send 200`)
  await eventually(async () => {
    const { status, sentCount } = (await project.call('GET', `/campaigns/${variables.CAMPAIGN}`)).body
    expect([status, sentCount]).toEqual(['SENT', 1])
  })
})
