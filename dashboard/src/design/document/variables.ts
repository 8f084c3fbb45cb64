export type VariableAttrs = { path: string; fallback?: string; filter?: string }

/** `{{ path ?? "fallback" | filter }}`: what a chip can show. Everything else stays text, which the server prints as it is. */
const EXPRESSION =
  /^\{\{\s*([\p{L}_][\p{L}\p{N}_ .-]*?)\s*(?:\?\?\s*(?:"((?:[^"\\{}])*)"|'((?:[^'\\{}])*)')\s*)?(?:\|\s*([a-z_]+(?:\s*:[^|{}]*)?(?:\s*\|\s*[a-z_]+(?:\s*:[^|{}]*)?)*)\s*)?\}\}$/u

/** Words that mean something else to the template language than a field with this name. */
const RESERVED = /^(?:true|false|nil|null|empty|blank)$|\b(?:and|or|not|contains)\b/

/** The chip for an expression; undefined if a chip cannot show all of it. */
export function readVariable(expression: string): VariableAttrs | undefined {
  const found = EXPRESSION.exec(withPlainSpaces(expression))
  if (!found) return undefined
  const [, path, double, single, filter] = found
  if (RESERVED.test(path!)) return undefined
  const fallback = double ?? single
  return { path: path!, ...(fallback && { fallback }), ...(filter && { filter: filter.trim() }) }
}

/** Texts and chips of a text with expressions. */
export function splitVariables(text: string): (string | VariableAttrs)[] {
  return text
    .split(/(\{\{[^{}]+\}\})/)
    .filter(Boolean)
    .map((part) => (part.startsWith('{{') ? (readVariable(part) ?? withPlainSpaces(part)) : part))
}

/** Documents and web pages put fixed spaces between braces, which the template language would take for part of a name. */
export const withPlainSpaces = (text: string) => text.replaceAll('\u00a0', ' ')
