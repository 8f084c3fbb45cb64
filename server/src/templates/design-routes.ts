import { z } from 'zod'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { KB } from '../lib/text/units.ts'
import { Brand } from '../projects/brand.ts'
import { blockAt, findBrand } from './design/body.ts'
import { expressionProblems, openEnds } from './design/problems.ts'
import { mergeBrands, renderDesign } from './design/render.ts'
import { Design, GivenDesign, readDesign } from './design/schema.ts'
import { checkTemplate, textOf } from './rendering/render.ts'
import { STARTER_CATEGORIES, startersFor } from './starters/starters.ts'

const DesignIssue = z.object({
  blockId: z.string().nullable().describe('The block it concerns. Null: the design as a whole.'),
  message: z.string(),
})
const MAX_ISSUES = 200
/** 512 KB of design, its brand, and room for the escapes of JSON. */
const DESIGN_BODY_LIMIT = 1_024 * KB

export function designRoutes(app: App, { db }: Deps) {
  const route = routesOf(app, { tags: ['Designs'], caller: 'project', role: 'MEMBER', scope: 'templates', read: true, ...SENDS_NOTHING })

  route.post(
    '/designs/render',
    {
      summary: 'Render a design',
      description:
        'Returns the HTML and the text of a design, with its template expressions, and what an author should look at. Stores nothing.',
      body: z.object({ design: GivenDesign, brand: Brand.nullish().describe('Overrides the brand of the project.') }),
      response: z.object({
        html: z.string(),
        text: z.string(),
        bytes: z.int().describe('Size of `html` in UTF-8.'),
        issues: z.array(DesignIssue),
      }),
      audit: null,
      onlyReads: true,
      bodyLimit: DESIGN_BODY_LIMIT,
    },
    async (req) => {
      const design = readDesign(req.body.design)
      const brand = mergeBrands(await findBrand(db, req.project.id), req.body.brand ?? {})
      const rendered = renderDesign(design, brand)
      const [converted, problems] = await Promise.all([
        textOf(rendered.html, req.project.id),
        checkTemplate({ subject: '', body: rendered.html }, req.project.id),
      ])
      const issues = [
        ...expressionProblems(design).map(({ blockId, message }) => ({ blockId, message })),
        ...problems.map((problem) => ({ blockId: blockAt(rendered, problem), message: problem.message })),
        ...openEnds(design).map(({ blockId, message }) => ({ blockId, message })),
      ]
      const text = converted.ok ? converted.text : ''
      return { html: rendered.html, text, bytes: Buffer.byteLength(rendered.html), issues: issues.slice(0, MAX_ISSUES) }
    },
  )

  route.get(
    '/designs/starters',
    {
      summary: 'List designs to start from',
      description: 'Complete emails in the look of the project, to copy and change.',
      response: z.array(
        z.object({ key: z.string(), name: z.string(), category: z.enum(STARTER_CATEGORIES), design: Design, html: z.string() }),
      ),
    },
    async (req) => startersFor(await findBrand(db, req.project.id)),
  )
}
