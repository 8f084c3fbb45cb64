import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync, type StringLiteral, Visitor } from 'oxc-parser'
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
type Text = { file: string; name: string; text: string }

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

/** A table after a keyword that reads or writes it, but no function such as `from now()`. */
const USES = /\b(?:(?:from|join|using)\s+(\w+)\b(?!\s*\()|(?:into|update)\s+(\w+))/g
const tablesIn = (text: string) =>
  [...text.matchAll(USES)].map(([, read, written]) => (read ?? written)!).filter((table) => TABLES.has(table))
const VERB = /\b(?:insert into|update|delete from|select)\b/

/** The project is given by a value: alone, as the first part of a key or of a row, as a column, or to a part of the statement. */
const NAMES_PROJECT = [
  /\bproject_id\s*=\s*(?:\$\{|\$\d)/,
  /\(\w*\.?project_id,[^()]*\)\s*(?:=|<=?|>=?)\s*\((?:\$\{|\$\d)/,
  /\(project_id\b[^()]*\)[^()]*?(?:values\s*\(|select\s+)(?:\$\{|\$\d)/,
  /\$\{[^}]*\}(?:::uuid)? as (?:project_id|"projectId")/,
  /\bp\.id = \$\{/,
  /\$\{(?:isStream\(|(?!recordset\b)\w+\([^)]*\b(?:projectId|scope)\b)/,
]
const namesProject = (text: string) => NAMES_PROJECT.some((pattern) => pattern.test(text))

const DECLARATION = /^(?:export )?(?:async )?(?:const|let|function\*?|class) (\w+)/gm

/** Texts of a file, each with those inside of it, under the name of the function or constant at the top of the file. */
function textsIn(path: string): Text[] {
  const source = readFileSync(path, 'utf8')
  const declarations = [...source.matchAll(DECLARATION)].map(({ index, 1: name }) => ({ index, name: name! }))
  const found: { start: number; end: number }[] = []
  const note = ({ start, end }: { start: number; end: number }) => void found.push({ start, end })
  const noteString = (node: StringLiteral) => void (typeof node.value === 'string' && note(node))
  new Visitor({ TemplateLiteral: note, Literal: (node) => noteString(node as StringLiteral) }).visit(parseSync(path, source).program)
  found.sort((one, other) => one.start - other.start)
  return found
    .filter((text, index) => !found.slice(0, index).some((outer) => outer.end >= text.end))
    .map((text) => {
      const name = declarations.findLast(({ index }) => index < text.start)?.name ?? ''
      return { file: path.slice(SRC.length + 1), name, text: source.slice(text.start, text.end) }
    })
}

/** Names that a text splices in, as in `${conditionSql(…)}`. */
const namesIn = (text: string) => [...text.matchAll(/\$\{([^}]*)/g)].flatMap(([, spliced]) => spliced!.match(/[A-Za-z]\w{3,}/g) ?? [])

/** Texts that other texts splice in are judged with those. A condition that stands beside a text in one function belongs to it. */
function statementsOf(texts: Text[]): Text[] {
  const names = new Set(texts.map(({ name }) => name))
  const spliced = new Set(texts.flatMap(({ name, text }) => namesIn(text).filter((other) => other !== name && names.has(other))))
  const placeOf = ({ file, name }: Text) => `${file} ${name}`
  const named = new Set(texts.filter(({ text }) => tablesIn(text).length === 0 && namesProject(text)).map(placeOf))
  return texts.filter(
    (each) => tablesIn(each.text).length && !spliced.has(each.name) && !namesProject(each.text) && !named.has(placeOf(each)),
  )
}

const lineOf = ({ name, text }: Text) => `${name}: ${VERB.exec(text)?.[0] ?? 'part of'} ${[...new Set(tablesIn(text))].join(', ')}`

function listWithoutProject(known: Reasons): Reasons {
  const reasons = new Map(Object.values(known).flatMap((lines) => Object.entries(lines)))
  const list: Reasons = {}
  for (const text of statementsOf(files.flatMap(textsIn))) {
    const line = lineOf(text)
    list[text.file] = { ...list[text.file], [line]: known[text.file]?.[line] ?? reasons.get(line) ?? '' }
  }
  return Object.fromEntries(Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1)))
}

test('every statement on rows of projects names the project, or is in the list with the reason', () => {
  const known: Reasons = JSON.parse(readFileSync(LIST, 'utf8'))
  const list = listWithoutProject(known)
  if (process.env.UPDATE_STATEMENTS) writeFileSync(LIST, `${JSON.stringify(list, undefined, 2)}\n`)
  expect(list).toEqual(known)
  expect(
    Object.entries(list).flatMap(([file, lines]) => Object.entries(lines).map(([line, reason]) => ({ file, line, reason }))),
  ).not.toContainEqual(expect.objectContaining({ reason: '' }))
})

test.each([
  [`select from contacts where project_id = \${projectId}`, true],
  [`select from contacts c where c.project_id = $1`, true],
  [`select from contacts where (project_id, id) > (\${projectId}, \${id})`, true],
  [`insert into contacts (project_id, id) values (\${projectId}, \${id})`, true],
  [`insert into contacts (project_id, id) select \${projectId}, id from t`, true],
  [`select from contacts where id = \${id}`, false],
  [`select from contacts c join emails e on e.project_id = c.project_id`, false],
  [`insert into contacts (project_id, id) select project_id, id from emails`, false],
])('a statement that names its project is recognised: %s', (text, isNamed) => {
  expect(tablesIn(text)).toContain('contacts')
  expect(namesProject(text)).toBe(isNamed)
})
