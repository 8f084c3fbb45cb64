import { printAttribute, printText, printVariable } from './liquid.ts'
import { type Context, type Out, styles, toneOn } from './out.ts'
import { longForm, readable } from './palette.ts'
import type { DesignInline, DesignMark } from './schema.ts'

const TAGS = { bold: 'strong', italic: 'em', underline: 'u', strike: 's' } as const

export const printInline = (out: Out, context: Context, nodes: DesignInline[] = []) =>
  nodes.map((node) => (node.marks ?? []).reduce((html, mark) => printMark(out, context, mark, html), printNode(node))).join('')

function printNode(node: DesignInline) {
  if (node.type === 'hardBreak') return '<br>'
  return node.type === 'variable' ? printVariable(node.attrs) : keepSpaces(printText(node.text))
}

/** HTML joins spaces; people who type two want two. Not inside template expressions. */
const keepSpaces = (html: string) =>
  html.includes('{') ? html : html.replace(/ {2,}/g, (spaces) => `${'&nbsp;'.repeat(spaces.length - 1)} `)

function printMark(out: Out, context: Context, mark: DesignMark, html: string) {
  const { surface } = context
  if (mark.type === 'color') {
    const color = readable(longForm(mark.attrs.color), surface.light)
    return `<span class="${out.darkClass('color', readable(color, surface.dark))}"${styles({ color })}>${html}</span>`
  }
  if (mark.type !== 'link') return `<${TAGS[mark.type]}>${html}</${TAGS[mark.type]}>`
  if (!mark.attrs.href) return html
  return `<a href="${printAttribute(mark.attrs.href)}" target="_blank" class="a"${styles({ color: toneOn(context, 'link'), 'text-decoration': 'underline' })}>${html}</a>`
}
