import { liquidProblem } from './liquid.ts'
import type { Design } from './schema.ts'

/** Something wrong in a design: the path of the value, and the block it belongs to. */
export type DesignProblem = { path: string; blockId: string | null; message: string }

type AnyNode = {
  type: string
  text?: string
  attrs?: Record<string, unknown>
  marks?: { attrs?: Record<string, unknown> }[]
  content?: AnyNode[]
}
type Walk = { path: string; blockId: string | null; found: DesignProblem[] }

/** Attributes that may hold template expressions. */
const WRITTEN = ['href', 'src', 'alt', 'source'] as const

/** Template expressions that cannot be read. Rendering shows them as typed. */
export function expressionProblems({ settings, content }: Design): DesignProblem[] {
  const found: DesignProblem[] = []
  check({ path: 'settings.preview', blockId: null, found }, settings?.preview)
  for (const [index, node] of (content as AnyNode[]).entries()) walk(node, { path: `content.${index}`, blockId: null, found })
  return found
}

function walk({ text, attrs = {}, marks = [], content = [] }: AnyNode, { path, blockId: outer, found }: Walk) {
  const blockId = typeof attrs.id === 'string' ? attrs.id : outer
  check({ path: `${path}.text`, blockId, found }, text)
  for (const name of WRITTEN) check({ path: `${path}.attrs.${name}`, blockId, found }, attrs[name])
  for (const [index, mark] of marks.entries()) check({ path: `${path}.marks.${index}.attrs.href`, blockId, found }, mark.attrs?.href)
  const links = Array.isArray(attrs.links) ? (attrs.links as { href?: unknown }[]) : []
  for (const [index, { href }] of links.entries()) check({ path: `${path}.attrs.links.${index}.href`, blockId, found }, href)
  for (const [index, node] of content.entries()) walk(node, { path: `${path}.content.${index}`, blockId, found })
}

function check({ path, blockId, found }: Walk, value: unknown) {
  const message = typeof value === 'string' ? liquidProblem(value) : undefined
  if (message) found.push({ path, blockId, message })
}

type Advice = { code: 'empty_link' | 'no_picture' | 'image_without_alt'; blockId: string | null; message: string }

/** Advice for the author of a design that can be saved: links and pictures that are not set yet. */
export function openEnds({ content }: Design): Advice[] {
  return (content as AnyNode[]).flatMap((node) => openEndsOf(node))
}

function openEndsOf({ type, attrs = {}, content = [] }: AnyNode): Advice[] {
  const blockId = typeof attrs.id === 'string' ? attrs.id : null
  const inner = content.flatMap((node) => openEndsOf(node))
  if (type === 'button' && !attrs.href) return [{ code: 'empty_link', blockId, message: 'The button has no link.' }, ...inner]
  if (type !== 'image' || attrs.isLogo) return inner
  if (!attrs.src) return [{ code: 'no_picture', blockId, message: 'No picture is chosen.' }]
  return attrs.alt ? [] : [{ code: 'image_without_alt', blockId, message: 'The picture has no alternative text.' }]
}
