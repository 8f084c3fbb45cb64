import type { Design } from '@sterna/sdk'
import type { DocumentNode } from './design-json.ts'
import { BLOCK_NAMES, conditionWords, loopWords } from './words.ts'

/** A design as text, one block a line, to compare two versions. Every difference between two designs is a difference of their lines. */
export function designLines({ settings, content }: Design): string {
  const head = Object.entries(settings ?? {})
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `Email ${name}: ${shown(value)}`)
  return [...head, ...(content as DocumentNode[]).flatMap((node) => linesOf(node, 0))].join('\n')
}

const INLINE = new Set(['text', 'variable', 'hardBreak'])

function linesOf(node: DocumentNode, depth: number): string[] {
  const { content = [] } = node
  const isText = content.length > 0 && content.every(({ type }) => INLINE.has(type))
  const own = `${'  '.repeat(depth)}${titleOf(node)}${isText ? `: ${content.map(inlineWords).join('')}` : ''}${settingsOf(node)}`
  return isText ? [own] : [own, ...content.flatMap((child) => linesOf(child, depth + 1))]
}

function titleOf({ type, attrs = {} }: DocumentNode): string {
  if (type === 'condition') return conditionWords(attrs)
  if (type === 'loop') return loopWords(attrs)
  return type === 'listItem' ? '•' : (BLOCK_NAMES[type] ?? type)
}

/** Attributes that the title does not say. */
function settingsOf({ type, attrs = {} }: DocumentNode): string {
  const said = new Set(
    type === 'condition' ? ['id', 'field', 'operator', 'value', 'expression'] : type === 'loop' ? ['id', 'item', 'list'] : ['id'],
  )
  const rest = Object.entries(attrs).filter(([name, value]) => !said.has(name) && value !== null && value !== undefined && value !== '')
  return rest.length > 0 ? ` (${rest.map(([name, value]) => `${name}: ${shown(value)}`).join(', ')})` : ''
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

function inlineWords({ type, text = '', attrs = {}, marks = [] }: DocumentNode): string {
  const words = type === 'text' ? text : type === 'hardBreak' ? ' ⏎ ' : variableWords(attrs)
  return marks.reduce((said, mark) => `${said}[${mark.type}${mark.attrs ? ` ${Object.values(mark.attrs).join(' ')}` : ''}]`, words)
}

const variableWords = ({ path, fallback, filter }: Record<string, unknown>) =>
  `{{ ${String(path)}${fallback ? ` ?? "${String(fallback)}"` : ''}${filter ? ` | ${String(filter)}` : ''} }}`
