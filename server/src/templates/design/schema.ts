import { z } from 'zod'
import { parseAt } from '../../http/core/validate.ts'
import { invalid } from '../../lib/errors/errors.ts'
import { KB } from '../../lib/text/units.ts'
import { Brand, Color, ImageSource, LinkTarget } from '../../projects/brand.ts'
import { BlockCondition, missingPart } from './block-condition.ts'
import { isFilterChain } from './liquid.ts'

const MAX_BYTES = 512 * KB
/** A top-level block has depth 1, a column counts. */
const MAX_DEPTH = 8
/** Texts count. */
const MAX_NODES = 2_000
const MAX_TEXT = 100_000

const Align = z.enum(['left', 'center', 'right']).nullish()
const BlockId = z.string().max(64).nullish().describe('Names the block in errors.')

/** The name of a field, of a built-in variable, or of a property of a loop's item. */
const VariablePath = z
  .string()
  .trim()
  .min(1)
  .max(255)
  .regex(/^[^{}%"'`\\\p{Cc}]+$/u, 'Must be the name of a field, without braces, quotes or backslashes.')

const Mark = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['bold', 'italic', 'underline', 'strike']) }),
  z.object({ type: z.literal('link'), attrs: z.object({ href: LinkTarget }) }),
  z.object({ type: z.literal('color'), attrs: z.object({ color: Color }) }),
])
const Marks = z.array(Mark).max(10).optional()

const Inline = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string().min(1).max(MAX_TEXT), marks: Marks }),
    z.object({
      type: z.literal('variable'),
      attrs: z.object({
        path: VariablePath,
        fallback: z.string().max(500).nullish(),
        filter: z
          .string()
          .max(200)
          .nullish()
          .refine((text) => !text || isFilterChain(text), 'Must be filters of the template language, such as upcase.'),
      }),
      marks: Marks,
    }),
    z.object({ type: z.literal('hardBreak'), marks: Marks }),
  ])
  .meta({ id: 'DesignInline' })
const InlineContent = z.array(Inline).max(MAX_NODES).optional()

export type DesignInline = z.output<typeof Inline>
export type DesignMark = z.output<typeof Mark>

const leaf = <Type extends string, Attrs extends z.ZodRawShape>(type: Type, attrs: Attrs) =>
  z.object({ type: z.literal(type), attrs: z.object({ id: BlockId, ...attrs }) })

const Heading = leaf('heading', { level: z.int().min(1).max(3), align: Align }).extend({ content: InlineContent })
const Paragraph = z.object({
  type: z.literal('paragraph'),
  attrs: z.object({ id: BlockId, align: Align }).optional(),
  content: InlineContent,
})
const Button = leaf('button', { href: LinkTarget, align: Align, style: z.enum(['filled', 'outline', 'link']).nullish() }).extend({
  content: InlineContent,
})
const Image = leaf('image', {
  src: ImageSource,
  alt: z.string().max(1_000).nullish(),
  width: z.int().min(8).max(700).nullish().describe('In pixels; as wide as its place without it.'),
  href: LinkTarget.nullish(),
  align: Align,
  isLogo: z.boolean().nullish().describe('The logo of the brand instead of `src`.'),
})
const Divider = leaf('divider', {})
const Spacer = leaf('spacer', { height: z.int().min(4).max(200) })
const Html = leaf('html', { source: z.string().max(MAX_BYTES) })
const Footer = leaf('footer', { align: Align })
const Social = leaf('social', {
  links: z.array(z.object({ kind: z.string().trim().min(1).max(50), href: LinkTarget })).max(20),
  align: Align,
})

const SectionAttrs = z.object({ id: BlockId, bg: Color.nullish(), padding: z.int().min(0).max(64).nullish() })
const ColumnsAttrs = z.object({
  id: BlockId,
  widths: z
    .array(z.number().min(0.1).max(0.9))
    .min(2)
    .max(4)
    .nullish()
    .describe('Shares of the width, one per column. Equal shares without it.'),
  stack: z.boolean().nullish().describe('Columns stand below each other on phones. With `false` they stay side by side.'),
})
const ConditionAttrs = z.object({ id: BlockId, ...BlockCondition.shape }).check(({ value, issues }) => {
  const missing = missingPart(value)
  if (missing) issues.push({ code: 'custom', path: [missing.key], message: missing.message, input: value, params: { code: 'required' } })
})
const LoopAttrs = z.object({
  id: BlockId,
  item: z
    .string()
    .max(100)
    .regex(/^[a-zA-Z_]\w*$/, 'Must be one word.'),
  list: VariablePath,
})

type Leaf = z.output<
  | typeof Heading
  | typeof Paragraph
  | typeof Button
  | typeof Image
  | typeof Divider
  | typeof Spacer
  | typeof Html
  | typeof Footer
  | typeof Social
