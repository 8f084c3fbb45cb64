import { escapeHtml } from '../../lib/text/html.ts'
import { endOfQuoted, isQuote } from '../language/characters.ts'
import { prepare } from '../language/prepare.ts'
import { createReader } from '../language/read-expression.ts'
import { TemplateSyntaxError } from '../language/syntax-error.ts'
import { tokenize } from '../language/tokenize.ts'

/** Text of a design as HTML: template expressions pass, everything around them is escaped. Expressions that cannot be read are shown as typed. */
export const printText = (text: string) => print(text, (tag) => tag)

/** The same inside a double-quoted attribute: strings in expressions get single quotes. */
export const printAttribute = (text: string) => print(text, withSingleQuotes)

/** The first error of the template language in a text. */
export function liquidProblem(text: string): string | undefined {
  if (!/\{[{%]/.test(text)) return undefined
  try {
    prepare(text, { html: true })
    return undefined
  } catch (err) {
    if (err instanceof TemplateSyntaxError) return err.message
    throw err
  }
}

/** Braces too: with the text that follows they could become an expression. */
const escapeLiteral = (text: string) => escapeHtml(text).replaceAll('{', '&#123;')

/** HTML as it is. With expressions that cannot be read, its braces are character references, which the template language does not see. */
export const printSource = (html: string) => (liquidProblem(html) ? html.replace(/\{(?=[{%])/g, '&#123;') : html)

function print(text: string, printTag: (tag: string) => string) {
  if (liquidProblem(text)) return escapeLiteral(text)
  return tokenize(text)
    .map(({ kind, start, end }) => {
      const part = text.slice(start, end)
      return kind === 'output' || kind === 'tag' ? printTag(part) : escapeLiteral(part)
    })
    .join('')
}

/** Strings of an expression in single quotes, without a double quote inside. */
function withSingleQuotes(expression: string) {
  let printed = ''
  for (let at = 0; at < expression.length; ) {
    const end = isQuote(expression[at]) ? endOfQuoted(expression, at, expression.length) : -1
    // A double quote that belongs to no string, as in a comment, means nothing.
    if (end === -1) printed += expression[at] === '"' ? "'" : expression[at]
    if (end === -1) at++
    else {
      printed += `'${expression.slice(at + 1, end - 1).replace(/\\(.)|['"]/gs, requoted)}'`
      at = end
    }
  }
  return printed
}

const requoted = (found: string, escaped?: string) => ((escaped ?? found) === '"' ? '\\u0022' : found === "'" ? "\\'" : found)

/** A string of the template language for any place: neither quotes nor braces end what surrounds it. */
export const quoteLiquid = (text: string) =>
  `'${text.replace(/[\\']/g, '\\$&').replace(/["{}]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`)}'`

const PLAIN_NAME = /^[a-z_]\w*$/i
/** Words that the template language reads as a value or an operator. */
const RESERVED = new Set(['true', 'false', 'nil', 'null', 'empty', 'blank', 'and', 'or', 'not', 'contains'])
const isPlainName = (name: string) => PLAIN_NAME.test(name) && !RESERVED.has(name)

/** `first name` → `data['first name']`, `item.full name` → `item['full name']`. */
export function printPath(path: string) {
  const [first = '', ...rest] = path.replace(/\s+/g, ' ').trim().split('.')
  const root = isPlainName(first) ? first : `data[${quoteLiquid(first)}]`
  return root + rest.map((name) => (isPlainName(name) ? `.${name}` : `[${quoteLiquid(name)}]`)).join('')
}

type VariableAttrs = { path: string; fallback?: string | null | undefined; filter?: string | null | undefined }

export function printVariable({ path, fallback, filter }: VariableAttrs) {
  return `{{ ${printPath(path)}${fallback ? ` ?? ${quoteLiquid(fallback)}` : ''}${filter ? ` | ${withSingleQuotes(filter)}` : ''} }}`
}

/** Whether a text can follow `{{ value | `. */
export const isFilterChain = (text: string) => isReadable(`value | ${text}`) && !/[{}]/.test(text)

/** Whether a text can follow `{% if `. */
export const isExpression = (text: string) => isReadable(text) && !text.includes('%}')

export const printExpressionText = withSingleQuotes

function isReadable(source: string) {
  try {
    const reader = createReader(source, 0, source.length)
    reader.expression()
    reader.end()
    return true
  } catch (err) {
    if (err instanceof TemplateSyntaxError) return false
    throw err
  }
}
