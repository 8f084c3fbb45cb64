import { type Db, scalar } from '../../db/index.ts'
import { AppError, invalid } from '../../lib/errors/errors.ts'
import type { Brand } from '../../projects/brand.ts'
import { MAX_SOURCE } from '../language/limits.ts'
import { Body } from '../rendering/content.ts'
import { checkTemplate } from '../rendering/render.ts'
import { describeProblem, type SyntaxProblem } from '../rendering/rendered-email.ts'
import { type DesignProblem, expressionProblems } from './problems.ts'
import { type RenderedDesign, renderDesign } from './render.ts'
import { type Design, GivenDesign, readDesign } from './schema.ts'

export const findBrand = (db: Db, projectId: string) => scalar<Brand>(db)`select brand from projects where id = ${projectId}`

/** Content of a request: HTML, or a design that the server renders. */
export const DesignOrBody = {
  body: Body.optional().describe('HTML. Ignored when a design is given, else required to create something.'),
  design: GivenDesign.nullish().describe('Blocks instead of HTML. Null drops a design and keeps the HTML.'),
}

export const missingBody = () => invalid('body', 'Required.', 'required')

type Given = { design?: unknown; body?: string | undefined }
type Stored<Rest> = Omit<Rest, 'design' | 'body'> & { design?: Design | null; body?: string }

/**
 * The content of a request as it is stored. With a design, the body is what the server renders from it, whatever the request says. `null` drops
 * the design, and undefined leaves it to the body: other HTML than that of the design drops it too.
 */
export async function withRenderedBody<Rest extends Given>(db: Db, projectId: string, given: Rest): Promise<Stored<Rest>> {
  const { design, body, ...rest } = given
  if (design === undefined || design === null)
    return { ...rest, ...(body === undefined ? {} : { body }), ...(design === undefined ? {} : { design: null }) }
  const read = readDesign(design)
  const problems = expressionProblems(read)
  if (problems.length) throw refusal(problems)
  const rendered = renderDesign(read, await findBrand(db, projectId))
  await assertAccepted(projectId, rendered)
  return { ...rest, design: read, body: rendered.html }
}

/** For a look at a design that is not saved: expressions that cannot be read are shown as typed. */
export const renderGiven = async (db: Db, projectId: string, design: unknown) =>
  renderDesign(readDesign(design), await findBrand(db, projectId))

const refusal = (problems: DesignProblem[]) =>
  new AppError('VALIDATION_ERROR', {
    errors: problems.slice(0, 50).map(({ path, message }) => ({ field: `design.${path}`, message, code: 'custom' as const })),
  })

/** Whether an email can have this HTML. */
export const isAccepted = async (projectId: string, html: string) =>
  html.length <= MAX_SOURCE && (await checkTemplate({ subject: '', body: html }, projectId)).length === 0

/** Parts that are valid one by one can be too much together, such as tags or nested loops. */
async function assertAccepted(projectId: string, { html }: RenderedDesign) {
  if (html.length > MAX_SOURCE) invalid('design', 'The HTML of this design is too long.', 'too_big')
  const [problem] = await checkTemplate({ subject: '', body: html }, projectId)
  if (problem) invalid('design', describeProblem(problem))
}

/** The innermost block that holds a place in the HTML. */
export function blockAt({ html, places }: RenderedDesign, { line, column }: Pick<SyntaxProblem, 'line' | 'column'>) {
  const lineStart = html.split('\n', line - 1).reduce((sum, text) => sum + text.length + 1, 0)
  const at = lineStart + column - 1
  return places.find(({ start, end }) => start <= at && at < end)?.blockId ?? null
}