>
type DesignListItem = { type: 'listItem'; content: (z.output<typeof Paragraph> | DesignList)[] }
export type DesignList = {
  type: 'bulletList' | 'orderedList'
  attrs?: { id?: string | null | undefined } | undefined
  content: DesignListItem[]
}
type DesignColumn = { type: 'column'; content: DesignBlock[] }
export type DesignBlock =
  | Leaf
  | DesignList
  | { type: 'section'; attrs: z.output<typeof SectionAttrs>; content: DesignBlock[] }
  | { type: 'columns'; attrs: z.output<typeof ColumnsAttrs>; content: DesignColumn[] }
  | { type: 'condition'; attrs: z.output<typeof ConditionAttrs>; content: DesignBlock[] }
  | { type: 'loop'; attrs: z.output<typeof LoopAttrs>; content: DesignBlock[] }

const Blocks: z.ZodType<DesignBlock[]> = z.lazy(() => z.array(Block).min(1).max(MAX_NODES)).meta({ id: 'DesignBlocks' })
const ListItems: z.ZodType<DesignListItem[]> = z.lazy(() => z.array(ListItem).min(1).max(MAX_NODES)).meta({ id: 'DesignListItems' })

const List = z
  .object({
    type: z.enum(['bulletList', 'orderedList']),
    attrs: z.object({ id: BlockId }).optional(),
    content: ListItems,
  })
  .meta({ id: 'DesignList' })
const ListItem = z.object({
  type: z.literal('listItem'),
  content: z
    .array(z.discriminatedUnion('type', [Paragraph, List]))
    .min(1)
    .max(MAX_NODES),
})
const Column = z.object({ type: z.literal('column'), content: Blocks })

const Block: z.ZodType<DesignBlock> = z
  .discriminatedUnion('type', [
    Heading,
    Paragraph,
    List,
    Button,
    Image,
    Divider,
    Spacer,
    z.object({ type: z.literal('section'), attrs: SectionAttrs, content: Blocks }),
    z.object({ type: z.literal('columns'), attrs: ColumnsAttrs, content: z.array(Column).min(2).max(4) }),
    Html,
    Footer,
    Social,
    z.object({ type: z.literal('condition'), attrs: ConditionAttrs, content: Blocks }),
    z.object({ type: z.literal('loop'), attrs: LoopAttrs, content: Blocks }),
  ])
  .meta({ id: 'DesignBlock' })

export const Design = z
  .object({
    version: z.literal(1),
    settings: z
      .object({
        preview: z.string().max(500).nullish().describe('Shown by inboxes beside the subject; hidden in the email itself.'),
        lang: z
          .string()
          .regex(/^[a-zA-Z]{2,8}(?:-[a-zA-Z\d]{1,8})*$/, 'Must be a language tag such as en or pt-BR.')
          .max(35)
          .nullish(),
        dir: z.enum(['ltr', 'rtl']).nullish(),
        width: z.int().min(480).max(700).nullish().describe('In pixels; 600 without it.'),
        theme: Brand.nullish().describe('Overrides the brand of the project.'),
      })
      .optional(),
    content: z.array(Block).max(MAX_NODES),
  })
  .meta({ id: 'Design', description: 'A visual email: blocks that the server renders to HTML.' })
export type Design = z.output<typeof Design>

/** A design that a caller sends. Not parsed by the schema: `readDesign` refuses a bomb before it is read as a whole. */
export const GivenDesign = z.unknown().meta({ $ref: '#/components/schemas/DesignInput' })

/** Refuses with the dot paths of what is wrong. `path` is the field of the request that holds the design. */
export function readDesign(value: unknown, path = 'design'): Design {
  const excess = findExcess(value)
  if (excess) invalid(path, excess, 'too_big')
  return parseAt(Design, value, path)
}

type Node = { content?: unknown }

/** Counts before anything is parsed, so that the work is bounded whatever the caller sent. */
function findExcess(value: unknown): string | undefined {
  let nodes = 0
  let level: unknown[] = contentOf(value)
  for (let depth = 1; level.length; depth++) {
    nodes += level.length
    if (nodes > MAX_NODES) return `A design has at most ${MAX_NODES.toLocaleString('en')} nodes.`
    // Inline content does not count as a level.
    if (depth > MAX_DEPTH && level.some(isBlock)) return `Blocks are nested at most ${MAX_DEPTH} levels deep.`
    level = level.flatMap(contentOf)
  }
  if (Buffer.byteLength(JSON.stringify(value) ?? '') > MAX_BYTES) return `A design has at most ${MAX_BYTES / KB} KB.`
  return undefined
}

const INLINE = new Set<unknown>(['text', 'variable', 'hardBreak'])
const isBlock = (node: unknown) => !INLINE.has((node as { type?: unknown } | null)?.type)

const contentOf = (node: unknown): unknown[] => {
  const content = typeof node === 'object' && node !== null ? (node as Node).content : undefined
  return Array.isArray(content) ? content : []
}
