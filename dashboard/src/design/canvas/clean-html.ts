import { withPlainSpaces } from '../document/variables.ts'

/**
 * Pasted HTML without what Word, Google Docs and mail programs add. A text function, so that nothing of it is parsed here: the editor reads the
 * result in a document of its own, where nothing runs or loads, and takes only what a design knows.
 */
export function cleanHtml(html: string): string {
  return joinExpressions(
    html
      .replace(/<!--[\s\S]*?-->/g, '')
      .replace(/<(script|style|title|xml|head|template|noscript|iframe|object|svg|math)\b[\s\S]*?<\/\1\s*>/gi, '')
      .replace(/<\/?(?:o|w|v|st1):[^>]*>/gi, '')
      .replace(/<p\b[^>]*class="?MsoListParagraph[^>]*>([\s\S]*?)<\/p>/gi, (_, content: string) => wordListItem(content))
      .replace(/(<\/ul>)\s*<ul data-word>|<ul data-word>/g, (_, end?: string) => (end ? '' : '<ul>')),
  )
}

/** Word writes lists as paragraphs with a bullet and fixed spaces. */
function wordListItem(content: string) {
  const text = content.replace(/^(?:\s|&nbsp;|<[^>]*>)*(?:[·•o§▪-]|\d+[.)])(?:\s|&nbsp;|<\/?span[^>]*>)*/i, '')
  return `<ul data-word><li><p>${text}</p></li></ul>`
}

/** `{{ first&nbsp;<b>name</b> }}` → `{{ first name }}`: an expression is one text. */
function joinExpressions(html: string) {
  return html.replace(/\{\{[\s\S]{0,500}?\}\}/g, (expression) =>
    withPlainSpaces(expression.replace(/<[^>]*>/g, '').replace(/&nbsp;|&#160;|&#xa0;/gi, ' ')).replace(/\s+/g, ' '),
  )
}
