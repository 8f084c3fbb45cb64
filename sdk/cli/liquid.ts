const TAG = /\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}/g
const ENTITIES: Record<string, string> = {
  quot: '"',
  '#34': '"',
  '#x22': '"',
  '#39': "'",
  '#x27': "'",
  apos: "'",
  lt: '<',
  gt: '>',
  amp: '&',
}
const ENTITY = /&(quot|#34|#x22|#39|#x27|apos|lt|gt|amp);/gi

/**
 * React writes text for a browser: it escapes quotes and signs, and puts comments between texts. Inside `{{ … }}` and `{% … %}` both would
 * change the template. Literals get single quotes, which are correct within an attribute too.
 */
export const restoreLiquid = (html: string): string =>
  html
    .replaceAll('<!-- -->', '')
    .replace(TAG, (tag) => requote(tag.replace(ENTITY, (_, name: string) => ENTITIES[name.toLowerCase()]!).replaceAll('\u00a0', ' ')))

const requote = (tag: string): string =>
  tag.replace(/"((?:[^"\\]|\\.)*)"|'(?:[^'\\]|\\.)*'/g, (literal, text: string | undefined) =>
    text === undefined ? literal : `'${text.replaceAll('\\"', '"').replace(/(?<!\\)'/g, "\\'")}'`,
  )
