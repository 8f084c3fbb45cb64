import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync, Visitor } from 'oxc-parser'
import { expect, test } from 'vitest'

/**
 * Statements, and parts of statements, that read or write rows of a project without comparing `project_id` with a value, by file, each with
 * the reason. Such a statement can reach rows of every project. It would also have to be rewritten if the projects of an installation were
 * ever spread over several databases, or its tables over partitions by project.
 *
 * `UPDATE_STATEMENTS=1 npx vitest run server/test/code/tenant-statements.test.ts` writes the list anew and keeps the reasons; a new line
 * has none, and the test fails until somebody has written it.
 */
const LIST = fileURLToPath(new URL('./tenant-statements.json', import.meta.url))
const SRC = fileURLToPath(new URL('../../src', import.meta.url))

type Reasons = Record<string, Record<string, string>>
type Statement = { file: string; name: string; text: string }

const isProduct = (name: string) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.endsWith('.arbitrary.ts')
const files = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && isProduct(entry.name))
  .map((entry) => join(entry.parentPath, entry.name))

/** Tables with a column `project_id`. */
const TABLES = new Set(
  [...readFileSync(join(SRC, 'db/schema.ts'), 'utf8').matchAll(/^ {2}(\w+): \{([^}]*)\}/gm)]
    .filter(([, , columns]) => /\bproject_id: string/.test(columns!))
    .map(([, table]) => table!),
)

/** A table after a keyword, but no function that is called `delete_from(…)` or the like. */
const USES = /\b(?:from|join|into|update|using)\s+(?:only\s+)?(\w+)\b(?!\s*\()/g
const tablesIn = (text: string) => [...text.matchAll(USES)].map(([, table]) => table!).filter((table) => TABLES.has(table))
const VERB = /\b(?:insert into|update|delete from|select)\b/

/** The project is given by a value: alone, as the first part of a key, or as the first value of a row. */
const NAMES_PROJECT = [
  /\bproject_id\s*=\s*(?:\$\{|\$\d)/,
  /\(\w*\.?project_id,[^()]*\)\s*(?:=|<=?|>=?)\s*\((?:\$\{|\$\d)/,
  /\(project_id\b[^()]*\)\s*(?:values\s*\(|select\s+)(?:\$\{|\$\d)/,
]
const namesProject = (text: string) => NAMES_PROJECT.some((pattern) => pattern.test(text))

/** Texts of SQL, each with those inside of it, under the name of the function or constant at the top of the file. */
function statementsIn(path: string): Statement[] {
  const source = readFileSync(path, 'utf8')
  const { program } = parseSync(path, source)
  const texts: { start: number; end: number }[] = []
  const note = ({ start, end }: { start: number; end: number }) => void texts.push({ start, end })
  new Visitor({ TemplateLiteral: note, Literal: (node) => typeof node.value === 'string' && note(node) }).visit(program)
  const outermost = texts.filter((text) => !texts.some((other) => other !== text && other.start <= text.start && other.end >= text.end))
  const nameAt = (offset: number) => {
    const top = source.slice(0, offset).match(/^(?:export )?(?:async )?(?:const|let|function\*?|class) (\w+)/gm)
    return top?.at(-1)?.split(' ').at(-1) ?? ''
  }
  return outermost.map(({ start, end }) => ({ file: path.slice(SRC.length + 1), name: nameAt(start), text: source.slice(start, end) }))
}

const describeStatement = ({ name, text }: Statement) => `${name}: ${VERB.exec(text)?.[0] ?? 'part'} ${[...new Set(tablesIn(text))].join(', ')}`

function listWithoutProject(known: Reasons): Reasons {
  const reasons = new Map(Object.values(known).flatMap((lines) => Object.entries(lines)))
  const found = files.flatMap(statementsIn).filter(({ text }) => tablesIn(text).length > 0 && !namesProject(text))
  const list: Reasons = {}
  for (const statement of found) {
    const line = describeStatement(statement)
    list[statement.file] = { ...list[statement.file], [line]: known[statement.file]?.[line] ?? reasons.get(line) ?? '' }
  }
  return Object.fromEntries(Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1)))
}

test('every statement on rows of projects names the project, or is in the list with the reason', () => {
  const known: Reasons = JSON.parse(readFileSync(LIST, 'utf8'))
  const list = listWithoutProject(known)
  if (process.env.UPDATE_STATEMENTS) writeFileSync(LIST, `${JSON.stringify(list, undefined, 2)}\n`)
  expect(list).toEqual(known)
  expect(Object.entries(list).flatMap(([file, lines]) => Object.entries(lines).map(([line, reason]) => ({ file, line, reason })))).not.toContainEqual(
    expect.objectContaining({ reason: '' }),
  )
})

test.each([
  ['select from contacts where project_id = ${projectId}', true],
  ['select from contacts c where c.project_id = $1', true],
  ['select from contacts where (project_id, id) > (${projectId}, ${id})', true],
  ['insert into contacts (project_id, id) values (${projectId}, ${id})', true],
  ['insert into contacts (project_id, id) select ${projectId}, id from t', true],
  ['select from contacts where id = ${id}', false],
  ['select from contacts c join emails e on e.project_id = c.project_id', false],
  ['insert into contacts (project_id, id) select project_id, id from emails', false],
])('a statement that names its project is recognised: %s', (text, isNamed) => {
  expect(tablesIn(text)).toContain('contacts')
  expect(namesProject(text)).toBe(isNamed)
})
