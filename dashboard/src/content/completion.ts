import { formatPercent } from '../ui/text/count.tsx'
/** Completions at the end of a text inside a tag of the template language. */
export type CompletionPlace = { kind: 'variable' | 'filter' | 'tag' /** What is typed already. */; typed: string }

/** A tag is looked for only in this many characters before the cursor. */
const MAX_TAG = 500

/** The place at the end of `before`; undefined outside of `{{ … }}` and `{% … %}`. */
export function placeOf(before: string): CompletionPlace | undefined {
  const text = before.slice(-MAX_TAG)
  const [output, tag] = [text.lastIndexOf('{{'), text.lastIndexOf('{%')]
  const start = Math.max(output, tag)
  if (start === -1) return undefined
  const inside = text.slice(start + 2)
  if (inside.includes('}}') || inside.includes('%}')) return undefined
  const filter = /\|\s*(\w*)$/.exec(inside)
  if (filter) return { kind: 'filter', typed: filter[1]! }
  const name = /^\s*(\w*)$/.exec(inside)
  if (start === tag && name) return { kind: 'tag', typed: name[1]! }
  const variable = /(?:^|[\s(=<>,:])([\w.]*)$/.exec(inside)
  return variable ? { kind: 'variable', typed: variable[1]! } : undefined
}

export type Word = { label: string; detail: string; apply?: string }
type ContactField = { field: string; coverage: number }

export const STANDARD_VARIABLES: Word[] = [
  { label: 'email', detail: 'address of the contact' },
  { label: 'subscribed', detail: 'true or false' },
  { label: 'createdAt', detail: 'when the contact was created' },
  { label: 'locale', detail: 'language of the contact' },
  { label: 'unsubscribeUrl', detail: 'link to unsubscribe' },
  { label: 'subscribeUrl', detail: 'link to subscribe again' },
  { label: 'manageUrl', detail: 'link to the preferences' },
  { label: 'id', detail: 'id of the contact' },
]

export const FILTERS: Word[] = [
  { label: 'default', detail: 'value if there is none', apply: "default: ''" },
  { label: 'date', detail: 'format a date', apply: "date: '%d %b %Y'" },
  { label: 'upcase', detail: 'capitals' },
  { label: 'downcase', detail: 'small letters' },
  { label: 'capitalize', detail: 'first letter large' },
  { label: 'truncate', detail: 'at most n characters', apply: 'truncate: 50' },
  { label: 'round', detail: 'round a number', apply: 'round: 2' },
  { label: 'plus', detail: 'add', apply: 'plus: 1' },
  { label: 'minus', detail: 'subtract', apply: 'minus: 1' },
  { label: 'times', detail: 'multiply', apply: 'times: 2' },
  { label: 'divided_by', detail: 'divide', apply: 'divided_by: 2' },
  { label: 'join', detail: 'list to text', apply: "join: ', '" },
  { label: 'split', detail: 'text to list', apply: "split: ','" },
  { label: 'first', detail: 'first of a list' },
  { label: 'last', detail: 'last of a list' },
  { label: 'size', detail: 'number of items or letters' },
  { label: 'sort', detail: 'sort a list' },
  { label: 'replace', detail: 'replace text', apply: "replace: '', ''" },
  { label: 'strip', detail: 'remove spaces around' },
  { label: 'strip_html', detail: 'remove tags' },
  { label: 'newline_to_br', detail: 'keep line breaks' },
  { label: 'url_encode', detail: 'for a part of a link' },
  { label: 'raw', detail: 'print HTML as it is' },
]

/** `${}` marks the places to fill in. Both ends are inserted at once. */
// biome-ignore-start lint/suspicious/noTemplateCurlyInString: the placeholders of snippets
export const TAGS: Word[] = [
  { label: 'if', detail: 'show only if', apply: 'if ${condition} %}\n${}\n{% endif %}' },
  { label: 'if … else', detail: 'show this or that', apply: 'if ${condition} %}\n${}\n{% else %}\n${}\n{% endif %}' },
  { label: 'unless', detail: 'show only if not', apply: 'unless ${condition} %}\n${}\n{% endunless %}' },
  { label: 'for', detail: 'repeat for each item', apply: 'for ${item} in ${list} %}\n${}\n{% endfor %}' },
  { label: 'assign', detail: 'name a value', apply: "assign ${name} = ${'value'} %}" },
  { label: 'case', detail: 'one of several', apply: "case ${variable} %}{% when ${'value'} %}\n${}\n{% endcase %}" },
  { label: 'comment', detail: 'not sent', apply: 'comment %}${}{% endcomment %}' },
]
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: the placeholders of snippets

const IDENTIFIER = /^[A-Za-z_]\w*$/
const RESERVED = new Set([...STANDARD_VARIABLES.map(({ label }) => label), 'data', 'true', 'false', 'nil', 'null', 'empty', 'blank'])

/** How a field is written. Single quotes are legal inside an attribute too. */
export function writeField(field: string): string {
  if (IDENTIFIER.test(field) && !RESERVED.has(field)) return field
  return `data['${field.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}']`
}

/** Fields with their share of contacts: one that few have needs a fallback. */
export function fieldWords(fields: ContactField[]): Word[] {
  return fields.map(({ field, coverage }) => ({
    label: field,
    detail: `${formatPercent(coverage)} of contacts`,
    apply: writeField(field),
  }))
}
